"""`sfumato calibrate`: say the risk, get the noise."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs
import click

from sfumato.beliefs import Gaussian
from sfumato.commands.arguments import (
    FORMS,
    noun,
    preparation_of,
    print_json,
    with_json,
    with_plugins,
)
from sfumato.comparison.executors import progress
from sfumato.plugin_registry import default_registry
from sfumato.release.calibration import LENGTHS, calibrate

SHARES: Mapping[str, float] = {"": 1.0, "%": 0.01}
"""What a share, or a number of any measure, may be said in."""

RISKS: Mapping[str, tuple[str, str]] = {
    "advantage": ("advantage", "How well two values may be told apart, 0.1 or 10%."),
    "success": ("bayes_success", "How often the best guess may be right, 0.05 or 5%."),
    "gap": ("posterior_gap", "How much likelier an event may become, 0.1 or 10%."),
    "error": ("expected_error", "How far off a guess must be (root mean square), 200 or 0.2km."),
}
"""Options that name a risk, with the measure that each means."""


def number(text: str, units: Mapping[str, float]) -> tuple[float, str]:
    """Return a number, and the unit that it is said in: one of those given.

    >>> from sfumato.commands.calibrate_command import LENGTHS, SHARES, number
    >>> number("0.1", SHARES), number("5%", SHARES), number("0.2km", LENGTHS)
    ((0.1, ''), (0.05, '%'), (200.0, 'km'))
    """
    matched = re.fullmatch(r"\s*([-+.\d]+(?:[eE][-+]?\d+)?)\s*(%|[^\d\s]*)\s*", text)
    unit = matched[2] if matched else ""
    try:
        value = float(matched[1]) * units[unit] if matched else float("nan")
    except (ValueError, KeyError):
        value = float("nan")
    if not value >= 0:  # written so that NaN fails
        known = ", ".join(f"0.2{one}" for one in units)
        raise click.UsageError(f"a target must be a number such as {known} here; got {text!r}.")
    return value, unit


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
    believed, unit = noun("prior", prior, registry), ""
    if risks["error"] is not None and believed.yields is Gaussian:
        wanted, unit = number(asked[0][1], LENGTHS)
        wanted **= 2  # the measure is the squared error, which several coordinates have too
    else:
        wanted, _ = number(asked[0][1], SHARES)
    if not unit and preparation_of(prior).metres is not None:
        unit = "m"
    with progress("calibrating"):
        found = calibrate(
            noun("mechanism", mechanism, registry),
            believed,
            noun("secret", secret, registry),
            noun("measure", asked[0][0], registry),
            wanted,
        )
    found = attrs.evolve(found, unit=unit)
    if as_json:
        print_json(found.plain())
        return
    click.echo(str(found))
    click.echo(repr(found.mechanism))
