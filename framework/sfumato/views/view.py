"""Which view belongs to which belief, question and channel; each is built once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import Any, ClassVar

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, RememberingSuppression, WholeTrace
from sfumato.compatibility import require_one_trace
from sfumato.protocols import LossMeasure, Reading
from sfumato.questions import Displacements, Events, JointStates, Nearness
from sfumato.views.finite import FiniteView, finite_view
from sfumato.views.gaussian import GaussianView, near_view


class OwnView(ABC):
    """A view of a package's own kind: it reads those definitions that it has a formula for."""

    @abstractmethod
    def reading(self, measure: LossMeasure) -> Reading:
        """Return the measure's quantity here, or raise `OutsideHypotheses`."""


class OwnQuestion(ABC):
    """A question of a package's own belief, which brings its own view: all definitions read it."""

    words: ClassVar[str] = ""  # what a definition needs is said without it

    @abstractmethod
    def view(self, belief: Any, channel: Any) -> FiniteView | GaussianView | OwnView:
        """Return what is seen of the secret, of a kind that is known or of an own kind."""

    def brute_force(self, measure: LossMeasure, belief: Any, channel: Any) -> Reading | None:
        """Return the measure's quantity from its definition, for tiny cases; None if unknown."""
        del measure, belief, channel
        return None


CHANNELS = (Emission, RememberingSuppression, WholeTrace)

FINITE = (
    *((Markov, asked, channel) for asked in (Events, JointStates) for channel in CHANNELS),
    (Gaussian, Nearness, AdditiveGaussian),
    (object, OwnQuestion, object),
)
"""The worlds that have a finite view: chains, an event about a real value, packages' own ones."""

GAUSSIAN = ((Gaussian, Displacements, AdditiveGaussian),)
"""The world that has a Gaussian view."""

REMEMBERED = 16
"""How many views are kept for the next measure."""

_views: OrderedDict[tuple[int, int, int], tuple[Any, Any]] = OrderedDict()


def view_of(belief: Any, question: Any, channel: Any) -> FiniteView | GaussianView | OwnView:
    """Return what the adversary sees of the secret; of the very same objects it is built once.

    >>> import sfumato as sf
    >>> from sfumato.views import view_of
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> at = release.situation(prior, secret)
    >>> view = view_of(at.belief, at.question, at.channel)
    >>> view.parts[0].information.matrix.round(5).tolist(), view is view_of(*view.source)
    ([[7.60858]], True)
    """
    source = (belief, question, channel)
    key = (id(belief), id(question), id(channel))
    if key in _views and all(a is b for a, b in zip(_views[key][0], source, strict=True)):
        _views.move_to_end(key)
        return _views[key][1]  # type: ignore[no-any-return]
    require_one_trace(belief, channel)
    view: FiniteView | GaussianView | OwnView
    if isinstance(question, OwnQuestion):
        view = question.view(belief, channel)
    elif isinstance(channel, WholeTrace):
        view = channel.view(belief, question)
    elif isinstance(question, Displacements):
        view = GaussianView(source)
    elif isinstance(question, Nearness):
        view = near_view(belief, question, channel)
    else:
        view = finite_view(belief, question, channel)
    _views[key] = (source, view)
    while len(_views) > REMEMBERED:
        _views.popitem(last=False)
    return view
