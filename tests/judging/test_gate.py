"""The gate: names as in the JSON, ends of intervals, and what is undecided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.comparison.options import FAILS, HOLDS, UNDECIDED, check, parse
from steelyard.core.errors import UsageError
from steelyard.data.verdicts import OF_PAIRS, Opinion, Verdicts
from steelyard.judging.report import judge


@pytest.fixture(scope="module")
def pairs() -> Verdicts:
    """Battles of six systems by three people and a judge that likes length and the left side."""
    rng = np.random.default_rng(0)
    n = 1200
    left = rng.integers(0, 6, n).astype(np.int32)
    right = ((left + rng.integers(1, 6, n)) % 6).astype(np.int32)
    length = rng.uniform(-1, 1, n)
    chance = 1 / (1 + np.exp(right - left.astype(float)))

    def told(bias: float, swayed: float, name: str) -> Opinion:
        won = rng.random(n) < np.clip(chance + bias + swayed * length, 0, 1)
        return Opinion(name, won.astype(float), np.where(won, 2, 0).astype(np.int32))

    return Verdicts(
        "pairs", tuple(map(str, range(n))), np.arange(n, dtype=np.int32),
        (told(0.3, 0.2, "gpt"),), tuple(told(0, 0, f"r{k}") for k in range(3)), OF_PAIRS,
        ordered=True, systems=tuple("ABCDEF"), left=left, right=right,
        covariates={"length": length},
    )  # fmt: skip


NAMES = ["kappa.low>=0", "accuracy.low > 0.5", "ac1.low>=0", "alpha.low>=0", "kappa_linear.low>=0",
         "kappa_quadratic.low>=0", "abs(position.bias)<=0.9", "position.bias.high<=1",
         "gap.high<=5", "systems.gap.high<=5", "abs(effects.length)<=2", "effects.length.high<=1",
         "effects.exaggeration.high <= 3", "alt_test.advantage.low>=0", "rho.low>=-1",
         "scores.rho.low>=-1", "offset.high<=1", "abs(scores.offset)<=1",
         "ceiling.difference.low>=-1", "position.beyond_people.high<=1",
         "ceiling.judge.low>=0"]  # fmt: skip


@pytest.mark.parametrize("text", NAMES)
def test_names_of_the_json_are_found_and_hold(pairs, text):
    found = judge(pairs, require=[text])
    (own,) = found.requirements
    assert own.result == HOLDS, own
    assert found.exit_code == 0
    assert found.to_dict()["requirements"][0]["requirement"] == text


def test_exit_codes(pairs):
    kappa = judge(pairs).cards[0].kappa
    cases = [(kappa.low - 0.01, 0), (kappa.value, 4), (kappa.high + 0.01, 3)]
    for limit, code in cases:
        found = judge(pairs, require=["accuracy.low>=0", f"kappa.low>={limit}"])
        assert found.exit_code == code
    both = [f"kappa.low>={kappa.value}", f"kappa.low>={kappa.high + 0.01}"]
    assert judge(pairs, require=both).exit_code == 3  # a failure is more than an open question
    assert judge(pairs, require=["abs(position.bias)<=0.05"]).exit_code == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kappa>=0.4", "kappa.low>=0.4"),
        ("gap<=0.05", "gap.high<=0.05"),
        ("systems.gap <= 0.05", "systems.gap.high<=0.05"),
        ("kappa.high>=0.4", "asks for the end that proves nothing: kappa.low"),
        ("gap.low<=0.4", "asks for the end that proves nothing: gap.high"),
        ("abs(position.bias)>=0.4", "bounded from above"),
        ("kappa.low=0.4", "expected NAME.low>=X"),
        ("kappa.low>=", "expected NAME.low>=X"),
        ("", "expected NAME.low>=X"),
        ("abs(kappa<=1", "expected NAME.low>=X"),
        ("kappa.low>=1.2.3", "expected NAME.low>=X"),
    ],
)
def test_what_is_refused_before_anything_is_read(text, said):
    with pytest.raises(UsageError) as caught:
        judge("nowhere.csv", human=["x"], require=[text])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def _card(low: float, high: float) -> dict[str, Any]:
    return {"judge": "x", "kappa": {"value": (low + high) / 2, "ci": [low, high]}}


NUMBERS = st.floats(-1, 1).map(lambda x: round(x, 3))


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from([">=", ">", "<=", "<"]))
def test_as_said(one, other, limit, sign):
    """It holds for all of the interval, fails for all of it, or is undecided."""
    low, high = min(one, other), max(one, other)
    meets: Callable[[float], bool] = {
        ">=": lambda x: x >= limit, ">": lambda x: x > limit,
        "<=": lambda x: x <= limit, "<": lambda x: x < limit,
    }[sign]  # fmt: skip
    end = "low" if sign[0] == ">" else "high"
    found = check(parse(f"kappa.{end}{sign}{limit}"), _card(low, high)).result
    ends = {meets(low), meets(high)}
    expected = {frozenset({True}): HOLDS, frozenset({False}): FAILS}.get(frozenset(ends), UNDECIDED)
    assert found == expected
