"""What captions say of figures, against numbers counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.report.page import make_report
from steelyard.report.parts.captions import captions


def made(n_systems: int = 3, n: int = 50) -> EvalSet:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(n_systems, n)) + np.arange(n_systems)[:, None] * 2
    scores = {"h": ScoreTable(human, kind="human")}
    for k, name in enumerate(("m1", "m2", "m3")):
        scores[name] = ScoreTable(human + (k + 1) * rng.normal(size=human.shape))
    systems = tuple("ABCDEFGH"[:n_systems])
    return EvalSet(systems, Segments(tuple(f"{k:02}" for k in range(n))), scores)


def test_captions_of_systems():
    es = made()
    found = captions(sy.compare(es, "h", n_bootstrap=50), None)
    assert (
        found["chart-forest"] == "The interval of C, the best by mean, lies apart from all others"
    )
    assert found["chart-ranks"] == "C takes the first place in 100% of the resampled test sets"
    values = es["h"].values
    shares = [np.mean([(values[i] > values[j]).mean() for j in range(3) if j != i])
              for i in range(3)]  # fmt: skip
    assert found["chart-wins"] == (
        f"With ties as half, C wins {100 * shares[2]:.0f}% of its comparisons, A "
        f"{100 * shares[0]:.0f}%"
    )


def test_overlap_is_told():
    es = made().select(scores=["h"])
    close = es.with_scores("h", ScoreTable(np.random.default_rng(1).normal(size=(3, 50))))
    found = captions(sy.compare(close, "h", n_bootstrap=50), None)
    assert "overlaps with those of" in found["chart-forest"]
    assert found["chart-ranks"].count("%") == 3


def test_captions_of_metrics():
    meta = sy.meta_evaluate(made(6), "h", by=["spa", "pa", "acc-eq"], n_bootstrap=50)
    found = captions(None, meta)
    pa = meta.values("pa")
    best = max(meta.values("spa"), key=meta.values("spa").__getitem__)
    assert found["chart-scatter"] == (
        f"{best} orders {100 * pa[best]:.0f}% of the pairs of systems as h does"
    )
    spa, acc = meta.values("spa"), meta.values("acc-eq")
    pairs = [("m1", "m2"), ("m1", "m3"), ("m2", "m3")]
    alike = [(1 + np.sign(spa[a] - spa[b]) * np.sign(acc[a] - acc[b])) / 2 for a, b in pairs]
    share = f"{100 * np.mean(alike):.0f}%"
    assert found["chart-metametrics"] == f"spa and acc-eq order {share} of 3 pairs of metrics alike"
    assert "does best, at" in found["chart-calibration"]


def test_nothing_is_said_of_what_is_not_there():
    one = made().select(systems=["A"])
    assert captions(sy.compare(one, "h", n_bootstrap=20), None) == {}
    assert captions(None, None) == {}
    plain = captions(sy.compare(made(), "h", intervals=None), None)
    assert set(plain) == {"chart-wins"}


def test_every_figure_of_a_page_has_a_caption():
    pytest.importorskip("altair")
    html = make_report(made(6), "h", n_bootstrap=20, n_resamples=10).html
    figures = html.split("<figure")[1:]
    assert len(figures) > 5
    for figure in figures:
        caption = figure.split("<figcaption>")[1].split("</figcaption>")[0]
        assert len(caption) > 20
