"""The mark that stands in an output where a state was withheld.

>>> import copy
>>> copy.deepcopy([SUPPRESSED])[0] is SUPPRESSED
True
"""

from __future__ import annotations


class _Suppressed:
    """The type of `SUPPRESSED`; it has exactly one instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "sf.SUPPRESSED"

    def __copy__(self) -> _Suppressed:
        return self

    def __deepcopy__(self, memo: object) -> _Suppressed:
        return self

    def __reduce__(self) -> str:
        # A string tells pickle to look the object up by this name in this module.
        return "SUPPRESSED"


SUPPRESSED = _Suppressed()
"""What an observer sees in place of a state that was withheld (⊥ in the literature)."""
