"""Studies: questions written down in TOML, to be asked again by anyone."""

from sfumato.studies.study import Part, Study
from sfumato.studies.toml_study import default_study, read_study

__all__ = ["Part", "Study", "default_study", "read_study"]
