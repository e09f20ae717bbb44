"""Plugins that are no values, or answer differently when asked twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from mutants.mutant import Mutant, PlainRenyi
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import Emission
from sfumato.comparison.populations import OfPopulation
from sfumato.laws.brute_force import every_trace
from sfumato.matrices import Diagonal
from sfumato.parameters import COUNT, POSITIVE, TABLE, Domain, Rejected, Sizes, declare, parameter
from sfumato.protocols import Loss, LossMeasure, Prior, PriorClass, Quantity, Reading, Secret
from sfumato.questions import Displacements, Guess

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@declare
class AllEqual(PlainRenyi):
    """Forgets its order when compared: a cache would mix up their losses."""

    name = "mutant_all_equal"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(self.name)


@declare
class ForgetfulSpecification(PlainRenyi):
    """Never writes its order."""

    name = "mutant_forgetful_specification"

    def specification(self) -> dict[str, Any]:
        """Return the name alone."""
        return {"name": self.name}


@declare
class HalvedLoss(PlainRenyi):
    """Reads the whole divergence and reports half of it as the loss."""

    name = "mutant_halved_loss"

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Return half of what was read."""
        found = super().loss(prior, secret, release)
        return attrs.evolve(found, value=found.value / 2)


_SEEN: list[tuple[float, ...]] = []


@attrs.frozen
class _Numbered(Domain):
    """Variances, written as their number in a list that only this process has."""

    sentence = "variances, or the number of some seen before"

    def convert(self, value: Any, sizes: Sizes) -> tuple[float, ...]:
        """Look a number up, or keep new variances."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_SEEN):
            value = _SEEN[value]
        if not isinstance(value, tuple) or not value:
            raise Rejected(str(self.sentence))
        sizes.agree("n", len(value))
        return value

    def plain(self, value: Any) -> Any:
        """Write the number."""
        if value not in _SEEN:
            _SEEN.append(value)
        return _SEEN.index(value)

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw a few variances."""
        from hypothesis import strategies as st

        del sizes
        return st.lists(st.floats(0.5, 2.0), min_size=1, max_size=4).map(tuple)


@declare
class KnownHereOnly(Prior):
    """Independent entries, specified by reference."""

    name = "mutant_known_here_only"
    yields = Gaussian

    variances: Any = parameter(_Numbered(), doc="variance of each entry")

    def belief(self) -> Gaussian:
        """Return independent entries."""
        return Gaussian(Diagonal(self.variances))


@attrs.frozen
class _Careless(Domain):
    """Numbers that are not negative, tested the way NaN passes."""

    sentence = "non-negative"

    def convert(self, value: Any, sizes: Sizes) -> float:
        """Reject what is below zero; NaN is not."""
        del sizes
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value < 0:
            raise Rejected("non-negative")
        return float(value)

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw moderate numbers."""
        from hypothesis import strategies as st

        del sizes
        return st.floats(0.1, 5.0)


@declare
class TakesNan(Prior):
    """Independent entries of any variance, even of none that is a number."""

    name = "mutant_takes_nan"
    yields = Gaussian

    variance: float = parameter(_Careless(), doc="variance of each entry")
    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return independent entries."""
        return Gaussian(Diagonal(np.full(self.times, self.variance)))


@declare
class WritableArray(Prior):
    """Independent entries whose variances anyone may overwrite."""

    name = "mutant_writable_array"
    yields = Gaussian

    variances: NDArray[np.float64] = parameter(TABLE("n"), doc="variance of each entry")

    def check(self) -> None:
        """Unlock the array."""
        object.__setattr__(self, "variances", np.array(self.variances))

    def belief(self) -> Gaussian:
        """Return independent entries."""
        return Gaussian(Diagonal(1.0 + self.variances))


@declare
class RandomQuestion(Secret):
    """Some entry of the trace, whichever comes to mind."""

    name = "mutant_random_question"
    yields: ClassVar = {Gaussian: Displacements}

    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs to be confused")

    def question(self, belief: Any) -> Displacements:
        """Return the displacements of an entry picked anew."""
        entry = int(np.random.default_rng().integers(belief.entries))
        return Displacements(groups=(((entry,),),), radii=self.radius)


@declare
class CrowdsLoseLess(OfPopulation, LossMeasure):
    """The chance of the most probable trace; of many people, less for each."""

    name = "mutant_crowds_lose_less"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """A chance of success."""
        return Quantity("blind success", unit="probability")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return a lower bound: the best guess without looking."""
        del question, channel
        return Reading(value=float(every_trace(belief)[1].max()), bound="lower")

    def of_population(self, people: Any, secret: Any, mechanism: Any, **where: Any) -> Any:
        """Divide by the number of people."""
        found = super().of_population(people, secret, mechanism, **where)
        return attrs.evolve(found, values=found.values / len(people))


MUTANTS = (
    Mutant("contract.population", CrowdsLoseLess, "everyone loses what they lose alone"),
    Mutant("interface.equality", AllEqual, "measures of different orders are not equal"),
    Mutant("interface.round_trip", ForgetfulSpecification, "a specification rebuilds its plugin"),
    Mutant("contract.reading", HalvedLoss, "the loss of one prior is what is read for it"),
    Mutant("interface.process", KnownHereOnly, "another process has not seen what this one has"),
    Mutant("interface.domains", TakesNan, "NaN never passes a constructor"),
    Mutant("interface.frozen", WritableArray, "a plugin's arrays are read-only"),
    Mutant("contract.question", RandomQuestion, "a secret asks the same question every time"),
)
