"""A study as a notebook: the question as it was asked, and cells that run it and look at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfumato.comparison.study import Study
from sfumato.comparison.study_files import to_toml
from sfumato.plugin_registry import default_registry

SWEPT = "result.comparisons[{0}].to_xarray()  # the losses on their axes"


def notebook(study: Study) -> str:
    """Return the notebook of a study as text (Jupyter's format 4.5), without outputs.

    >>> import json
    >>> import sfumato as sf
    >>> from sfumato.report.notebook import notebook
    >>> study = sf.Study.from_table({
    ...     "title": "Smooth?", "priors": [{"name": "rbf", "length_scale": 1.0, "times": 5}],
    ...     "secrets": [sf.secrets.basic(2)], "measures": ["renyi"],
    ...     "mechanisms": [{"name": "gaussian_uniform", "mse": 0.1}],
    ... })
    >>> [cell["cell_type"] for cell in json.loads(notebook(study))["cells"]]
    ['markdown', 'code', 'code', 'code', 'code']
    """
    imports = "import tomllib\n\nimport sfumato as sf"
    if plugins := default_registry().paths:  # read when the first plugin is asked for
        names = repr([Path(plugin).name for plugin in plugins])
        imports = (
            f'import os\n\nos.environ["SFUMATO_PLUGINS"] = os.pathsep.join({names})\n{imports}'
        )
    source = to_toml(study).replace("\\", "\\\\").replace('"""', r"\"\"\"")
    cells = [
        _cell("markdown", f"# {study.title}\n\n{study.notes.strip()}".strip()),
        _cell("code", imports),
        _cell("code", f'study = sf.Study.from_table(tomllib.loads("""\n{source}"""))'),
        _cell("code", "result = study.run()"),
    ]
    for place, part in enumerate(study.parts):
        if part.title and part.title != study.title:
            cells.append(_cell("markdown", f"## {part.title}\n\n{part.notes.strip()}".strip()))
        cells.append(_cell("code", f"result.comparisons[{place}]"))
        if len(study.parts) > 1 or part.size > 1:
            cells.append(_cell("code", f"result.comparisons[{place}].plot()"))
            cells.append(_cell("code", SWEPT.format(place)))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return json.dumps(
        {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5},
        ensure_ascii=False,
        indent=1,
    )


KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _cell(kind: str, source: str) -> dict[str, Any]:
    own: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **own}
