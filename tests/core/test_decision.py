"""The verdict on a pair of systems reads the same in every command."""

from __future__ import annotations

import math
from dataclasses import replace

from steelyard.core.decision import Decision, shown_interval, shown_p

PAIR = Decision("A", "B", 0.7113, 0.0748, 1.4151, 0.0308, 0.13, 66, n_units=52)


def test_a_lead_that_correction_takes_back_gives_both_p_values() -> None:
    """Neither p-value hides the other."""
    assert PAIR.words() == (
        "A leads B by 0.71 (95% CI 0.07 to 1.42; p = 0.031 alone, 0.13 after Holm for 66 pairs)."
    )
    assert PAIR.significant_alone
    assert not PAIR.significant


def test_words_follow_the_evidence() -> None:
    """Significant, open, and too few units."""
    assert replace(PAIR, p_adjusted=0.04).words().startswith("A is better than B by 0.71 (")
    assert replace(PAIR, p=0.2).words().startswith("Too close to call: A leads B by 0.71 (")
    few = replace(PAIR, p=0.01, p_adjusted=0.01, n_units=5)
    assert not few.significant
    assert not few.significant_alone
    assert few.words().startswith("Too few segments to decide (5): A leads B")


def test_one_pair_has_one_p_value_and_an_unknown_interval_is_left_out() -> None:
    """What is not known is not printed."""
    alone = replace(PAIR, n_pairs=1, p_adjusted=0.0308)
    assert alone.evidence() == "95% CI 0.07 to 1.42; p = 0.031"
    blank = replace(alone, low=math.nan, high=math.nan)
    assert blank.evidence() == "p = 0.031"
    assert replace(blank, difference=math.nan).lead() == "A leads B (p = 0.031)"


def test_digits_follow_the_uncertainty() -> None:
    """Two digits of the standard error decide."""
    assert shown_interval(0.0096, -0.0049, 0.0246) == ("0.0096", "95% CI -0.0049 to 0.0246")
    assert shown_interval(51.23456, 50.1, 52.4)[0] == "51.23"
    assert [shown_p(p) for p in (1e-9, 0.00523, 0.05, 0.2, 1.0)] == [
        "p < 0.0001", "p = 0.0052", "p = 0.050", "p = 0.20", "p = 1",
    ]  # fmt: skip
