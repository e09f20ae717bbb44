"""Run the examples of every page while the documentation is built; a wrong one is a warning."""

from __future__ import annotations

import doctest
from io import StringIO
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL

logger = logging.getLogger(__name__)


def run_examples(app: Sphinx, docname: str, source: list[str]) -> None:
    """Execute the ``>>>`` examples of one page in order, sharing names as a reader would."""
    page = Path(app.env.doc2path(docname))
    examples = doctest.DocTestParser().get_doctest(source[0], {}, docname, str(page), 0)
    report = StringIO()
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(examples, out=report.write)
    if runner.failures:
        logger.warning("an example of %s went wrong:\n%s", docname, report.getvalue())


def setup(app: Sphinx) -> dict[str, bool]:
    """Run the examples whenever a page is read."""
    app.connect("source-read", run_examples)
    return {"parallel_read_safe": True}
