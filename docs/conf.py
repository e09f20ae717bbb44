"""Settings of the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from sfumato import __version__

project = "sfumato"
author = "The sfumato developers"
copyright = "2026, the sfumato developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "plugin_tables",
    "executed_examples",
    "study_figures",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
exclude_patterns = ["_build", "_ext"]
html_theme = "furo"
html_title = "sfumato"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
nitpicky = False


def escape_bars(app, what, name, obj, options, lines):  # noqa: ANN001, ANN201, ARG001, D103, PLR0917 - Sphinx calls it
    lines[:] = [line if ">>>" in line else line.replace("|", "\\|") for line in lines]


def setup(app):  # noqa: ANN001, ANN201, D103 - Sphinx calls it
    # Docstrings are formulas in plain text: |x| is an absolute value, not a substitution.
    app.connect("autodoc-process-docstring", escape_bars)
