"""Designs over the whole grid of settings: none may fail, and each says how good it is.

``python bench_design_grid.py COUNT [FIRST]`` designs for all corners of the grid and for that many
cases drawn between them: length scales 1 to 12, blocks of 2 to 8 neighbouring times, budgets 1e-4
to 1, 20 to 200 entries, radii 1e-6 to 1e6; one compound secret, a union of it with others, a class.
"""

import itertools
import sys
import time

import numpy as np

import sfumato as sf

KINDS = ("compound", "union", "class")


def corners():
    """Return the 96 extreme cases."""
    ends = ((1, 12), (2, 8), (1e-4, 1.0), (20, 200), (1e-6, 1e6))
    return [(kind, *case) for kind in KINDS for case in itertools.product(*ends)]


def drawn(count, seed=0):
    """Return cases spread over the grid, every length scale, size of block and kind alike."""
    rng = np.random.default_rng(seed)
    return [
        (
            KINDS[i % 3],
            1 + i // 3 % 12,
            2 + int(rng.integers(7)),
            10 ** rng.uniform(-4, 0),
            int(rng.integers(20, 201)),
            10 ** rng.uniform(-6, 6),
        )
        for i in range(count)
    ]


def design(case):
    """Return the release for one case."""
    kind, length, neighbours, mse, n, radius = case
    first = n // 2 - neighbours // 2
    block = range(first, first + neighbours)
    secret = sf.secrets.compound(list(block), radius=radius)
    if kind == "union":
        secret = secret | sf.secrets.basic(1, radius=3 * radius)
        secret = secret | sf.secrets.compound([n - 3, n - 2], radius=radius)
    scales = float(length)
    if kind == "class":
        scales = sf.AnyOf(scales, scales + 0.5, scales + 2.0)
    prior = sf.priors.rbf(length_scale=scales, times=n)
    return sf.mechanisms.gaussian_optimal(mse=mse).protect(prior, secret)


def main(count, first=0):
    """Design for every case and print each; then how many failed, the widest and the slowest."""
    found, failed = [], []
    cases = (corners() + drawn(count))[first:]
    for number, case in enumerate(cases, first):
        start = time.process_time()
        try:
            claims = design(case).claims
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what is looked for
            failed.append(case)
            print("FAILED", case, type(error).__name__, error, flush=True)
            continue
        seconds = time.process_time() - start
        found.append((claims["relative_gap"], seconds, claims["class_seen"], case))
        shown = f"gap {claims['relative_gap']:.2g}, {seconds:.1f} s, {claims['class_seen']}"
        print(f"{number}: {shown}, {case}", flush=True)
    print(f"{len(cases)} designs, {len(failed)} failed")
    print(f"above 1e-4: {sum(gap > 1e-4 for gap, *_ in found)}")
    for name, place in (("widest gaps", 0), ("slowest", 1)):
        print(name)
        for gap, seconds, seen, case in sorted(found, key=lambda f: -f[place])[:5]:
            print(f"  gap {gap:.3g}, {seconds:.1f} s of processor time, {seen}: {case}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
