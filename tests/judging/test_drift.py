"""One version of a judge and the next."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.stats.judged import realdata

from steelyard.judging.drift import judge_drift

TURNED = {"left": "right", "right": "left", "tie": "tie", "": ""}


def frame(verdicts) -> pl.DataFrame:
    n = len(verdicts)
    return pl.DataFrame({"item": range(n), "people": [0, 1] * (n // 2), "gpt": verdicts})


def test_mcnemar_by_hand():
    # People say 0 1 0 1 ...; 3 rows become right, 1 wrong, the rest stay as they are.
    old = [1, 0, 1, 1] + [0, 1] * 8
    new = [0, 1, 0, 0] + [0, 1] * 8
    found = judge_drift(frame(old), frame(new), human=["people"]).judges[0]
    assert (found.labels.gained, found.labels.lost, found.n, found.n_labelled) == (3, 1, 20, 20)
    assert found.labels.p == pytest.approx(stats.binomtest(3, 4).pvalue)
    assert found.labels.difference.value == pytest.approx(0.1)
    assert found.labels.changed.value == pytest.approx(0.2)
    assert found.old_accuracy.value == pytest.approx(17 / 20)
    assert found.new_accuracy.value == pytest.approx(19 / 20)


def test_sides_may_be_turned_and_labels_stand_elsewhere(shared):
    log = realdata.pandalm(shared)
    columns = {name: [row[name] for row in log.rows] for name in log.rows[0]}
    base = {name: columns[name] for name in ("item", "left", "right")}
    old = pl.DataFrame(base | {"j": columns["pandalm-7b"]})
    new = pl.DataFrame(
        base | {"left": base["right"], "right": base["left"],
                "j": [TURNED[x] for x in columns["gpt-3.5-turbo"]]}
    )  # fmt: skip
    labels = pl.DataFrame(base | {"people": columns["annotator1"]})
    found = judge_drift(old, new, labels, human=["people"], unit="row").judges[0]
    human, was, now = (np.array(columns[name]) for name in ("annotator1", "pandalm-7b",
                                                            "gpt-3.5-turbo"))  # fmt: skip
    both = now != ""
    assert found.labels.gained == ((now == human) & (was != human) & both).sum()
    assert found.labels.lost == ((now != human) & (was == human) & both).sum()
    assert found.labels.changed.value == pytest.approx((was != now)[both].mean())


def test_rows_of_one_file_are_left_out_and_said():
    old = frame([0, 1] * 10)
    new = frame([0, 1] * 8)
    found = judge_drift(old, new, human=["people"])
    assert found.judges[0].n == 16
    assert "4 rows of one file alone are left out" in found.warnings


def test_scores_move():
    rng = np.random.default_rng(0)
    old = frame([0, 1] * 30).with_columns(people=rng.normal(size=60), gpt=rng.normal(size=60))
    new = old.with_columns(gpt=pl.col("gpt") + 0.5)
    found = judge_drift(old, new, human=["people"])
    assert found.judges[0].labels is None
    assert found.judges[0].shift.value == pytest.approx(0.5)
