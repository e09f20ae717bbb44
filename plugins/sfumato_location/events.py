"""Events as Boolean expressions over places and times."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.domains.domain import Domain, Rejected, Sizes
from sfumato.parameters import SWITCH, declare, parameter
from sfumato.protocols import Secret
from sfumato.questions import JointStates
from sfumato.questions.events import Asked, BoolArray, check_values

MOST_LETTERS = 2_000
"""Length of an expression, at most."""

Sighting = tuple[Hashable, int]


def parse(expression: str) -> ast.expr:
    """Return the tree of an expression: place@time, and, or, not, parentheses; nothing is run.

    >>> import ast
    >>> from sfumato_location.events import parse
    >>> ast.unparse(parse("home@3 and not ('railway station'@4 or 7@4)"))
    "home @ 3 and (not ('railway station' @ 4 or 7 @ 4))"
    """
    try:
        tree = ast.parse(expression[:MOST_LETTERS], mode="eval").body
        list(_sightings(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Rejected(
            "an expression such as 'home@3 and not (work@4 or work@5)', of at most "
            f"{MOST_LETTERS} letters"
        ) from None
    return tree


def _sighting(node: ast.expr) -> Sighting | None:
    """Return (place, time) of a tree place@time; None for any other one."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
        return None
    place = node.left.id if isinstance(node.left, ast.Name) else getattr(node.left, "value", None)
    time = getattr(node.right, "value", None)
    if type(place) not in (str, int) or type(time) is not int or time < 0:
        raise ValueError("a place is a name, a quotation or a number; a time a number")
    return place, time


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    raise ValueError("only and, or, not")


def _sightings(node: ast.expr) -> Iterator[Sighting]:
    """Yield every place@time."""
    leaf = _sighting(node)
    if leaf is not None:
        yield leaf
    else:
        for part in _parts(node):
            yield from _sightings(part)


def _holds(node: ast.expr, visits: Mapping[Sighting, BoolArray]) -> BoolArray:
    """Return for which joint states the tree is true."""
    leaf = _sighting(node)
    if leaf is not None:
        return visits[leaf]
    parts = [_holds(part, visits) for part in _parts(node)]
    if isinstance(node, ast.UnaryOp):
        return ~parts[0]
    merge = np.logical_and if isinstance(node.op, ast.And) else np.logical_or  # type: ignore[attr-defined]
    return np.asarray(merge.reduce(np.broadcast_arrays(*parts)))


@attrs.frozen
class Expression(Domain):
    """A Boolean expression over place@time."""

    sentence = "an expression such as 'home@3 and not (work@4 or work@5)'"

    def convert(self, value: Any, sizes: Sizes) -> str:
        """Return the text, if it can be read."""
        del sizes
        if not isinstance(value, str) or len(value) > MOST_LETTERS:
            raise Rejected(self.sentence)
        parse(value)
        return value

    def strategy(self, sizes: Mapping[str, int]) -> Any:
        """Draw expressions of up to three sightings at two times."""
        from hypothesis import strategies as st

        times = st.integers(0, min(sizes.get("T", sizes.get("n", 1)), 2) - 1)
        leaf = st.builds("{}@{}".format, st.integers(0, sizes.get("M", 2) - 1), times)
        negated = leaf | leaf.map("not {}".format)
        joined = st.builds("{} {} {}".format, negated, st.sampled_from(["and", "or"]), negated)
        return negated | joined | joined.map("not ({})".format)


@attrs.frozen(eq=False)
class PlaceEvents(JointStates):
    """Whether each of some expressions is true of the states at the times it names."""

    words: ClassVar[str] = "events over places and times"

    expressions: tuple[str, ...] = attrs.field(kw_only=True)
    both_ways: bool = attrs.field(default=False, kw_only=True)

    def asked(self) -> tuple[Asked, ...]:
        """Return one secret variable for each expression: whether it is true."""
        each = zip(self.expressions, self.groups, strict=True)
        return tuple(self._event(expression, times) for expression, times in each)

    def _event(self, expression: str, times: tuple[int, ...]) -> Asked:
        check_values(len(self.states), len(times))
        tree, count = parse(expression), len(self.states)
        visits = {}
        for place, time in _sightings(tree):
            shape = [count if time == own else 1 for own in times]
            visits[place, time] = (np.arange(count) == self.states.index(place)).reshape(shape)
        inside = np.broadcast_to(_holds(tree, visits), (count,) * len(times)).ravel()
        pairs = np.array([(0, 1), (1, 0)] if self.both_ways else [(0, 1)])
        names = (expression, ("not", expression))
        both = np.eye(2, dtype=bool)
        return Asked(times, np.stack([inside, ~inside]), names, pairs, (0,), both)

    @classmethod
    def union(cls, questions: Iterable[Any]) -> PlaceEvents:
        """Return the question that has the expressions of all."""
        parts = list(questions)
        return cls(
            tuple(group for part in parts for group in part.groups),
            parts[0].states,
            expressions=tuple(one for part in parts for one in part.expressions),
            both_ways=any(part.both_ways for part in parts),
        )


@declare
class PlaceEvent(Secret):
    """A Boolean expression over places and times: "at home at 3, and not at work at 4 or 5".

    ``place@time`` is true if one is at that place at that position of the trace; places are the
    labels of the states, in quotation marks where they are no plain names. Expressions are joined
    by and, or, not and parentheses. The event against its opposite is the pair that must look
    alike, in this order unless `both_ways`. It is evaluated exactly, on the joint law of the states
    at the times it names, which may have at most 4,096 values.

    Reference: Cao, Xiao, Xiong and Bai (2019), PriSTE, definition 2: presence and pattern are the
    expressions a@1 or a@2, and a@1 and b@2.

    >>> import sfumato as sf
    >>> walk = sf.priors.location_walk(sf.priors.location_walk.grid(2, 1), reach=1.0, steps=3)
    >>> secret = sf.secrets.place_event("0@0 and not 0@2")
    >>> release = sf.mechanisms.randomised_response(epsilon=1.0).protect(walk, secret)
    >>> print(sf.measures.posterior_gap().loss(walk, secret, release))
    posterior gap [probability] = 0.243787
    """

    name = "place_event"
    yields = {Markov: PlaceEvents}  # noqa: RUF012 - a class attribute, never changed
    waivers = {"secret.times": "its times stand in the expression"}  # noqa: RUF012 - never changed

    expression: str = parameter(Expression(), doc="place@time, joined by and, or, not")
    both_ways: bool = parameter(
        SWITCH, default=False, doc="whether the opposite must also look like the event"
    )

    def question(self, belief: Markov) -> PlaceEvents:
        """Return the event, if the trace has its places and times."""
        seen = set(_sightings(parse(self.expression)))
        for place, time in sorted(seen, key=str):
            if place not in belief.states:
                raise self.reject("expression", f"about {list(belief.states)}", place)
            if time >= belief.steps:
                raise self.reject("expression", f"about times below {belief.steps}", time)
        times = tuple(sorted({time for _, time in seen}))
        return PlaceEvents(
            (times,), belief.states, expressions=(self.expression,), both_ways=self.both_ways
        )
