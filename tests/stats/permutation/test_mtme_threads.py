"""The toolkit's p-values do not depend on the threads of BLAS, whose sums of floats do."""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import hashlib, numpy as np
from steelyard.stats.permutation.pvalues import pairwise_pvalues
for n in (14, 40, 230):
    x = np.random.default_rng(0).normal(size=(n, 1300)).round(2)
    print(hashlib.sha256(pairwise_pvalues(x, method="mtme").p.tobytes()).hexdigest())
"""


def test_any_number_of_threads_gives_the_same_bits():
    result = set()
    for threads in ("1", "2", "4"):
        own = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", SCRIPT], env=own, capture_output=True,
                              text=True, check=True)  # fmt: skip
        result.add(done.stdout)
    assert len(result) == 1
