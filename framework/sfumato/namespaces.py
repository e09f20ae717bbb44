"""`sf.priors.rbf` and its siblings: names resolved through the registry."""

from __future__ import annotations

import inspect
from typing import Any

import attrs

from sfumato.plugin_registry import default_registry


@attrs.frozen
class Constructor:
    """A callable that makes one plugin's objects."""

    kind: str
    name: str

    def __call__(self, *args: Any, **parameters: Any) -> Any:
        """Construct the object; `Interval` and `AnyOf` make a prior a family."""
        return default_registry().make(self.kind, self.name, *args, **parameters)

    @property
    def plugin(self) -> Any:
        """The plugin's class, with its class methods (such as `fit`)."""
        return default_registry().get(self.kind, self.name)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # of the plugin, not of this class
        return inspect.getdoc(self.plugin)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.plugin)

    def __getattr__(self, attribute: str) -> Any:
        """Reach the class's own constructors and methods: ``sf.priors.rbf.fit``."""
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(self.plugin, attribute)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}{self.__signature__}>"


@attrs.frozen
class Namespace:
    """Everything registered for one noun, by attribute, with tab completion."""

    kind: str

    def __getattr__(self, name: str) -> Constructor:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            default_registry().entry(self.kind, name)
        except LookupError as error:
            raise AttributeError(str(error)) from None
        return Constructor(self.kind, name)

    def __dir__(self) -> list[str]:
        return default_registry().names(self.kind)

    def __repr__(self) -> str:
        return f"<{self.kind} namespace: {', '.join(dir(self))}>"


priors = Namespace("prior")
secrets = Namespace("secret")
mechanisms = Namespace("mechanism")
adversaries = Namespace("adversary")
measures = Namespace("measure")
