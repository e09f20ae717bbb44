"""Which view belongs to which belief, question and channel; each is built once."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, RememberingSuppression
from sfumato.compatibility import require_one_trace
from sfumato.questions import Displacements, Events, JointStates, Nearness
from sfumato.views.finite import FiniteView, finite_view
from sfumato.views.gaussian import GaussianView, near_view

FINITE = (
    (Markov, Events, Emission),
    (Markov, JointStates, Emission),
    (Markov, Events, RememberingSuppression),
    (Markov, JointStates, RememberingSuppression),
    (Gaussian, Nearness, AdditiveGaussian),
)
"""The worlds that have a finite view: chains, and an event about a real value."""

GAUSSIAN = ((Gaussian, Displacements, AdditiveGaussian),)
"""The world that has a Gaussian view."""

REMEMBERED = 16
"""How many views are kept for the next measure."""

_views: OrderedDict[tuple[int, int, int], tuple[Any, Any]] = OrderedDict()


def view_of(belief: Any, question: Any, channel: Any) -> FiniteView | GaussianView:
    """Return what the adversary sees of the secret; of the very same objects it is built once.

    >>> import sfumato as sf
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
    view: FiniteView | GaussianView
    if isinstance(question, Displacements):
        view = GaussianView(source)
    elif isinstance(question, Nearness):
        view = near_view(belief, question, channel)
    else:
        view = finite_view(belief, question, channel)
    _views[key] = (source, view)
    while len(_views) > REMEMBERED:
        _views.popitem(last=False)
    return view
