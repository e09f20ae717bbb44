"""The mechanism of Meehan and Chaudhuri for one secret."""

from __future__ import annotations

from sfumato.errors import OutsideHypotheses
from sfumato.parameters import OPTIONAL, PLUGIN, POSITIVE, declare, parameter
from sfumato.protocols import PriorClass, Secret
from sfumato_gaussian_noise.blocks import Block, block_of
from sfumato_gaussian_noise.calibrated import Calibrated, Design
from sfumato_gaussian_noise.designed_for import designed_for
from sfumato_gaussian_noise.sdp_a_program import sdp_a


@declare
class SDPA(Calibrated):
    """Noise by the program SDP_A: independent on the secret entries, shaped on the others.

    The program replaces an inverse by a pseudo-inverse, so it is an approximation: its noise may be
    a few times worse than the best of its class (`gaussian_optimal` with
    `independent_secret_noise`), and for compound secrets it can leave directions nearly free of
    noise. With `rescale` it is solved for a multiple of the budget and divided by it, as its
    authors' figures were made (10 for one time, 1000 for two).

    Assumptions: one prior and one secret; `gaussian_multiple_secrets` takes several secrets.

    Reference: Meehan and Chaudhuri (2021), section 4 and appendix 7.3.1.

    >>> SDPA(mse=0.02, rescale=10.0)
    sf.mechanisms.gaussian_sdp_a(mse=0.02, rescale=10.0)
    """

    name = "gaussian_sdp_a"

    rescale: float = parameter(
        POSITIVE, default=1.0, doc="solve for this multiple of the budget, then divide by it"
    )
    design_prior: PriorClass | None = parameter(
        OPTIONAL(PLUGIN("prior")),
        default=None,
        doc="design for this prior, whatever class the release is later measured under",
    )

    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Solve the program for the one prior and secret."""
        blocks = secret_blocks(designed_for(prior, self.design_prior), secret, self.name)
        if len(blocks) > 1:
            raise OutsideHypotheses(
                f"{self.name} takes one secret; got {len(blocks)}: use gaussian_multiple_secrets."
            )
        ((entries, block),) = blocks
        return Design(sdp_a(block, entries, mse * block.shifts.shape[0], self.rescale))


def secret_blocks(
    prior: PriorClass, secret: Secret, name: str
) -> list[tuple[tuple[int, ...], Block]]:
    """Return the entries and the block of every group, for a class of one prior."""
    members = list(prior.members())
    if len(members) > 1 or not prior.finite:
        raise OutsideHypotheses(
            f"{name} designs for one prior; got a class: give one as design_prior, or use "
            f"gaussian_optimal."
        )
    belief = members[0].belief()
    question = secret.question(belief)
    found = []
    for group in question.groups:
        block = block_of(belief, group, 1.0)
        entries = tuple(entry for ball in group for entry in ball)
        if block is None or block.shifts.shape[1] < len(entries):
            raise OutsideHypotheses(
                f"{name} takes secret entries none of which is a constant or determined by the "
                f"others; got {entries}."
            )
        found.append((entries, block))
    return found
