"""The naive baseline: suppress what is sensitive, and nothing else."""

from __future__ import annotations

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.parameters import declare
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato_suppression.suppressing_release import suppressing_release


@declare
class Sensitive(DeclaredMechanism):
    """Suppress exactly the sensitive states. This is not private: a gap says what it hides.

    Reference: Götz, Nath and Gehrke (2012), section 1, MaskSensitive.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0, 1], [0, 1]], steps=1)
    >>> secret = sf.secrets.contexts({0})
    >>> release = sf.mechanisms.suppress_sensitive().protect(chain, secret)
    >>> sf.measures.posterior_gap().loss(chain, secret, release).value
    0.5
    """

    name = "suppress_sensitive"
    asks = ((Markov, Events),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Suppress the states that belong to an event, at its times."""
        belief = next(prior.members()).belief()
        masks = secret.question(belief).masks
        channel = Suppression.memoryless(belief.states, masks.any(axis=0).astype(float))
        return suppressing_release(self, prior, secret, channel)
