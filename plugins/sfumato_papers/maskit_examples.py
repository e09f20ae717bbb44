"""The worked examples of MaskIt, beside the values that the paper states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from sfumato.figures import Curve, Drawing, FigureRequest, Panel
from sfumato.plugin_registry import adversaries, measures, mechanisms, priors, secrets
from sfumato.values import SUPPRESSED

ACCOUNT = """
    Exact: every value of Examples 1, 2, 3, 4 and 6 that the paper states, as a pair of bars.
    Example 5 states a transformation, no value; it is the generalised chain of Example 6.

    Differs: in Example 4 the paper's "w4, w5" should read "w5, w6".
    The segmented check is new: it reaches the better of the two checks in each example.
"""

Row = tuple[str, float, float | None]
"""What it is, the value found, and the value in the paper, if it states one."""


def examples(request: FigureRequest) -> Drawing:
    """Return one panel for each example: found, and as the paper has it."""
    del request  # nothing to choose
    tables = {
        "Example 1, δ = 1/4": _example_1(),
        "Example 2": _example_2(),
        "Example 3, δ = 1/4": _example_3(),
        "Example 4, δ = 1/3": _example_4(),
        "Examples 5 and 6, δ = 1/4": _example_6(),
    }
    panels = []
    for title, rows in tables.items():
        names, found, stated = zip(*rows, strict=True)
        paper = {place: value for place, value in enumerate(stated) if value is not None}
        heights = {"found": dict(enumerate(found)), "paper": paper}
        panels.append(bars(title, "value", names, heights))
    return Drawing(panels=panels, account=ACCOUNT)


def bars(
    title: str,
    unit: str,
    names: Iterable[str],
    heights: Mapping[str, Mapping[int, float]],
    log: Literal["", "y"] = "",
) -> Panel:
    """Return bars above the names: the heights of each kind, by the place of the name."""
    below = tuple(name.replace(" ", "\n") for name in names)
    curves = [Curve(kind, list(at), list(at.values()), "bars") for kind, at in heights.items()]
    return Panel(title=title, x="", y=unit, curves=curves, names=below, log=log)


def layered(layers: Sequence[Sequence[str]], edges: Mapping[str, Sequence[str]]) -> Any:
    """Return a chain that begins evenly in the first layer and moves evenly along the edges.

    >>> layered([["a", "b"], ["c"]], {"a": ["c"], "b": ["c"]}).belief().marginals().tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    states = [state for layer in layers for state in layer]
    matrix = np.eye(len(states))
    for state, following in edges.items():
        matrix[states.index(state)] = [(one in following) / len(following) for one in states]
    initial = [(state in layers[0]) / len(layers[0]) for state in states]
    return priors.markov_chain(
        initial=initial, transitions=matrix, steps=len(layers), states=states
    )


def _masking(chain: Any, chances: Mapping[str, float]) -> Any:
    """Return the mechanism that suppresses the named states with these probabilities."""
    row = [chances.get(state, 0.0) for state in chain.states]
    return mechanisms.suppress_given(probabilities=np.tile(row, (chain.steps, 1)))


def _gap(chain: Any, secret: Any, mechanism: Any) -> float:
    release = mechanism.protect(chain, secret)
    return float(measures.posterior_gap().loss(chain, secret, release).value)


def _utility(chain: Any, secret: Any, mechanism: Any) -> float:
    return float(mechanism.protect(chain, secret).utility())


def _example_1() -> list[Row]:
    chain, secret = layered([["s", "x"]], {}), secrets.contexts({"s"})
    check = _check("probabilistic", 0.25)
    p_s, p_x = check.protect(chain, secret).channel.start[0]
    segmented = _check("segmented", 0.25).protect(chain, secret)
    return [
        ("p(s)", p_s, 1.0),
        ("p(x)", p_x, 1 / 3),
        ("posterior", 0.5 + _gap(chain, secret, check), 3 / 4),
        ("segmented p(x)", segmented.channel.start[0, 1], None),
    ]


def _example_2() -> list[Row]:
    chain = layered(
        [["y1", "y2"], ["s1", "z1", "s2", "z2"]], {"y1": ["s1", "z1"], "y2": ["s2", "z2"]}
    )
    secret = secrets.contexts({"s1", "s2"})
    hidden = {"s1": 1.0, "s2": 1.0}

    def gap(**chances: float) -> float:
        return _gap(chain, secret, _masking(chain, {**hidden, **chances}))

    return [
        ("convex p", gap(y1=1, y2=1), 1 / 4),
        ("convex q", gap(z1=1, z2=1), 1 / 4),
        ("half way", gap(y1=0.5, y2=0.5, z1=0.5, z2=0.5), 5 / 12),
        ("concave p", gap(y1=1, z1=1), 3 / 4),
        ("concave q", gap(y2=1, z2=1), 3 / 4),
    ]


def _example_3() -> list[Row]:
    chain, secret = layered([["s1", "s2", "x1", "x2"]], {}), secrets.contexts({"s1", "s2"})
    return [
        ("posterior", 0.25 + _gap(chain, secret, mechanisms.suppress_sensitive()), 1 / 2),
        ("probabilistic", _utility(chain, secret, _check("probabilistic", 0.25)), 1 / 2),
        ("simulatable", _utility(chain, secret, _check("simulatable", 0.25)), 0.0),
        ("segmented", _utility(chain, secret, _check("segmented", 0.25)), None),
    ]


def _check(name: str, delta: float) -> Any:
    return getattr(mechanisms, f"suppress_{name}")(delta=delta)


def _example_4() -> list[Row]:
    chain = layered(
        [
            ["w1", "w2", "w3", "w4", "w5", "w6"],
            ["x1", "x2", "x3"],
            ["s1", "y1", "y2", "s2", "y3"],
            ["z1", "z2"],
        ],
        {
            "w1": ["x1"], "w2": ["x1"], "w3": ["x2"], "w4": ["x2"], "w5": ["x3"], "w6": ["x3"],
            "x1": ["s1", "y1"], "x2": ["y2"], "x3": ["s2", "y3"],
            "s1": ["z1"], "y1": ["z2"], "y2": ["z1", "z2"], "y3": ["z1"], "s2": ["z2"],
        },
    )  # fmt: skip
    secret = secrets.contexts({"s1", "s2"})
    best = _masking(chain, dict.fromkeys(["s1", "y1", "z1", "s2", "y3", "z2"], 1.0))
    return [
        ("simulatable", _utility(chain, secret, _check("simulatable", 1 / 3)), 8 / 3),
        ("probabilistic", _utility(chain, secret, _check("probabilistic", 1 / 3)), 7 / 3),
        ("the paper's p", _utility(chain, secret, best), 7 / 3),
        ("its gap", _gap(chain, secret, best), 1 / 3),
        ("segmented", _utility(chain, secret, _check("segmented", 1 / 3)), None),
    ]


def _example_6() -> list[Row]:
    """Return what a weak adversary believes before and after ⊥, which betrays the chain."""
    chain, secret = layered([["s", "x"]], {}), secrets.contexts({"s"})
    belief = chain.belief()
    adversary = adversaries.hidden_markov_posterior()

    def posterior(name: str) -> float:
        release = _check(name, 0.25).protect(chain, secret)
        return float(adversary.infer(belief, release.channel, [SUPPRESSED])[0, 0])

    return [
        ("prior", belief.marginals()[0, 0] / 3, 1 / 6),
        ("probabilistic", posterior("probabilistic"), 3 / 4),
        ("simulatable", posterior("simulatable"), 1 / 2),
    ]
