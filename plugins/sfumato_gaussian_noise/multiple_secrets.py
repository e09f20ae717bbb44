"""The mechanism of Meehan and Chaudhuri for several secrets."""

from __future__ import annotations

import numpy as np

from sfumato.matrices import Dense
from sfumato.parameters import OPTIONAL, PLUGIN, POSITIVE, declare, parameter
from sfumato.protocols import PriorClass, Secret
from sfumato_gaussian_noise.calibrated import Calibrated, Design
from sfumato_gaussian_noise.designed_for import designed_for
from sfumato_gaussian_noise.sdp_a import secret_blocks
from sfumato_gaussian_noise.sdp_a_program import sdp_a
from sfumato_gaussian_noise.smallest_above import smallest_above


@declare
class MultipleSecrets(Calibrated):
    """Noise by Algorithm 1: SDP_A for every secret, then the smallest noise above all of them.

    SDP_B is min tr Γ subject to Γ ⪰ Γ_i for the noise Γ_i of every secret i: more noise in the
    semidefinite order is more private, so each secret keeps what its own noise gave it.
    Algorithm 1 bounds the variance of each Γ_i, not of the result. Here `mse` is the result's:
    SDP_A is solved for it, and the whole is then scaled to it, which for basic secrets is the same
    as giving Algorithm 1 the bound that leads to this mse (their SDP_A is linear in its bound).

    Reference: Meehan and Chaudhuri (2021), section 4, Algorithm 1, and appendix 7.3.2.

    >>> MultipleSecrets(mse=0.35)
    sf.mechanisms.gaussian_multiple_secrets(mse=0.35)
    """

    name = "gaussian_multiple_secrets"

    rescale: float = parameter(
        POSITIVE, default=1.0, doc="solve for this multiple of the budget, then divide by it"
    )

    design_prior: PriorClass | None = parameter(
        OPTIONAL(PLUGIN("prior")),
        default=None,
        doc="design for this prior, whatever class the release is later measured under",
    )

    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Solve SDP_A for every secret, then SDP_B."""
        blocks = secret_blocks(designed_for(prior, self.design_prior), secret, self.name)
        budget = mse * blocks[0][1].shifts.shape[0]
        single = [sdp_a(block, entries, budget, self.rescale) for entries, block in blocks]
        above = smallest_above(np.stack([noise.dense() for noise in single]))
        scale = budget / float(np.trace(above))
        return Design(Dense(above * scale), {"mse_of_each_secret": mse * scale})
