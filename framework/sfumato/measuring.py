"""One scenario measured: a release designed once, and read by every measure."""

from __future__ import annotations

import platform
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from sfumato.errors import REFUSALS, ParameterError
from sfumato.finding import Finding, Outcome
from sfumato.protocols.loss import Loss
from sfumato.protocols.release import Release
from sfumato.version import __version__


@cache
def versions() -> str:
    """Return the versions of the software that numbers depend on, in one line."""
    import scipy

    return (
        f"sfumato {__version__}, python {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}"
    )


def measure_scenario(
    prior: Any, secret: Any, mechanism: Any, measures: Sequence[Any]
) -> Iterator[Finding]:
    """Design one release and yield what each measure finds, as soon as it does."""
    release, outcome, reason = attempt(Release, lambda: mechanism.protect(prior, secret))
    for measure in measures:
        if release is None:
            yield Finding(outcome=outcome, reason=reason, versions=versions())
        else:
            yield _finding(release, measure)


def _finding(release: Release, measure: Any) -> Finding:
    began = time.perf_counter()
    loss, outcome, reason = attempt(
        Loss, lambda: measure.loss(release.prior, release.secret, release)
    )
    others: dict[str, Any] = {
        "utility": release.utility(),
        "utility_quantity": release.utility_quantity,
        "seconds": time.perf_counter() - began,
        "versions": versions(),
    }
    if loss is None:
        return Finding(outcome=outcome, reason=reason, **others)
    return Finding.measured(loss, **others)


def attempt(wanted: type, work: Callable[[], Any]) -> tuple[Any, Outcome, str]:
    """Return what `work` gives, or why it refused or failed; only three errors are refusals."""
    try:
        result = work()
    except REFUSALS as error:
        return None, "refused", str(error)
    except ParameterError as error:
        return None, "failed", str(error)
    except Exception as error:  # noqa: BLE001 - a failed cell must not end the comparison
        where = traceback.extract_tb(error.__traceback__)[-1]
        return None, "failed", f"{type(error).__name__}: {error} ({where.name})"
    if not isinstance(result, wanted):
        return None, "failed", f"a {wanted.__name__} was expected; got {result!r}"
    return result, "measured", ""
