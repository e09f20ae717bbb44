"""The whole contract: the five nouns, and what passes between them.

A `PriorClass` is what the adversary may believe, a `Secret` what must not be learnt, a `Mechanism`
designs a `Release`, an `Adversary` infers, and a `LossMeasure` gives a `Loss`: a `Reading` of one
`Quantity` in one `Scenario`.
Authors subclass `Prior`, `Secret`, `Mechanism`, `Adversary` and `LossMeasure`; everything that the
framework ever looks for on a plugin is declared here, with its default.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self

import attrs
from typing_extensions import TypeVar

from sfumato.compatibility import (
    question_type,
    require_adversary,
    require_measure,
    require_mechanism,
    require_one_trace,
)
from sfumato.errors import Incompatible, OutsideHypotheses
from sfumato.parameters import Declared
from sfumato.randomness import generator_or_secure
from sfumato.values import ByContent, brief_repr

if TYPE_CHECKING:
    import numpy as np

Worse = Literal["larger", "smaller"]
Bound = Literal["exact", "upper", "lower", "estimate"]
EstimateOf = Literal["value", "lower", "upper"]
How = Literal["single", "finite", "proved", "searched"]
ScaleEnd = Literal["low", "high"]

MARKS: Mapping[str, str] = {"exact": "=", "upper": "≤", "lower": "≥", "estimate": "≈"}
"""How a value stands to the truth, in one character."""

B = TypeVar("B", default=Any)
Q = TypeVar("Q", default=Any)
C = TypeVar("C", default=Any)


@contextlib.contextmanager
def _within_memory(name: str) -> Iterator[None]:
    """Refuse, in the name of a plugin, what the memory of the machine cannot hold.

    >>> from sfumato.protocols import _within_memory
    >>> with _within_memory("renyi"):
    ...     raise MemoryError
    Traceback (most recent call last):
    sfumato.errors.OutsideHypotheses: renyi needs more memory than there is: take a shorter trace.
    """
    try:
        yield
    except MemoryError:
        reason = f"{name} needs more memory than there is: take a shorter trace."
        raise OutsideHypotheses(reason) from None


# Numbers ------------------------------------------------------------------------------------------


def _sorted_items(
    parameters: Mapping[str, float | str] | tuple[tuple[str, float | str], ...],
) -> tuple[tuple[str, float | str], ...]:
    return tuple(sorted(dict(parameters).items()))


@attrs.frozen
class Quantity:
    """A name, the measure's own parameters, a unit, and which way is worse.

    Two losses may be ordered only if their quantities are equal. Radius, mistakes and indices
    belong to the scenario, not here. A parameter whose name begins with an underscore, such as a
    checksum, tells quantities apart and is not written.

    >>> from sfumato import Quantity
    >>> str(Quantity("Rényi divergence", {"order": 2.0}, unit="nats"))
    'Rényi divergence (order=2) [nats]'
    """

    name: str
    parameters: tuple[tuple[str, float | str], ...] = attrs.field(
        default=(), converter=_sorted_items
    )
    unit: str = ""
    worse: Worse = attrs.field(
        default="larger", validator=attrs.validators.in_(("larger", "smaller"))
    )

    @property
    def sign(self) -> int:
        """+1 where larger is worse, -1 where smaller is."""
        return 1 if self.worse == "larger" else -1

    def __str__(self) -> str:
        inside = ", ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.parameters
            if not name.startswith("_")
        )
        return (
            self.name
            + (f" ({inside})" if inside else "")
            + (f" [{self.unit}]" if self.unit else "")
        )


def _as_float(value: object) -> float:
    """Return a number as a float; text is not a number."""
    if isinstance(value, (str, bytes, bool)):
        raise ValueError(f"a loss must be a number; got {value!r}.")  # noqa: TRY004 - one error
    return float(value)  # type: ignore[arg-type]  # anything else says so itself


def _not_nan(instance: Any, attribute: Any, value: float) -> None:
    if math.isnan(value):
        raise ValueError(
            f"{type(instance).__name__.lower()}.{attribute.name} must be a number; got {value!r}."
        )


def _error(_: Any, attribute: Any, value: float) -> None:
    if not 0 <= value < math.inf:  # written so that NaN fails
        raise ValueError(f"{attribute.name} must be finite and not negative; got {value!r}.")


def _ends(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    low, high = (_as_float(end) for end in value)
    return low, high


def _interval(instance: Any, attribute: Any, value: tuple[float, float] | None) -> None:
    if instance.bound == "estimate" and value is None:
        raise ValueError("an estimate must have an interval; got None.")
    if value is not None and not value[0] <= value[1]:  # written so that NaN fails
        raise ValueError(f"{attribute.name} must be (low, high) with low <= high; got {value}.")


@attrs.frozen(kw_only=True)
class Reading:
    """What a measure finds for one belief: a value, its direction and how it was found.

    Attributes
    ----------
    value
        The number; infinities are answers, NaN is rejected.
    bound
        ``"exact"``, ``"upper"``, ``"lower"`` or ``"estimate"``; it has no default, because
        exactness is claimed, not assumed.
    interval
        A confidence interval, for an estimate.
    estimate_of
        What an estimate estimates: the value itself, or a bound on it.
        An attack's success estimates a *lower* bound on the optimum, so it limits nothing above.
    relative_error
        Certified bound on the rounding in the value; two exact values may differ by it.
    witness
        Where the value is attained: an output, a displacement, a guess.
    how
        The method, in a few words.

    >>> from sfumato import Reading
    >>> Reading(value=0.25, bound="upper").ceiling
    0.25
    """

    value: float = attrs.field(converter=_as_float, validator=_not_nan)
    bound: Bound = attrs.field(
        validator=attrs.validators.in_(("exact", "upper", "lower", "estimate"))
    )
    interval: tuple[float, float] | None = attrs.field(
        default=None, converter=_ends, validator=_interval
    )
    estimate_of: EstimateOf = attrs.field(
        default="value", validator=attrs.validators.in_(("value", "lower", "upper"))
    )
    relative_error: float = attrs.field(default=0.0, converter=_as_float, validator=_error)
    witness: Any = attrs.field(default=None, eq=False)
    how: str = ""

    @property
    def floor(self) -> float:
        """The largest number that the true value is known not to be below."""
        if self.bound in ("exact", "lower"):
            return self.value - self._rounding
        if self.interval is None or self.estimate_of == "upper":
            return -math.inf
        return self.interval[0]

    @property
    def ceiling(self) -> float:
        """The smallest number that the true value is known not to exceed."""
        if self.bound in ("exact", "upper"):
            return self.value + self._rounding
        if self.interval is None or self.estimate_of == "lower":
            return math.inf
        return self.interval[1]

    @property
    def _rounding(self) -> float:
        """How far the true value may lie from one that is called exact: its certified error."""
        if self.bound != "exact" or math.isinf(self.value):
            return 0.0
        return abs(self.value) * self.relative_error

    def __float__(self) -> float:
        return self.value

    def __format__(self, form: str) -> str:
        """Write the value in a form, a bound rounded outwards; without one, all of the reading."""
        from sfumato.quantities import round_outwards

        return round_outwards(self.value, self.bound, form) if form else str(self)

    def __str__(self) -> str:
        from sfumato.quantities import reading_text

        return reading_text(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import reading_card

        return reading_card(self)


def _clip_ends(found: Reading) -> Reading:
    """Return an upper bound on a probability that says no less than 1 does, its other end than 0.

    Everything else stays as it was found, for the laws to judge.

    >>> from sfumato import Reading
    >>> from sfumato.protocols import _clip_ends
    >>> _clip_ends(Reading(value=1.0 + 4e-11, bound="upper", interval=(-1e-17, 1.0 + 4e-11)))
    <Reading ≤ 1, ≥ 0>
    """
    if found.bound != "upper":
        return found
    ends = found.interval and (max(found.interval[0], 0.0), min(found.interval[1], 1.0))
    if ends and ends[0] > ends[1]:
        return found
    return attrs.evolve(found, value=min(found.value, 1.0), interval=ends)


@attrs.frozen
class Scenario:
    """A prior class, a secret (with its radius, mistakes and indices) and a channel.

    Losses contradict each other only within one scenario.

    >>> from sfumato import Scenario
    >>> Scenario("a prior", "a secret", "a channel").secret
    'a secret'
    """

    __repr__ = brief_repr

    prior: Any
    secret: Any
    channel: Any


@attrs.frozen(kw_only=True, order=False)
class Loss(Reading):
    """A reading of one quantity in one scenario, over a whole prior class.

    `worst` is the member of the class that attains it.
    `unverified` says that the value is called exact and nothing independent can check it: its
    measure brings no brute force.
    Losses of one quantity can be ordered; ordering different quantities is a `TypeError`.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> loss = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    >>> print(loss)
    Rényi divergence (order=2) [nats] = 260.603
    >>> float(loss) == loss.value, f"{loss:.1f}"
    (True, '260.6')
    >>> loss.floor <= loss.value <= loss.ceiling <= loss.value * (1 + 1e-9)
    True
    """

    quantity: Quantity
    scenario: Scenario
    worst: Any = attrs.field(default=None, eq=False)
    unverified: bool = attrs.field(default=False, eq=False)

    @property
    def ceiling(self) -> float:
        """The smallest number that the true value is known not to exceed; of a probability, 1."""
        top, sure = super().ceiling, self.quantity.unit == "probability" and self.floor <= 1.0
        return min(top, 1.0) if sure and math.isfinite(top) else top

    def _comparable(self, other: object) -> float:
        if not isinstance(other, Loss):
            raise TypeError(f"a loss can be ordered against a loss; got {type(other).__name__}.")
        if other.quantity != self.quantity:
            raise TypeError(
                f"losses of different quantities have no order: {self.quantity} and "
                f"{other.quantity}."
            )
        return other.value

    def __lt__(self, other: object) -> bool:
        return self.value < self._comparable(other)

    def __le__(self, other: object) -> bool:
        return self.value <= self._comparable(other)

    def __gt__(self, other: object) -> bool:
        return self.value > self._comparable(other)

    def __ge__(self, other: object) -> bool:
        return self.value >= self._comparable(other)

    def __str__(self) -> str:
        doubt = " (unverified)" if self.unverified else ""
        return f"{self.quantity} {super().__str__()}{doubt}"

    __repr__ = Reading.__repr__


# What the adversary may believe -------------------------------------------------------------------


@attrs.frozen
class Supremum:
    """The largest value of a function over a class, the member with it, and how it was found.

    ``"searched"`` means that a larger value may exist between the members looked at.

    >>> import sfumato as sf
    >>> family = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 3.0), times=5)
    >>> found = family.supremum(lambda member: member.length_scale)
    >>> found.value, found.how
    (3.0, 'finite')
    """

    value: float
    member: Prior
    how: How

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        return result_card("Supremum", f"{self.value:.6g}", member=self.member, how=self.how)


class PriorClass(ByContent, ABC, Generic[B]):
    """A *set* of beliefs about a trace; a single prior is the set of one.

    All members share the trace: its length, its dimensions, its states.

    >>> import sfumato as sf
    >>> from sfumato import PriorClass
    >>> isinstance(sf.priors.rbf(length_scale=sf.Interval(1, 3), times=5), PriorClass)
    True
    """

    kind: ClassVar[str] = "prior"
    plural: ClassVar[str] = "priors"

    @property
    @abstractmethod
    def name(self) -> str:
        """What the class is called in messages."""

    @property
    @abstractmethod
    def yields(self) -> type[B]:
        """The type of belief that the members have."""

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether `members` yields the whole class."""

    @abstractmethod
    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the class."""

    @abstractmethod
    def members(self) -> Iterator[Prior[B]]:
        """Yield members: all of a finite class, a spread of a continuous one."""

    @abstractmethod
    def supremum(self, function: Callable[[Prior[B]], float]) -> Supremum:
        """Return the largest value of `function` over the class, and how it was found."""

    def at_scale(self, end: ScaleEnd) -> PriorClass[B]:  # noqa: ARG002  # overridden
        """Return the part of the class that matters to what is monotone in the prior's scale.

        >>> import sfumato as sf
        >>> sf.priors.rbf(length_scale=1.0, times=3, variance=sf.Interval(1, 4)).at_scale("low")
        sf.priors.rbf(length_scale=1.0, times=3)
        """
        return self

    def __add__(self, other: Any) -> Any:
        """Return the prior of the sum of two independent traces; of classes, the class of sums."""
        return _combined("sum", self, other)

    def __mul__(self, other: Any) -> Any:
        """Return the prior whose covariance is the entrywise product of both."""
        return _combined("product", self, other)

    def _repr_html_(self) -> str:
        from sfumato.report.cards import noun_line

        return noun_line(self)


def _combined(operation: str, one: Any, other: Any) -> Any:
    from sfumato.prior_classes.combinations import combine

    return combine(operation, (one, other)) if isinstance(other, PriorClass) else NotImplemented


class Prior(Declared, PriorClass[B]):
    """A single prior, the class of one member: what the author of a prior subclasses.

    An author declares parameters and writes `belief`, which sees only numbers: ``Interval`` and
    ``AnyOf`` are turned into a `Family` before they reach it.
    However often it is asked for, a prior's belief is built once.

    Attributes
    ----------
    name
        The registered name.
    yields
        The type of belief that `belief` returns.
    scale_parameter
        The parameter to which the covariance is proportional, if there is one.

    >>> import sfumato as sf
    >>> prior = sf.priors.rbf(length_scale=1.0, times=5)
    >>> list(prior.members()) == [prior], prior.belief().entries
    (True, 5)
    >>> prior.belief() is prior.belief()
    True
    """

    name: ClassVar[str]
    yields: ClassVar[type]
    scale_parameter: ClassVar[str | None] = None

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if "belief" in cls.__dict__:
            cls.belief = _built_once(cls.__dict__["belief"])  # type: ignore[method-assign,assignment]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the belief out of what is pickled: it is built again from the parameters."""
        return {key: value for key, value in self.__dict__.items() if key != "_beliefs"}

    @abstractmethod
    def belief(self) -> B:
        """Return the belief in its mathematical form."""

    def members(self) -> Iterator[Self]:
        """Yield the prior itself."""
        yield self

    @property
    def finite(self) -> bool:
        """A single prior is a finite class."""
        return True

    def supremum(self, function: Callable[[Prior[B]], float]) -> Supremum:
        """Return the function's value at the prior itself."""
        return Supremum(function(self), self, "single")

    def trace_signature(self) -> Hashable:
        """Return what all members of a class must share: by default the declared sizes."""
        return tuple(sorted(self.sizes.items()))

    @classmethod
    def overrides(cls, method: str) -> bool:
        """Whether the author wrote a class method that a prior may have, such as `fit`."""
        own = getattr(cls, method)  # which an author may have made static
        return getattr(own, "__func__", own) is not getattr(Prior, method).__func__

    def formula(self, numbers: Any) -> Any:  # noqa: ARG002  # authors override it
        """Return the covariance in exact numbers, or in Taylor coefficients of its parameters.

        The parameters may then be such numbers too. Of a chain with one transition matrix it is the
        pair of its initial law, as a row, or None for the stationary one, and of that matrix.
        None, the default, says that there is no such form; a class of such priors is searched, and
        nothing is proved of it.
        """
        return None

    def covariance_beyond(self, distance: float) -> float:  # noqa: ARG002  # authors override it
        """Return a bound of any |covariance| of entries whose times are that far apart, or more.

        Only a prior whose covariance depends on nothing but the time between two entries may say
        so. Infinity, the default, says that nothing is known to die out, and a ledger then forgets
        nothing.
        """
        return math.inf

    @classmethod
    def fit(cls, *traces: Any, **settings: Any) -> Any:  # noqa: ARG003  # authors override it
        """Return what recorded traces tell of the prior's parameters, where an author wrote it."""
        raise TypeError(f"{cls.name} cannot be fitted; give its parameters.")

    @classmethod
    def fit_each(cls, *people: Any, **settings: Any) -> Any:  # noqa: ARG003  # authors override it
        """Return one prior for each person's recorded states, where an author wrote it."""
        raise TypeError(f"{cls.name} cannot be fitted to each of many people.")


def _built_once(belief: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Keep a prior's belief with the prior; a subclass's `super().belief()` is another one."""
    if hasattr(belief, "__wrapped__"):
        return belief

    @functools.wraps(belief)
    def kept(self: Any) -> Any:
        beliefs = self.__dict__.setdefault("_beliefs", {})
        if belief.__qualname__ not in beliefs:
            with _within_memory(self.name):
                beliefs[belief.__qualname__] = belief(self)
        return beliefs[belief.__qualname__]

    return kept


# What must not be learnt --------------------------------------------------------------------------


class Secret(Declared, ABC, Generic[B, Q]):
    """What must not be learnt: events, and the pairs of them that must stay indistinguishable.

    Attributes
    ----------
    yields
        For each type of belief that the secret makes sense for, the type of question it becomes.

    >>> import sfumato as sf
    >>> sf.secrets.basic(3).question(sf.priors.rbf(length_scale=1.0, times=5).belief()).groups
    (((3,),),)
    """

    kind: ClassVar[str] = "secret"
    plural: ClassVar[str] = "secrets"
    yields: ClassVar[Mapping[type, type]]

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if "question" in cls.__dict__:
            cls.question = _asked_once(cls.__dict__["question"])  # type: ignore[method-assign,assignment]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the last question out of what is pickled: it is asked again."""
        return {key: value for key, value in self.__dict__.items() if key != "_asked"}

    @abstractmethod
    def question(self, belief: B) -> Q:
        """Return the secret in its mathematical form for that belief; of the same one, once."""

    def __or__(self, other: Secret) -> Secret:
        """Return the union: neither secret may be learnt."""
        from sfumato.questions.secret_unions import SecretUnion

        return SecretUnion((self, other))


def _asked_once(question: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Keep the question about the last belief with the secret."""
    if hasattr(question, "__wrapped__"):
        return question

    @functools.wraps(question)
    def kept(self: Any, belief: Any) -> Any:
        last = self.__dict__.get("_asked")
        if last is None or last[0] is not belief:
            with _within_memory(self.name):
                last = (belief, question(self, belief))
            self.__dict__["_asked"] = last
        return last[1]

    return kept


# What is released ---------------------------------------------------------------------------------


@attrs.frozen
class Situation(Generic[B, Q, C]):
    """One member of a class before one release: what every measure of it shares."""

    __repr__ = brief_repr

    belief: B
    question: Q
    channel: C

    @classmethod
    def of(cls, member: Prior[B], secret: Secret[B, Q], channel: C) -> Situation[B, Q, C]:
        """Return the situation, or refuse a channel that speaks of another trace."""
        belief = member.belief()
        require_one_trace(belief, channel)
        return cls(belief, secret.question(belief), channel)


REMEMBERED = 64
"""How many situations a release keeps for the next measure."""


@attrs.frozen
class Release(Generic[C]):
    """A channel designed for a prior class and a secret.

    Attributes
    ----------
    channel
        The law of the output given the trace, of what is *really sampled*.
    utility_quantity
        What `utility` counts, and which way is worse.
    claims
        What the designer certifies, in plain values, such as a lower bound on any mechanism's
        loss.

    >>> import numpy as np
    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=2.0, times=3), sf.secrets.basic(1)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    >>> release.utility(), release.utility_quantity.name
    (0.5, 'mean squared error')
    >>> release.apply([0.0, 1.0, 2.0], rng=np.random.default_rng(0)).shape
    (3,)
    """

    mechanism: Mechanism
    prior: PriorClass
    secret: Secret
    channel: C
    utility_value: float = attrs.field(converter=float, validator=_not_nan)
    utility_quantity: Quantity
    claims: Mapping[str, Any] = attrs.field(factory=dict, eq=False, hash=False)
    _situations: dict[Any, Situation[Any, Any, C]] = attrs.field(
        factory=dict, init=False, eq=False, repr=False
    )

    def situation(self, member: Prior, secret: Secret) -> Situation[Any, Any, C]:
        """Return what a member of a class believes of a secret and this channel, built once."""
        key = (member, secret)
        if key not in self._situations:
            if len(self._situations) >= REMEMBERED:
                self._situations.clear()
            self._situations[key] = Situation.of(member, secret, self.channel)
        return self._situations[key]

    def apply(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Release a trace; without a generator the noise comes from the secure source."""
        channel: Any = self.channel
        return channel.sample(trace, generator_or_secure(rng))

    def stream(
        self,
        rng: np.random.Generator | None = None,
        state: str | Mapping[str, Any] | None = None,
    ) -> Any:
        """Return a stream that answers step by step, begun anew or resumed from its `state`."""
        from sfumato.channels import AdditiveGaussian
        from sfumato.release.streams import GaussianStream, open_stream

        if not isinstance(self.channel, AdditiveGaussian):
            raise Incompatible(
                f"a stream needs a suppression or added Gaussian noise; got "
                f"'{self.mechanism.name}'."
            )
        return open_stream(GaussianStream, self, rng, state)

    def utility(self) -> float:
        """Return how useful the release is, as `utility_quantity` says."""
        return self.utility_value

    @property
    def certificate(self) -> dict[str, Any]:
        """Return a plain table: what was designed, for whom, and what it is certified to do."""
        from sfumato import __version__

        return {
            "sfumato": __version__,
            "mechanism": self.mechanism.specification(),
            "prior": self.prior.specification(),
            "secret": self.secret.specification(),
            "utility": {"quantity": str(self.utility_quantity), "value": self.utility_value},
            **self.claims,
        }

    def __repr__(self) -> str:
        used = f"{self.utility_quantity.name} {self.utility_value:.6g}"
        return f"<Release by {self.mechanism!r}, {used}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import release_card

        return release_card(self)


class Mechanism(Declared, ABC, Generic[C]):
    """Given a prior class and a secret, a way of releasing a trace.

    The author writes `design`; `protect` first refuses what the mechanism cannot design for.

    Attributes
    ----------
    asks
        The (belief, question) types it can design for; ``object`` stands for any.
    yields
        The type of channel it designs.
    promises
        Parameters, each with the registered measure whose loss is at most its value, such as
        ``(("epsilon", "renyi"),)``; the laws hold the mechanism to that, and to nothing else.
    strength
        The parameter that says how much is hidden, and whether more or less of it hides more; what
        `sf.calibrate` sets.

    >>> import sfumato as sf
    >>> sf.mechanisms.gaussian_uniform(mse=1.0).specification()
    {'name': 'gaussian_uniform', 'mse': 1.0}
    """

    kind: ClassVar[str] = "mechanism"
    plural: ClassVar[str] = "mechanisms"
    asks: ClassVar[tuple[tuple[type, type], ...]]
    yields: ClassVar[type]
    promises: ClassVar[tuple[tuple[str, str], ...]] = ()
    strength: ClassVar[tuple[str, Literal["more", "less"]] | None] = None

    @abstractmethod
    def design(self, prior: PriorClass, secret: Secret) -> Release[C]:
        """Design the release; the types are known to fit."""

    def protect(self, prior: PriorClass, secret: Secret) -> Release[C]:
        """Design a release of traces for the class and the secret."""
        require_mechanism(self, prior, secret)
        # Refuses an index or a state that the trace has not: all members have the same trace.
        secret.question(next(iter(prior.members())).belief())
        with _within_memory(self.name):
            release = self.design(prior, secret)
        if not isinstance(release, Release):
            raise TypeError(f"{self.name}.design must return a Release; got {release!r}.")
        return release

    def at_strength(self, value: float) -> Mechanism[C]:
        """Return the mechanism with another value of the parameter that is its `strength`."""
        given: Any = self
        changed: Mechanism[C] = attrs.evolve(given, **{self.strength[0]: value})  # type: ignore[index]
        return changed

    def designed_for(
        self, prior: PriorClass | None = None, secret: Secret | None = None
    ) -> Mechanism[C]:
        """Return the mechanism that designs for these, whatever it is then asked about.

        >>> import sfumato as sf
        >>> hide_all = sf.mechanisms.gaussian_optimal(mse=0.1).designed_for(
        ...     secret=sf.secrets.every_point()
        ... )
        >>> hide_all.specification()["design"]
        {'secret': {'name': 'every_point'}}
        """
        from sfumato.release.designs import DesignedFor

        return DesignedFor(self, prior, secret)


# Who attacks --------------------------------------------------------------------------------------


class Adversary(Declared, ABC, Generic[B, C]):
    """Someone who knows a belief and the channel, sees an output, and infers.

    The author writes `infer`, which may first `require` that what it is given fits.

    Attributes
    ----------
    reads
        The (belief, channel) types it can reason about.
    promises
        What it infers, for the laws to check: "posterior" or "most probable trace".

    >>> import sfumato as sf
    >>> sf.adversaries.map()
    sf.adversaries.map()
    """

    kind: ClassVar[str] = "adversary"
    plural: ClassVar[str] = "adversaries"
    reads: ClassVar[tuple[tuple[type, type], ...]]
    promises: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def infer(self, belief: B, channel: C, observed: Any) -> Any:
        """Return a posterior, or a guess, from what was observed."""

    def require(self, belief: B, channel: C) -> None:
        """Refuse a belief or a channel that is not read here, or that speak of two traces."""
        require_adversary(self, belief, channel)


# How loss is counted ------------------------------------------------------------------------------


class LossMeasure(Declared, ABC, Generic[B, Q, C]):
    """A quantity of what a release gives away, over a whole prior class.

    The author writes `quantity` and `evaluate`, for one belief, and the `brute_force` that shows
    what `evaluate` calls exact; `loss` refuses what the measure cannot read and takes the worst
    over the class, in the direction in which the quantity is worse.

    Attributes
    ----------
    reads
        The (belief, question, channel) types it can evaluate; ``object`` stands for any.
    promises
        What the laws may rely on: "utility", "share of outputs", "unit free" (other units of the
        trace change nothing), "nothing from silence" (zero where nothing is released), "grows with
        the secret" (with its radius, its mistakes), "grows with its order".
    worst_scale
        At which end of the prior's scale a loss is worst, where its author has proved it: then an
        interval of scales is not searched, and a loss over it can be exact.
    oracle
        The module of its brute force: a function called as the measure, of belief, question,
        channel and the measure's parameters in their order.
    default_for
        Over which classes a certificate holds the measure without being asked to: one that takes
        long for a single belief is left out where there are many.

    >>> import sfumato as sf
    >>> sf.measures.renyi(order=2.0).quantity.worse
    'larger'
    """

    kind: ClassVar[str] = "measure"
    plural: ClassVar[str] = "measures"
    reads: ClassVar[tuple[tuple[type, type, type], ...]]
    promises: ClassVar[tuple[str, ...]] = ()
    worst_scale: ClassVar[ScaleEnd | None] = None
    oracle: ClassVar[str] = ""
    default_for: ClassVar[Literal["every class", "finite classes", "one prior"]] = "every class"

    @property
    @abstractmethod
    def quantity(self) -> Quantity:
        """What the measure's numbers are numbers of."""

    @abstractmethod
    def evaluate(self, belief: B, question: Q, channel: C) -> Reading:
        """Return the reading for one belief; the types are known to fit."""

    def brute_force(self, belief: B, question: Q, channel: C) -> Reading | None:
        """Return the same number from its definition, for tiny cases, by other means.

        It must not use what `evaluate` uses. None, the default, says that there is no such check;
        where there is one and only this case is too large, it raises `OutsideHypotheses`. An
        estimate's interval is two ends that hold the number. With an `oracle` it is that
        module's.
        """
        if not self.oracle:
            return None
        given = (getattr(self, one.name) for one in self.parameters())
        function = getattr(importlib.import_module(self.oracle), self.name)
        return function(belief, question, channel, *given)  # type: ignore[no-any-return]

    @classmethod
    def has_brute_force(cls) -> bool:
        """Whether the author brought an independent check of what the measure calls exact."""
        return bool(cls.oracle) or cls.brute_force is not LossMeasure.brute_force

    def scale_end(self, question: type | None) -> ScaleEnd | None:  # noqa: ARG002  # overridden
        """Return at which end of the prior's scale a question of that type is worst, if proved."""
        return self.worst_scale

    def loss(
        self, prior: PriorClass, secret: Secret, release: Release, *, tolerance: float = 1e-3
    ) -> Loss:
        """Return the worst loss over the class.

        Over intervals of parameters it is proved, where it can be, until it is relatively no
        further than `tolerance` from what a member attains.
        """
        from sfumato.prior_classes.suprema import over_class

        require_measure(self, prior, secret, release)
        end = self.scale_end(question_type(secret, prior.yields))
        narrowed = prior if end is None else prior.at_scale(end)

        def read(member: Prior) -> Reading:
            return self._reading(member, secret, release)

        if isinstance(narrowed, Prior):
            found, worst = read(narrowed), narrowed
        else:
            proved = None
            if not narrowed.finite:
                proved = self.proved(narrowed, secret, release, read, tolerance=tolerance)
            found, worst = proved or over_class(narrowed, read, self.quantity)
        if self.quantity.unit == "probability":
            found = _clip_ends(found)
        if narrowed != prior:
            how = f"{found.how}; the {end} end of the scale, proved".lstrip("; ")
            found = attrs.evolve(found, how=how)
        return Loss(
            **attrs.asdict(found, recurse=False),
            quantity=self.quantity,
            scenario=Scenario(prior, secret, release.channel),
            worst=worst,
            unverified=found.bound == "exact" and not self.has_brute_force(),
        )

    def of_informations(
        self,
        question: Q,  # noqa: ARG002  # authors override it
        bounds: Sequence[Any],  # noqa: ARG002
    ) -> Any:
        """Return what the loss is at most over each of many cells of a class's parameters.

        `bounds` are, for each of the question's groups, ends that hold all over the cells, in
        Loewner order: M is at most `information`, $V_SS$ at least `left`, $Σ_SS$ between
        `least_prior` and `largest_prior`, all (cells, k, k), and $½ log det(I + Σ_SS M)$ at most
        `told`. An author who writes it promises that no member within a cell loses more: the loss
        over an interval of parameters can then be proved. None, the default, says that it cannot.
        """
        return None

    def between_members(self, worst: float, bend: float, turn: float) -> float | None:  # noqa: ARG002
        """Return what no chain between others loses more than, `worst` the worst loss of those.

        Between them the logarithm of every quotient of two probabilities of the chain and the
        release is within `bend` of its linear interpolation; `turn` is an eighth of the square of
        the largest difference of such a logarithm (`inference.markov.interval_chains`). Together
        they are below one. None, the default, says that nothing is known.
        """
        return None

    def proved(
        self,
        prior: PriorClass,
        secret: Secret,
        release: Release,
        read: Callable[[Prior], Reading],
        *,
        tolerance: float,
    ) -> tuple[Reading, Prior] | None:
        """Return the loss over a class with intervals, proved, and a member close to it; or None.

        `read` takes a member. An author may override it who knows more than the framework.
        """
        from sfumato.prior_classes.proofs import prove_loss

        return prove_loss(self, prior, secret, release, read, tolerance=tolerance)

    def _reading(self, member: Prior, secret: Secret, release: Release) -> Reading:
        at = release.situation(member, secret)
        with _within_memory(self.name):
            found = self.evaluate(at.belief, at.question, at.channel)
        if not isinstance(found, Reading):
            raise TypeError(f"{self.name}.evaluate must return a Reading; got {found!r}.")
        return found


NOUNS: Mapping[str, type[Prior | Secret | Mechanism | Adversary | LossMeasure]] = {
    noun.kind: noun for noun in (Prior, Secret, Mechanism, Adversary, LossMeasure)
}
"""The five nouns, in the order in which a comparison names them."""
