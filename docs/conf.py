"""Settings of the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from docutils import nodes
from mathml import mark_formulas

from sfumato import __version__

project = "sfumato"
author = "The sfumato developers"
copyright = "2026, the sfumato developers"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "mathml",
    "plugin_pages",
    "study_figures",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_ext", "**/.ipynb_checkpoints"]

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

html_theme = "furo"
html_title = "sfumato"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_use_smartypants = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_attr_annotations = False
default_role = "code"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_remove_prompts = True


def prepare_docstring(app, what, name, obj, options, lines):  # noqa: ANN001, ANN201, ARG001, PLR0917 - Sphinx calls it
    """Typeset formulas, and take examples for a section of their own."""
    if what == "property":
        lines[:0] = ["..", ""]  # else napoleon takes words before a colon for a type
    first = next((k for k, line in enumerate(lines) if line.startswith(">>>")), len(lines))
    heading = ["Examples", "--------"] * (first < len(lines) and "Examples" not in lines)
    lines[:first] = [*mark_formulas("\n".join([*lines[:first], ""])).split("\n"), *heading]


def trim_blocks(app, doctree):  # noqa: ANN001, ANN201, ARG001 - Sphinx calls it
    """Drop the empty line that ends an example's expected output before the closing fence."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.astext().rstrip("\n")
            block.children = [nodes.Text(block.rawsource)]


def setup(app):  # noqa: ANN001, ANN201, D103 - Sphinx calls it
    app.connect("autodoc-process-docstring", prepare_docstring, priority=400)  # before napoleon
    app.connect("doctree-read", trim_blocks)
