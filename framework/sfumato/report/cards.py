"""Single results as notebooks show them: a loss, a release, a prior or a secret, in a few lines.

Cards take the colours of the notebook that they stand in, so that they follow its dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from sfumato.comparison.names import full_name, value_text
from sfumato.plugin_registry import written_document
from sfumato.prior_classes.families import Family
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import MARKS, Prior, PriorClass, Reading, Release
from sfumato.quantities import reading_text, round_outwards
from sfumato.questions.secret_unions import SecretUnion

CARD = Markup(
    '<div style="border-left:3px solid #0072b2;padding:2px 14px;margin:4px 0;max-width:48em">'
    "{}{}</div>"
)
HEAD = Markup('<div style="font-size:115%"><b>{}</b> <span>{}</span></div>')
ROWS = Markup('<table style="margin:2px 0;text-align:left">{}</table>')
ROW = Markup(
    '<tr style="background:none"><th scope="row" style="text-align:left;font-weight:normal;'
    'opacity:0.7;padding:1px 12px 1px 0;vertical-align:top">{}</th>'
    '<td style="text-align:left;padding:1px 0">{}</td></tr>'
)
LONGEST = 160
"""Characters of a witness or a claim on a card."""


def reading_card(reading: Reading) -> str:
    """Return a loss with its mark, what the mark says, how it was found and where it is worst."""
    quantity: Any = getattr(reading, "quantity", None)
    rows = [("", mark_sentence(reading)), ("how", reading.how)]
    if quantity is not None:
        rows.insert(1, ("", f"{quantity.worse.capitalize()} is worse."))
    worst, scenario = getattr(reading, "worst", None), getattr(reading, "scenario", None)
    if worst is not None and not (scenario and isinstance(scenario.prior, Prior)):
        rows.append(("worst belief", value_text(worst)))
    if reading.witness is not None:
        rows.append(("witness", _cut(str(reading.witness))))
    return _card(str(quantity or type(reading).__name__), reading_text(reading), rows)


def mark_sentence(reading: Reading) -> str:
    """Say in one sentence what is known of the true value.

    >>> from sfumato import Reading
    >>> from sfumato.report.cards import mark_sentence
    >>> mark_sentence(Reading(value=0.5, bound="upper"))
    'An upper bound: the true value is not above 0.5.'
    """
    if reading.bound == "exact":
        doubt = getattr(reading, "unverified", False)
        words = "Called exact; no brute force shows it" if doubt else "Exact"
        error = reading.relative_error
        return f"{words}, up to a relative error of {error:.1e}." if error else f"{words}."
    low, high = (
        round_outwards(end, side)
        for end, side in ((reading.floor, "lower"), (reading.ceiling, "upper"))
    )
    if reading.bound == "upper":
        return f"An upper bound: the true value is not above {high}."
    if reading.bound == "lower":
        return f"A lower bound: the true value is not below {low}."
    if reading.floor == -math.inf or reading.ceiling == math.inf:
        known = f"not below {low}" if reading.floor > -math.inf else f"not above {high}"
        known = known if known != "not above ∞" else "not known to be limited on either side"
        return f"An estimate: the true value is {known}."
    return f"An estimate: the true value is taken to lie between {low} and {high}."


def result_card(title: str, value: str, **rows: Any) -> str:
    """Return any other result: what it is, its value, and named facts; sentences stay whole."""
    told = [
        (name.replace("_", " "), fact if isinstance(fact, str) else _cut(value_text(fact)))
        for name, fact in rows.items()
        if not isinstance(fact, str) or fact
    ]
    return _card(title, value, told)


def release_card(release: Release) -> str:
    """Return what is promised by a release, and to whom."""
    rows = [
        ("hides", full_name(release.secret)),
        ("from anyone who believes", full_name(release.prior)),
        (f"{release.utility_quantity}", value_text(release.utility_value)),
    ]
    claims = [
        f"{key.replace('_', ' ')} {_claim_text(key, claim)}"
        for key, claim in release.claims.items()
        if isinstance(claim, bool | int | float | str)
    ]
    promised = "; ".join(claims) or "nothing yet: measure it with a loss"
    return _card("Release", full_name(release.mechanism), [*rows, ("promised", promised)])


def _claim_text(key: str, claim: Any) -> str:
    """Write a claim: a bound is rounded outwards, on the side that its name says."""
    if isinstance(claim, float):
        lower = key.startswith("lower")
        return f"{MARKS['lower'] + ' ' if lower else ''}" + round_outwards(
            claim, "lower" if lower else "upper"
        )
    return value_text(claim)


def noun_line(noun: Any) -> str:
    """Return a prior, secret, mechanism, adversary or measure as one line."""
    if isinstance(noun, AnyOf) and not isinstance(noun.options[0], PriorClass):
        return str(Markup("<code>{}</code>").format(repr(noun)))  # of values, for a parameter
    own = "name" in noun.specification()  # one made of others has none
    name, _, said = full_name(noun).partition(" ") if own else ("", "", full_name(noun))
    return str(
        Markup('<div><b>{}</b> <code>{}</code> <span style="opacity:0.7">{}</span></div>').format(
            name, said, noun_summary(noun)
        )
    )


def noun_summary(noun: Any) -> str:
    """Return the first paragraph of the plugin's documentation."""
    if isinstance(noun, AnyOf):
        return "Any of several priors."
    if isinstance(noun, SecretUnion):
        return "Several secrets, none of which may be learnt."
    cls = noun.prior if isinstance(noun, Family) else type(noun)
    return written_document(cls).split("\n\n")[0].replace("\n", " ").replace("`", "")


def _card(title: str, value: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = Markup("").join(ROW.format(name, text) for name, text in rows if name or text)
    return str(CARD.format(HEAD.format(title, value), ROWS.format(lines)))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
