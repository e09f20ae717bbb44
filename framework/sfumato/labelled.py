"""A noun under a name of one's own."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class Labelled:
    """A prior, secret, mechanism or measure with the label that tables and plots show.

    >>> import sfumato as sf
    >>> sf.Labelled(sf.mechanisms.gaussian_uniform(mse=0.02), "a little noise").label
    'a little noise'
    """

    noun: Any
    label: str = ""

    @classmethod
    def of(cls, given: Any) -> Labelled:
        """Return `given` itself if it has a label, else with none."""
        return given if isinstance(given, cls) else cls(given)
