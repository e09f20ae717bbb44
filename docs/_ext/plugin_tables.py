"""A directive that writes the reference of every registered plugin from its declaration."""

from __future__ import annotations

import inspect
from typing import ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sfumato.plugin_registry import default_registry


class PluginTables(SphinxDirective):
    """``{plugins} prior`` lists every prior: its docstring and its table of parameters."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Write one section for each plugin of the noun."""
        kind = self.arguments[0]
        registry = default_registry()
        found: list[nodes.Node] = []
        for name in registry.names(kind):
            section = nodes.section(ids=[f"{kind}-{name}"])
            section += nodes.title(text=name)
            lines = self._lines(registry.get(kind, name))
            source = StringList(lines, source=f"{kind} {name}")
            self.state.nested_parse(source, self.content_offset, section)
            found.append(section)
        return found

    def _lines(self, cls: type) -> list[str]:
        document = (inspect.getdoc(cls) or "").split("\n>>>")[0].split("\nExamples\n")[0]
        lines = [*document.replace("Reference: ", "*Reference.* ").split("\n"), ""]
        parameters = cls.parameters()  # type: ignore[attr-defined]  # every plugin has them
        if parameters:
            lines += ["| parameter | must be | default | meaning |", "|---|---|---|---|"]
            lines += [
                f"| `{item.name}` | {item.domain.sentence} | "
                f"{'' if item.required else f'`{item.default!r}`'} | {item.doc} |"
                for item in parameters
            ]
        return lines


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("plugins", PluginTables)
    return {"parallel_read_safe": True}
