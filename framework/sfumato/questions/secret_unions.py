"""Several secrets at once: none of them may be learnt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from sfumato.errors import ParameterError
from sfumato.protocols import Secret


@attrs.frozen(eq=False, repr=False)
class SecretUnion(Secret):
    """The union of secrets, written ``one | other``: its loss is the worst of theirs.

    >>> import sfumato as sf
    >>> both = sf.secrets.basic(3) | sf.secrets.basic(7, radius=2.0)
    >>> both.question(sf.priors.rbf(length_scale=1.0, times=9).belief()).radii
    (1.0, 2.0)
    """

    parts: tuple[Any, ...]

    def __attrs_post_init__(self) -> None:
        flat: list[Any] = []
        for part in self.parts:
            flat.extend(part.parts if isinstance(part, SecretUnion) else [part])
        if not flat or not all(isinstance(part, Secret) for part in flat):
            raise ParameterError(f"a union must be of secrets; got {self.parts!r}.")
        object.__setattr__(self, "parts", tuple(flat))
        if not self.yields:
            names = " and ".join(part.name for part in flat)
            raise ParameterError(
                f"a union must be of secrets that ask alike of one kind of belief; got {names}."
            )

    @property
    def name(self) -> str:  # type: ignore[override]  # of the object, not of the class
        """The names of the parts."""
        return " | ".join(part.name for part in self.parts)

    @property
    def yields(self) -> Mapping[type, type]:  # type: ignore[override]  # of the object
        """The beliefs of which every part asks the same type of question."""
        first, *rest = (part.yields for part in self.parts)
        return {
            belief: question
            for belief, question in first.items()
            if hasattr(question, "union") and all(o.get(belief) is question for o in rest)
        }

    def question(self, belief: Any) -> Any:
        """Return the union of the parts' questions."""
        questions = [part.question(belief) for part in self.parts]
        return type(questions[0]).union(questions)

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the union."""
        return {"union": [part.specification() for part in self.parts]}

    def __or__(self, other: Any) -> SecretUnion:
        return SecretUnion((self, other))

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.parts))
