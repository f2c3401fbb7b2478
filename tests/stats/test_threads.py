"""Results do not depend on the threads of BLAS, whose sums of floats do."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import hashlib, numpy as np
from steelyard.stats.permutation.pvalues import pairwise_pvalues
from steelyard.stats.resampling import bootstrap
def show(x):
    print(hashlib.sha256(np.ascontiguousarray(x)).hexdigest())
rng = np.random.default_rng(0)
for n in (14, 40, 230):
    show(pairwise_pvalues(rng.normal(size=(n, 1300)).round(2), method="mtme").p)
for n, s in ((12, 460), (33, 300)):
    human = rng.normal(size=(n, s))
    counts = bootstrap.segment_counts(500, s, rng)
    metrics = human + rng.normal(size=(2, n, s))
    metrics[1, 0, :9] = np.nan
    show(bootstrap.bootstrap_spa(human, metrics, segments=counts))
    show(bootstrap.bootstrap_means(human, counts))
    show(bootstrap.bootstrap_groups(human, np.ones_like(human), counts))
"""


def test_any_number_of_threads_gives_the_same_bits():
    printed = []
    for n in "12":
        threads = {"OPENBLAS_NUM_THREADS": n, "MKL_NUM_THREADS": n, "OMP_NUM_THREADS": n}
        asked = [sys.executable, "-c", SCRIPT]
        run = subprocess.run(asked, env={**os.environ, **threads}, capture_output=True, check=True)
        printed.append(run.stdout)
    assert printed[0] == printed[1]
    assert len(printed[0].split()) == 9
