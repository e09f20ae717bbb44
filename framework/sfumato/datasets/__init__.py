"""Recorded data: readers of plain tables and GPX, and what those of plugins are made of."""

from sfumato.datasets.formats import read_gpx
from sfumato.datasets.preparation import Preparation
from sfumato.datasets.records import LocalMetres, RealTrace, StateSequence, labels_of
from sfumato.datasets.tables import BadRow, BadRows, read_state_table, read_trace_table

__all__ = [
    "BadRow",
    "BadRows",
    "LocalMetres",
    "Preparation",
    "RealTrace",
    "StateSequence",
    "labels_of",
    "read_gpx",
    "read_state_table",
    "read_trace_table",
]
