"""The optimal geo-indistinguishable mechanism on square grids: cost, certified gap, time."""

import math
import sys
import time

import sfumato as sf

for side in map(int, sys.argv[1:] or ["5", "7", "10"]):
    places, count = sf.priors.location_walk.grid(side, side), side * side
    even = sf.priors.markov_chain([1 / count] * count, [[1 / count] * count] * count, steps=1)
    begun = time.process_time()
    mechanism = sf.mechanisms.geo_optimal(epsilon=math.log(2) / 2, places=places)
    release = mechanism.protect(even, sf.secrets.basic(0))
    spent, gap = time.process_time() - begun, release.certificate["gap"]
    print(
        f"{side} x {side}: {release.utility():.6f}, gap {gap:.1e}, {spent:.1f} s of processor time"
    )
