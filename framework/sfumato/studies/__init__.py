"""Studies: questions written down in TOML, to be asked again by anyone."""

from sfumato.studies.study import Part, Study
from sfumato.studies.study_error import StudyError
from sfumato.studies.toml_study import bundled_study, default_study, read_study

__all__ = ["Part", "Study", "StudyError", "bundled_study", "default_study", "read_study"]
