"""Real data: one reader for each format, with typed records and errors that name file and line."""

from sfumato.datasets.check_ins import check_ins_as_published, read_foursquare, read_gowalla
from sfumato.datasets.geolife import (
    geolife_as_published,
    read_geolife,
    read_geolife_table,
    read_plt,
    sampling_period,
)
from sfumato.datasets.gpx import read_gpx
from sfumato.datasets.homes import read_kasteren, read_ordonez
from sfumato.datasets.records import ActivityLog, RealTrace, StateSequence, labels_of
from sfumato.datasets.rows import BadRow, BadRows
from sfumato.datasets.sml2010 import read_sml2010, sml2010_as_published
from sfumato.datasets.tables import read_state_table, read_trace_table

__all__ = [
    "ActivityLog",
    "BadRow",
    "BadRows",
    "RealTrace",
    "StateSequence",
    "check_ins_as_published",
    "geolife_as_published",
    "labels_of",
    "read_foursquare",
    "read_geolife",
    "read_geolife_table",
    "read_gowalla",
    "read_gpx",
    "read_kasteren",
    "read_ordonez",
    "read_plt",
    "read_sml2010",
    "read_state_table",
    "read_trace_table",
    "sampling_period",
    "sml2010_as_published",
]
