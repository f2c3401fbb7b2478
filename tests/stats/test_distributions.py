"""Distribution functions agree with SciPy's, one by one and many at a time."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import special

from steelyard.stats import distributions


def arguments(name: str, n: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    freedom = np.exp(rng.uniform(-0.7, 7, n))
    freedom = np.where(rng.random(n) < 0.6, np.ceil(freedom), freedom)
    t = rng.normal(size=n) * np.exp(rng.uniform(-3, 2, n))
    p = np.where(rng.random(n) < 0.5, 1 - 0.4 * rng.random(n), 10 ** rng.uniform(-12, -1, n))
    trials = rng.integers(1, 200, n)
    return {
        "expit": (30 * t,),
        "log_expit": (30 * t,),
        "ndtr": (t,),
        "ndtri": (p,),
        "chdtrc": (np.ones(n), t * t),
        "bdtr": (rng.integers(0, trials + 1), trials, np.full(n, 0.5)),
        "stdtr": (freedom, t),
        "stdtrit": (freedom, p),
    }[name]


NAMES = ["expit", "log_expit", "ndtr", "ndtri", "chdtrc", "bdtr", "stdtr", "stdtrit"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, distributions.FEW, distributions.FEW + 1])
def test_values_are_those_of_scipy(name: str, n: int) -> None:
    values = arguments(name, n)
    expected = getattr(special, name)(*values)
    actual = getattr(distributions, name)(*values)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ndtr", [-math.inf, math.inf, math.nan, 0.0]),
        ("ndtri", [0.0, 1.0, 0.5, math.nan, -0.1, 2.0]),
        (
            "stdtr",
            [[5, math.inf, 0, 3, 3, math.nan, 2e6], [0.0, -1.5, 1, math.inf, -math.inf, 1, 2]],
        ),
        ("stdtrit", [[5, math.inf, 0, 1, 2, 3], [0.5, 0.975, 0.1, 0.01, 0.999, math.nan]]),
        ("bdtr", [[0, 5, 6000, 2], [3, 5, 20_000, 7], [0.5, 0.5, 0.5, 0.3]]),
        ("chdtrc", [[1, 4, 1], [0.0, 3.0, math.nan]]),
    ],
)
def test_ends_and_rare_arguments_are_those_of_scipy(name: str, values: list[Any]) -> None:
    columns = values if isinstance(values[0], list) else [values]
    expected = getattr(special, name)(*map(np.array, columns))
    np.testing.assert_allclose(getattr(distributions, name)(*columns), expected, rtol=1e-11)


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, 1000, 1e5])
def test_the_noncentral_t_is_that_of_scipy(freedom: float) -> None:
    for shift in (-4, 0, 0.3, 2.8, 14):
        for t in (-12.7, -2, 0, 1.96, 12.7):
            expected = special.nctdtr(freedom, shift, t)
            if not math.isnan(expected):  # SciPy gives up in far tails
                assert distributions.nctdtr(freedom, shift, t) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("systems", ["AB", "ABC"])
def test_small_commands_do_not_load_scipy(systems: str, tmp_path) -> None:
    scores = tmp_path / "scores.csv"
    rows = [f"{s},{i},{(7 * i + 3 * k) % 11}" for k, s in enumerate(systems) for i in range(20)]
    scores.write_text("\n".join(["system,segment,score", *rows]))
    code = (
        "import sys; from steelyard.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith('scipy')], file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "compare", str(scores), "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "[]"
