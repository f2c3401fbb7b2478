"""How many labels are needed, and which rows to label next."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.core.errors import UsageError
from steelyard.stats.prediction_powered.labels import labels_for_half_width


def frame(n: int = 1000, labels: int = 100, seed: int = 0) -> pl.DataFrame:
    """Passes and fails of a judge that is right in five of six."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.6).astype(int)
    said = np.where(rng.random(n) < 5 / 6, truth, 1 - truth)
    own = [int(x) if i < labels else None for i, x in enumerate(truth)]
    return pl.DataFrame({"item": range(n), "people": own, "gpt": said, "truth": truth})


def plan(data, **settings):
    return sy.plan_labels(data, **({"human": ["people"], "judge": "gpt"} | settings))


def test_labels_for_a_half_width_are_those_of_the_formula():
    data = frame()
    found = plan(data, half_width=0.04)
    y, f = (data[name].to_numpy()[:100].astype(float) for name in ("people", "gpt"))
    rho = np.corrcoef(y, f)[0, 1]
    assert found.rho == pytest.approx(rho)
    (need,) = found.needs
    assert need.labels == labels_for_half_width(y.std(ddof=1), rho, 0.04, 1000)
    assert need.people_alone == labels_for_half_width(y.std(ddof=1), 0.0, 0.04, 1000)
    assert need.more == need.labels - 100


def test_rows_to_label_have_their_probabilities():
    found = plan(frame(), budget=50)
    rows = found.rows.to_frame("polars")
    assert rows.columns == ["item", "gpt", "probability", "to_label", "people"]
    assert rows.height == 1000
    counts = dict(rows["to_label"].value_counts().iter_rows())
    assert counts == {"next": 50, "done": 100, "later": 850}
    assert set(rows.filter(pl.col("to_label") == "done")["probability"]) == {1.0}
    open_rows = rows.filter(pl.col("to_label") != "done")
    assert open_rows["probability"].sum() == pytest.approx(50)
    assert (open_rows["probability"] > 0).all()
    assert found.to_dict()["n_next"] == len(found.to_dict()["next"]) == 50
    again = plan(frame(), budget=50)
    assert again.rows == found.rows
    other = sy.plan_labels(frame(), human=["people"], judge="gpt", budget=50, rng=1)
    assert other.rows != found.rows
    with pytest.raises(UsageError, match="900 rows are judged and have no label"):
        plan(frame(), budget=901)


def test_a_plan_can_be_corrected_by():
    """What plan writes is what correct reads: the truth of all rows lies inside."""
    inside = []
    for seed in range(60):
        data = frame(600, 60, seed)
        planned = sy.plan_labels(data.drop("truth"), human=["people"], judge="gpt", budget=60,
                                 rng=seed).rows  # fmt: skip
        rows = planned.to_frame("polars")
        truth = dict(data.select("item", "truth").iter_rows())
        filled = [
            truth[int(item)] if state == "next" else label
            for item, state, label in rows.select("item", "to_label", "people").iter_rows()
        ]
        rows = rows.with_columns(pl.Series("people", filled, dtype=pl.Utf8, strict=False))
        found = sy.correct(rows, human=["people"], judge="gpt", labels="probability:probability")
        own = found.overall.estimate
        assert found.n_labelled == 120
        inside.append(own.low <= data["truth"].to_numpy().mean() <= own.high)
    assert np.mean(inside) >= 0.9
