"""A directive that runs a study while the documentation is built, and shows its figure."""

from __future__ import annotations

import io
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sfumato.comparison.study import Study
from sfumato.report.style import save_figure


class StudyFigure(SphinxDirective):
    """``{study} FILE.toml`` shows a study's text and the figure of its losses."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Run the study and inline its figure."""
        file = Path(self.env.doc2path(self.env.docname)).parent / self.arguments[0]
        self.env.note_dependency(str(file))
        target = io.StringIO()
        save_figure(Study.read(file).run().plot(), target, format="svg", metadata={"Date": None})
        drawing = target.getvalue()
        text = file.read_text(encoding="utf-8")
        return [
            nodes.literal_block(text, text, language="toml"),
            nodes.raw("", drawing[drawing.index("<svg") :], format="html"),
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("study", StudyFigure)
    return {"parallel_read_safe": True}
