"""What is wrong with a study."""

from __future__ import annotations


class StudyError(ValueError):
    """A study does not say what a study must say; the text names the place."""
