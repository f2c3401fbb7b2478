"""A judge that gives no verdict on some rows, or none that can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.data.verdicts import MISSING, UNPARSED, Opinion, Verdicts

RANDOM, FAILURES = "at random", "on failures"


def missing(rng: np.random.Generator, good: np.ndarray, share: float, how: str) -> np.ndarray:
    """Tell which verdicts are missing: that share of all rows, or of failures (a few of others)."""
    if how == RANDOM:
        return rng.random(good.shape) < share
    return rng.random(good.shape) < np.where(good == 0, share, share / 20)


def drawn(
    rng: np.random.Generator, share: float, how: str, code: int = MISSING, n: int = 600,
    labels: int = 120,
) -> Verdicts:  # fmt: skip
    """Two systems that pass 60% and 45% of the same items, and a judge that is right in 85%."""
    item = rng.random(n)
    good = np.concatenate([item < 0.6, rng.random(n) < 0.9 * item]).astype(float)
    judge = np.where(rng.random(2 * n) < 0.85, good, 1 - good)
    gone = missing(rng, good, share, how)
    labelled = np.tile(rng.permutation(n) < labels, 2)
    codes = np.where(gone, code, judge).astype(np.int32)
    return Verdicts(
        kind="points", items=tuple(map(str, range(n))),
        item=np.tile(np.arange(n), 2).astype(np.int32),
        judges=(Opinion("gpt", np.where(gone, np.nan, judge), codes),),
        raters=(Opinion("people", np.where(labelled, good, np.nan),
                        np.where(labelled, good, MISSING).astype(np.int32)),),
        categories=("0", "1"), ordered=True, systems=("A", "B"),
        left=np.repeat([0, 1], n).astype(np.int32),
        units=tuple(map(str, range(n))), unit=np.tile(np.arange(n), 2).astype(np.int32),
    )  # fmt: skip


TRUTH = (0.6, 0.45, 0.15)


def covered(share: float, how: str, code: int, sets: int) -> np.ndarray:
    """Give the share of sets whose intervals hold the truth: of A, of B, and of A minus B."""
    rng = np.random.default_rng(int(100 * share) + len(how))
    hits = np.zeros(3)
    for _ in range(sets):
        data = drawn(rng, share, how, code)
        result = sy.correct(data, draws=100)
        shown: list[Any] = [*result.systems, *result.pairs]
        estimates = [one.corrected.estimate for one in shown]
        hits += [e.low <= truth <= e.high for e, truth in zip(estimates, TRUTH, strict=True)]
        human = data.raters[0].value
        for system, one in enumerate(result.systems):
            assert one.corrected.people.value == pytest.approx(
                np.nanmean(human[data.left == system])
            )
    return hits / sets


@pytest.mark.parametrize("how", [RANDOM, FAILURES])
@pytest.mark.parametrize("share", [0.4, 0.8])
def test_intervals_cover_whatever_verdicts_are_missing(share, how):
    assert (covered(share, how, UNPARSED, 60) > 0.85).all()


@pytest.mark.thorough
@pytest.mark.parametrize("code", [MISSING, UNPARSED])
@pytest.mark.parametrize("how", [RANDOM, FAILURES])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_coverage(share, how, code):
    found = covered(share, how, code, 800)
    assert ((found > 0.925) & (found < 0.975)).all()


def covered_strengths(share: float, how: str, sets: int) -> float:
    """Give how often the interval of a difference of strengths holds the true one."""
    rng = np.random.default_rng(3)
    strength, n, hits = np.array([0.5, 0.0, -0.5]), 900, 0
    for _ in range(sets):
        left = rng.integers(0, 3, n)
        right = (left + rng.integers(1, 3, n)) % 3
        won = (rng.random(n) < 1 / (1 + np.exp(strength[right] - strength[left]))).astype(float)
        judge = np.where(rng.random(n) < 0.8, won, 1 - won)
        # Failures: the judge says nothing where the first system loses.
        lost = np.where(left == 0, won, np.where(right == 0, 1 - won, 1.0))
        gone = missing(rng, lost, share, how)
        data = Verdicts(
            kind="pairs", items=tuple(map(str, range(n))), item=np.arange(n, dtype=np.int32),
            judges=(Opinion("gpt", np.where(gone, np.nan, judge)),),
            raters=(Opinion("people", np.where(rng.permutation(n) < 250, won, np.nan)),),
            systems=("A", "B", "C"), left=left.astype(np.int32), right=right.astype(np.int32),
        )  # fmt: skip
        pair = sy.correct(data, draws=100).pairs[0].corrected.estimate
        hits += pair.low <= 0.5 <= pair.high
    return hits / sets


def test_strengths_cover_where_the_judge_is_silent_on_defeats():
    assert covered_strengths(0.8, FAILURES, 60) > 0.85


@pytest.mark.thorough
@pytest.mark.parametrize("how", [RANDOM, FAILURES])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_coverage_of_strengths(share, how):
    found = covered_strengths(share, how, 800)
    assert 0.925 < found < 0.975


def test_a_warning_if_labels_differ_where_there_is_no_verdict():
    data = drawn(np.random.default_rng(1), 0.5, FAILURES)
    assert any("not missing at random" in text for text in sy.correct(data).warnings)
    data = drawn(np.random.default_rng(1), 0.5, RANDOM)
    assert not any("not missing at random" in text for text in sy.correct(data).warnings)


def abstaining(word: str, share: float = 0.46) -> pl.DataFrame:
    """A judge that is right wherever it answers."""
    truth = np.random.default_rng(6).choice(["pass", "fail"], 200)
    said = [word if i % 100 < 100 * share else own for i, own in enumerate(truth)]
    return pl.DataFrame({"item": range(200), "people": truth, "gpt": said})


def naive_kappa(one: list[str], other: list[str]) -> float:
    agreed = np.mean([a == b for a, b in zip(one, other, strict=True)])
    chance = np.mean([a == b for a in one for b in other])
    return float((agreed - chance) / (1 - chance))


def test_a_judge_that_abstains_is_not_believed():
    frame = abstaining("unsure")
    report = sy.judge(frame, human=["people"], require=["kappa.low>=0.8", "abstained.high<=0.6"])
    card = report.cards[0]
    naive = naive_kappa(frame["people"].to_list(), frame["gpt"].to_list())
    assert card.kappa.value == pytest.approx(naive)
    assert (card.n, card.kappa.n) == (200, 200)
    assert report.to_dict()["judges"][0]["abstained"] == 0.46
    assert report.decisions[0].word == "not better than a trivial rule"
    assert [own.result for own in report.requirements] == ["fails", "holds"]
    passed = (frame["people"] == "pass").to_numpy().astype(float)
    said = np.where(frame["gpt"] == "unsure", np.nan, passed)
    said[np.isnan(said)] = np.nanmean(said)
    assert card.rho.value == pytest.approx(np.corrcoef(passed, said)[0, 1])
    assert card.worth < 250


def test_empty_cells_are_left_out_but_leave_the_gate_open():
    frame = abstaining("")
    report = sy.judge(frame, human=["people"], require=["kappa.low>=0.8"])
    card = report.cards[0]
    assert (card.n, card.kappa.value, card.abstained.value) == (108, 1.0, 0.46)
    assert report.exit_code == 4
    assert report.decisions[0].word == "usable with labels"
    assert card.worth < 250
    wrong = sy.judge(frame, human=["people"], require=["kappa.low>=0.8"], unparsed="wrong")
    assert (wrong.exit_code, wrong.cards[0].n) == (3, 200)
    dropped = sy.judge(frame, human=["people"], require=["kappa.low>=0.8"], unparsed="drop")
    assert (dropped.exit_code, dropped.cards[0].abstained.value) == (0, 0.46)


def test_agreement_is_with_both_raters_where_they_are_split():
    rng = np.random.default_rng(10)
    grade = rng.integers(1, 6, 400)
    said = [np.where(rng.random(400) < 0.84, grade, rng.integers(1, 6, 400)) for _ in range(3)]
    frame = pl.DataFrame({"item": range(400), **dict(zip(("h1", "h2", "gpt"), said, strict=True))})
    card = sy.judge(frame, human=["h1", "h2"]).cards[0]
    both = [float((frame[rater] == frame["gpt"]).to_numpy().mean()) for rater in ("h1", "h2")]
    assert card.n == 400
    assert card.accuracy.value == pytest.approx(np.mean(both))
    assert card.ceiling.judge.value == pytest.approx(card.accuracy.value)
    counts = [frame[rater].value_counts() for rater in ("h1", "h2")]
    total = pl.concat([own.rename({own.columns[0]: "grade"}) for own in counts])
    most = total.group_by("grade").sum()["count"].to_numpy().max()
    assert card.best_rule.accuracy == pytest.approx(most / 800)
