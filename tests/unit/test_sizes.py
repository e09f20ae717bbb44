"""Long traces, in a process of 2.5 GiB: a loss by a structured route, or a refusal before any work.

Every line runs in one process whose address space is limited; a `MemoryError` is never an answer.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

import sfumato as sf

pytest.importorskip("resource", reason="this system has no limits of memory")

PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (5 * 2**29, 5 * 2**29))
import numpy as np
import sfumato as sf

def rbf(n, **more):
    return sf.priors.rbf(length_scale=6.0, times=n, **more)

def matern(n):
    return sf.priors.matern(length_scale=6.0, times=n)

def chain(steps):
    return sf.priors.markov_chain(
        initial=[0.5, 0.5], transitions=[[0.8, 0.2], [0.2, 0.8]], steps=steps
    )

def irregular(n):
    return np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, n))

def halves(steps):
    return sf.mechanisms.suppress_given(probabilities=np.full((steps, 2), 0.5))

uniform = sf.mechanisms.gaussian_uniform(mse=0.02)
optimal = sf.mechanisms.gaussian_optimal(mse=0.02)
one, some, every = sf.secrets.basic(24), sf.secrets.compound([24, 25]), sf.secrets.every_point()
ever, once = sf.secrets.contexts([1]), sf.secrets.contexts([1], times=[9])
sensitive = sf.mechanisms.suppress_sensitive()
blurred = sf.mechanisms.randomised_response(epsilon=1.0)

def ask(prior, secret, mechanism, name, **parameters):
    measure = getattr(sf.measures, name)(**parameters)
    return measure.loss(prior, secret, mechanism.protect(prior, secret)).value

for line in sys.stdin:
    try:
        print(f"{eval(line):.3g}", flush=True)
    except (sf.Incompatible, sf.OutsideHypotheses, sf.Undecidable) as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    except Exception as error:
        print(f"an error: {error!r}", flush=True)
"""

DENSE = "at most 4000 entries"
DESIGN = "above 4000 entries a design takes one prior on a regular grid"
MASKS = "events x steps x states up to 67,108,864"
PLACES = "take at most 5,000 steps"
SIZES = {
    "ask(rbf(20_000), one, uniform, 'renyi')": "261",
    "ask(matern(20_000), one, uniform, 'renyi')": "97.6",
    "ask(rbf(20_000), one, optimal, 'renyi')": "0.0265",
    "ask(rbf(20_000), one, uniform, 'odds_gap')": "168",
    "ask(rbf(20_000) + matern(20_000), one, uniform, 'renyi')": "98",
    "ask(rbf(20_000, dimensions=2), one, uniform, 'renyi')": "261",
    "ask(rbf(1_000_000), one, uniform, 'renyi')": "261",
    "ask(rbf(10_000_000), one, uniform, 'mean_squared_error')": "0.02",
    "ask(rbf(20_000), one, uniform, 'mutual_information')": DENSE,
    "ask(matern(20_000), one, optimal, 'mutual_information')": DENSE,
    "ask(rbf(100_000), one, uniform, 'mutual_information')": DENSE,
    "ask(rbf(20_000), some, uniform, 'renyi')": "above 4000 entries",
    "ask(rbf(20_000), every, uniform, 'renyi')": "up to 4000 entries",
    "ask(rbf(20_000), some, optimal, 'renyi')": DESIGN,
    "ask(rbf(irregular(20_000)), one, uniform, 'renyi')": DENSE,
    "ask(sf.priors.kernel({'name': 'DotProduct', 'sigma_0': 1.0}, times=20_000), one, uniform, "
    "'renyi')": DENSE,
    "ask(sf.priors.periodic(length_scale=1.0, period=30.0, times=20_000), one, uniform, 'renyi')": (
        "7.36e+04"
    ),
    "ask(rbf(20_000), one, sf.mechanisms.gaussian_sdp_a(mse=0.02), 'renyi')": DENSE,
    "ask(matern(20_000), one, sf.mechanisms.gaussian_multiple_secrets(mse=0.02), 'renyi')": DENSE,
    "ask(rbf(20_000), one, sf.mechanisms.gaussian_concentrated(mse=0.02), 'renyi')": "too long",
    "sf.adversaries.gaussian_posterior().infer(rbf(20_000).belief(), uniform.protect("
    "rbf(20_000), one).channel, np.zeros(20_000))": DENSE,
    "rbf(20_000).belief().sample().size": "2e+04",
    "ask(chain(100_000), ever, sensitive, 'posterior_gap')": MASKS,
    "ask(chain(1_000_000), ever, sensitive, 'posterior_gap')": MASKS,
    "ask(chain(100_000), every, halves(100_000), 'renyi')": MASKS,
    "ask(chain(100_000), once, sensitive, 'posterior_gap')": PLACES,
    "ask(chain(100_000), once, sensitive, 'bayes_success')": "1",
    "ask(chain(100_000), once, sensitive, 'released_fraction')": "1",
    "ask(chain(100_000), once, blurred, 'bayes_success')": "0.758",
    "ask(chain(100_000), sf.secrets.trajectory(), halves(100_000), 'mutual_information')": "5e+04",
    "ask(chain(100_000), sf.secrets.trajectory(), halves(100_000), 'reconstruction')": "1",
    **{
        f"ask(chain(100_000), once, sf.mechanisms.suppress_{name}(delta=0.1), 'posterior_gap')": (
            PLACES
        )
        for name in ("probabilistic", "simulatable", "hybrid", "segmented", "optimal")
    },
    "sf.priors.rbf(length_scale=6.0, times=10**9).times": "an error: ParameterError",
    "len(str(sf.compare([rbf(irregular(20_000)), rbf(20_000)], [one], [uniform], "
    "[sf.measures.renyi(), sf.measures.mutual_information()]).refusals).split('4000 entries'))": (
        "2"
    ),
}


class Greedy(type(sf.priors.rbf(length_scale=1.0, times=3))):
    """A third party's prior that looks at no size."""

    name = "greedy"

    def belief(self):
        raise MemoryError


@pytest.fixture(scope="module")
def answers():
    lines = "\n".join(SIZES)
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=lines, capture_output=True, text=True, check=False
    )
    return dict(zip(SIZES, found.stdout.splitlines(), strict=False))


@pytest.mark.parametrize("line", SIZES)
def test_a_long_trace_is_measured_or_refused_before_any_work(answers, line):
    found = answers.get(line, "the process died")
    expected = SIZES[line]
    assert (found == expected) if expected[0].isdigit() else (expected in found), found


def test_what_does_not_fit_the_memory_is_refused():
    with pytest.raises(sf.OutsideHypotheses, match="greedy needs more memory"):
        Greedy(length_scale=1.0, times=3).belief()
