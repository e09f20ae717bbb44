"""Which of two releases is safer whatever the adversary is after: refinement of channels.

B is a post-processing of A, B = A R for some channel R, exactly where A is at least as vulnerable
for every law of the secret and every gain (Blackwell; McIver et al., 2014). Whether there is such
an R is a linear program; where there is none its dual is a gain by which B tells more.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.protocols import Prior, Release, Secret
from sfumato.report.cards import result_card
from sfumato.values import ByContent, FloatArray
from sfumato.views import FiniteView, Outcomes, view_of

MOST = 250_000
"""How many entries the post-processing may have."""

TOLERANCE = 1e-8
"""A largest difference up to which B counts as A R: the solver's."""


@attrs.frozen(eq=False)
class Refinement(ByContent):
    """Whether one release is a post-processing of another, as far as the secret goes.

    Attributes
    ----------
    gap
        The largest entry of |A R − B| for the best R; zero where the one refines the other.
    processing
        That R, a law of the second release's outcomes for each of the first's.
    gain
        gain[w, s], where there is no R: actions w for which the second release gains more from a
        uniform law of the secret, as `sf.measures.g_vulnerability` counts it; else None.
    """

    gap: float
    processing: FloatArray
    gain: FloatArray | None

    @property
    def holds(self) -> bool:
        """Whether the second release is a post-processing of the first."""
        return self.gap <= TOLERANCE

    def __repr__(self) -> str:
        return f"<Refinement: {'holds' if self.holds else f'fails by {self.gap:.3g}'}>"

    def _repr_html_(self) -> str:
        said = "a post-processing" if self.holds else "no post-processing"
        return result_card("Refinement", said, gap=self.gap, processing=self.processing)


def refinement(first: FloatArray, second: FloatArray) -> Refinement:
    """Return whether the channel `second`, (R, O'), is a post-processing of `first`, (R, O).

    >>> import numpy as np
    >>> from sfumato_information_flow.refinement import refinement
    >>> noisy = np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> noisier = noisy @ np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> refinement(noisy, noisier).holds, refinement(noisier, noisy).holds
    (True, False)
    """
    from scipy import sparse
    from scipy.optimize import linprog

    build: Any = sparse  # its types do not say that blocks of arrays are arrays

    (values, ins), outs = first.shape, second.shape[1]
    if len(second) != values or ins * outs > MOST:
        raise OutsideHypotheses(
            f"refinement takes channels of one secret with at most {MOST} pairs of outcomes; got "
            f"{first.shape} and {second.shape}."
        )
    # Unknowns R (O·O' entries, by rows) and t: −t ≤ (A R − B)[s, o'] ≤ t, rows of R are laws.
    product = build.kron(build.csr_array(first), build.eye_array(outs))
    column = build.csr_array(np.ones((values * outs, 1)))
    limits = build.block_array([[product, -column], [-product, -column]], format="csr")
    rows = build.kron(build.eye_array(ins), np.ones((1, outs)))
    sums = build.hstack([rows, build.csr_array((ins, 1))], format="csr")
    wanted = second.ravel()
    cost = np.zeros(ins * outs + 1)
    cost[-1] = 1.0
    solved: Any = linprog(
        cost,
        A_ub=limits,
        b_ub=np.concatenate([wanted, -wanted]),
        A_eq=sums,
        b_eq=np.ones(ins),
        method="highs",
    )
    if not solved.success:
        raise Undecidable(f"the solver did not decide the refinement: {solved.message}")
    processing = solved.x[:-1].reshape(ins, outs)
    if solved.fun <= TOLERANCE:
        return Refinement(max(0.0, float(solved.fun)), processing, None)
    above, below = np.split(solved.ineqlin.marginals, 2)  # not positive
    gain = (above - below).reshape(values, outs).T  # of action "say o'", for each value
    return Refinement(float(solved.fun), processing, np.ascontiguousarray(gain))


def refines(prior: Prior, secret: Secret, first: Release, second: Release) -> Refinement:
    """Return whether the second release tells nothing of the secret that the first does not.

    >>> import sfumato as sf
    >>> from sfumato_information_flow.refinement import refines
    >>> chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=4)
    >>> secret = sf.secrets.basic(2)
    >>> loud, quiet = (
    ...     sf.mechanisms.randomised_response(epsilon=e).protect(chain, secret) for e in (2.0, 0.5)
    ... )
    >>> refines(chain, secret, loud, quiet).holds, refines(chain, secret, quiet, loud).holds
    (True, False)
    """
    tables = [_one_table(prior, secret, release) for release in (first, second)]
    return refinement(*(table.likelihoods for table in tables))


def _one_table(prior: Prior, secret: Secret, release: Release) -> Outcomes:
    at = release.situation(prior, secret)
    view: Any = view_of(at.belief, at.question, at.channel)
    if not isinstance(view, FiniteView) or not view.is_exact or len(view.upper) != 1:
        raise OutsideHypotheses("refinement takes one secret variable, of which the view is exact.")
    return view.upper[0]
