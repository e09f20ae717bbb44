"""`sfumato calibrate`: say the risk, get the noise."""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

from sfumato.beliefs import Gaussian
from sfumato.commands.arguments import FORMS, noun, print_json, with_json, with_plugins
from sfumato.comparison.executors import progress
from sfumato.plugin_registry import default_registry
from sfumato.release.calibration import calibrate

RISKS: Mapping[str, tuple[str, str]] = {
    "advantage": ("advantage", "How well two values may be told apart, 0.1 or 10%."),
    "success": ("bayes_success", "How often the best guess may be right, 0.05 or 5%."),
    "gap": ("posterior_gap", "How much likelier an event may become, 0.1 or 10%."),
    "error": ("expected_error", "How far off a guess must be (root mean square), 200 or 200m."),
}
"""Options that name a risk, with the measure that each means."""


def number(text: str) -> float:
    """Return a number, a percentage or a number with a unit.

    >>> from sfumato.commands.calibrate_command import number
    >>> number("0.1"), number("5%"), number("200m")
    (0.1, 0.05, 200.0)
    """
    matched = re.fullmatch(r"\s*([-+.\deE]+)\s*(%|[a-zA-Z]*)\s*", text)
    try:
        value = float(matched.group(1)) if matched else float("nan")
    except ValueError:
        value = float("nan")
    if matched is None or value != value:  # noqa: PLR0124 - NaN is the one that differs from itself
        raise click.UsageError(f"a target must be a number such as 0.1, 5% or 200m; got {text!r}.")
    return value / 100 if matched.group(2) == "%" else value


@click.command("calibrate")
@with_plugins
@with_json
@click.option("--prior", required=True, help=f"What the adversary may believe: {FORMS}.")
@click.option("--secret", required=True, help="What must stay hidden, in the same forms.")
@click.option(
    "--mechanism", required=True, help="What to calibrate, with any strength to begin at."
)
@click.option("--advantage", help=RISKS["advantage"][1])
@click.option("--success", help=RISKS["success"][1])
@click.option("--gap", help=RISKS["gap"][1])
@click.option("--error", help=RISKS["error"][1])
@click.option("--measure", help="Any other measure, in the same forms, with --target.")
@click.option("--target", help="What that measure may find at most (or at least).")
def command(
    *,
    prior: str,
    secret: str,
    mechanism: str,
    measure: str | None,
    target: str | None,
    as_json: bool,
    **risks: str | None,
) -> None:
    """Find the weakest setting of a mechanism that keeps a risk below a target.

    The answer is certified over the whole prior class, and said in one sentence.
    """
    asked = [(RISKS[name][0], value) for name, value in risks.items() if value is not None]
    if measure is not None and target is not None:
        asked.append((measure, target))
    if len(asked) != 1 or (measure is None) != (target is None):
        raise click.UsageError("give one risk, such as --advantage 0.1, or --measure and --target.")
    registry = default_registry()
    believed, wanted = noun("prior", prior, registry), number(asked[0][1])
    if risks["error"] is not None and believed.yields is Gaussian:
        wanted **= 2  # the measure is the squared error, which several coordinates have too
    with progress("calibrating"):
        found = calibrate(
            noun("mechanism", mechanism, registry),
            believed,
            noun("secret", secret, registry),
            noun("measure", asked[0][0], registry),
            wanted,
        )
    if as_json:
        print_json(found.plain())
        return
    click.echo(str(found))
    click.echo(repr(found.mechanism))
