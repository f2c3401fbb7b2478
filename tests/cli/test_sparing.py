"""What a command does not load, and that it is there all the same once it is asked for."""

from __future__ import annotations

import subprocess
import sys

ASKED = """
import sys
from steelyard.cli.sparing import NAMES, Sparing, spare
spare()
spare()
assert sum(isinstance(finder, Sparing) for finder in sys.meta_path) == 1
import numpy
import scipy.special
assert scipy.special.ndtr(0.0) == 0.5
run = [name for name in sys.modules if name.startswith(tuple(f"{own}." for own in NAMES))]
print(" ".join(run))
numpy.testing.assert_allclose(numpy.ma.masked_invalid([1.0, float("nan")]).sum(), 1.0)
assert numpy.polynomial.Polynomial([1, 2])(2) == 5
assert callable(numpy.f2py.get_include) and callable(numpy.ctypeslib.as_array)
"""


def test_spared_modules_run_when_they_are_used():
    found = subprocess.run(
        [sys.executable, "-c", ASKED], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == []
