"""The best chance that anyone has to reconstruct a trajectory."""

from __future__ import annotations

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.inference.bayes_success import bayes_success
from sfumato.parameters import declare
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Guess


@declare
class Reconstruction(DeclaredMeasure):
    """The success of the best possible guess: max over guessers of Pr[d(X, X̂) ≤ mistakes].

    Assumptions: the adversary knows the chain and the channel; d counts differing positions.
    Guarantee: exact, by listing every output of a finite channel and searching all guesses with
    pruning; refused where there are too many.
    Reference: Koga, Meehan and Chaudhuri (2024), section 3, the reconstruction attack.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> secret = sf.secrets.trajectory(mistakes=0)
    >>> release = sf.mechanisms.sensor_counts([0, 0]).protect(chain, secret)
    >>> round(sf.measures.reconstruction().loss(chain, secret, release).value, 12)
    1.0
    """

    name = "reconstruction"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the Bayes-optimal success."""
        value = bayes_success(belief, channel, question.mistakes)
        return Reading(value=value, how="all outputs, all guesses")
