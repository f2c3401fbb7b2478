"""Raters and entity mistakes in the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments
from steelyard.report import sections
from steelyard.report.explorer import Mistake
from steelyard.report.page import make_report
from steelyard.report.parts import entitymistakes, severity


@pytest.fixture(autouse=True)
def no_charts(monkeypatch) -> None:
    """As if the plotting libraries were not installed, which saves their time."""
    monkeypatch.setattr(sections, "without_figures", lambda: ["the page has no figures"])


def part(html: str, name: str) -> str:
    found = re.search(f'<section id="{name}".*?</section>', html, re.DOTALL)
    return "" if found is None else found[0]


def made(n: int = 40) -> EvalSet:
    values = np.random.default_rng(0).normal(size=(2, n)) + np.array([[0.0], [1.0]])
    segments = Segments(tuple(f"s{k:02}" for k in range(n)))
    return EvalSet(("A", "B"), segments, {"h": ScoreTable(values, kind="human")})


def judged(
    es: EvalSet, *, shared: bool = True, raters_: tuple[str, ...] = ("x", "y", "z")
) -> Ratings:
    """Rater z is two points below the others; each output is judged by all, or by one."""
    rng = np.random.default_rng(1)
    rows = []
    for i, system in enumerate(es.systems):
        for k, segment in enumerate(es.segments.ids):
            for r, rater in enumerate(raters_):
                if shared or k % len(raters_) == r:
                    value = es["h"].values[i, k] + 0.3 * rng.normal() - 2 * (rater == "z")
                    rows.append((rater, system, segment, value))
    who, what, where, values = zip(*rows, strict=True)
    return Ratings.from_labels(rater=who, system=what, segment=where, value=np.array(values))


def test_who_is_severe():
    es = made()
    found = severity.severity(judged(es))
    assert found.bias[2] == pytest.approx(-2, abs=0.2)
    assert found.p[2] < 0.001
    assert found.low[2] < -2 + 0.2 < found.high[2] + 0.4
    html = part(make_report(es, ratings=judged(es), n_bootstrap=20).html, "raters")
    assert "ratings 1: 3 raters gave 240 judgements; 80 outputs were judged by two or more." in html
    assert "z is the most severe: " in html
    assert "Krippendorff" in html
    first = re.search(r'<th scope="row" dir="auto">(.)</th>', html)
    assert first is not None
    assert first[1] == "z"


def test_bias_and_interval_are_those_of_a_loop():
    es = made(12)
    ratings = judged(es)
    found = severity.severity(ratings)
    columns = (ratings.rater, ratings.system, ratings.segment, ratings.value)
    table = {(ratings.raters[r], ratings.systems[s], ratings.segments[g]): value
             for r, s, g, value in zip(*columns, strict=True)}  # fmt: skip
    gaps = [table["x", s, g] - (table["y", s, g] + table["z", s, g]) / 2
            for s in es.systems for g in es.segments.ids]  # fmt: skip
    assert found.bias[0] == pytest.approx(np.mean(gaps))
    assert (found.low[0] + found.high[0]) / 2 == pytest.approx(np.mean(gaps))


def test_chance_is_not_called_severity():
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        who, where = zip(*[(r, f"s{k}") for k in range(30) for r in "xyz"], strict=True)
        ratings = Ratings.from_labels(rater=who, system=["A"] * 90, segment=where,
                                      value=rng.normal(size=90))  # fmt: skip
        alarms += bool((severity.severity(ratings).p < 0.05).any())
    assert alarms <= 12  # 5 are expected; more than 12 once in a thousand


def test_raters_who_share_nothing_and_one_alone():
    es = made()
    html = part(make_report(es, ratings=judged(es, shared=False), n_bootstrap=20).html, "raters")
    assert "No output was judged by two of them" in html
    assert "most severe" not in html
    one = judged(es, raters_=("x",))
    html = part(make_report(es, ratings={"mine": one}, n_bootstrap=20).html, "raters")
    assert "mine: 1 rater gave 80 judgements: one judges all" in html


def test_flat_and_odd_raters_are_named():
    ratings = judged(made(), raters_=("w", "x", "y", "z"))
    value = ratings.value.copy()
    value[ratings.rater == 1] = 9.0
    odd = np.flatnonzero(ratings.rater == 2)
    value[odd] = np.random.default_rng(3).permutation(value[odd])
    flat = Ratings(**{**{name: getattr(ratings, name) for name in ("raters", "systems", "segments",
                   "rater", "system", "segment")}, "value": value})  # fmt: skip
    told = " ".join(severity.sentences("r", flat, severity.severity(flat), 0.05))
    assert "x gives one and the same score to everything." in told
    assert "y hardly goes with the others" in told


def test_ratings_come_as_paths_objects_or_lists():
    es = made()
    one = judged(es)
    assert set(severity.add_ratings(es, [one, one]).ratings) == {"ratings 1", "ratings 2"}
    assert severity.add_ratings(es, None) is es
    with pytest.raises(UsageError, match="ratings"):
        severity.add_ratings(es, [3])  # type: ignore[list-item]


HOSTILE = "</script><img src=x onerror=1>"


def marked() -> list[Mistake]:
    some = [Mistake("A", f"s{k:02}", "wrong name", 0, 2, "Xy") for k in range(3)]
    more = [Mistake("B", f"s{k:02}", HOSTILE, 0, 2, HOSTILE) for k in range(30)]
    return [*some, *more, Mistake("B", "s01", "wrong number", confidence=0.9, text="12")]


def test_entity_mistakes_are_counted_and_linked():
    html = part(make_report(made(), mistakes=marked(), n_bootstrap=20).html, "entities")
    assert "34 mistakes are marked, in 33 of 80 outputs of 2 systems" in html
    assert "Outputs with a mistake: from 7.5% (A) to 75.0% (B); 1 of 1 pair of systems" in html
    links = re.findall(r'<a href="([^"]*)">([^<]*)</a>', html)
    assert links[0] == ("#segments?a=B&amp;segment=s01", "s01")  # the surest comes first
    assert len(links) == 30
    assert "4 more mistakes are marked in the segments" in html
    assert "<img" not in html


def test_who_was_not_looked_at_is_told():
    html = part(make_report(made(), mistakes=marked()[:3], n_bootstrap=20).html, "entities")
    assert "1 other system has none, or was not looked at" in html
    assert not part(make_report(made(), n_bootstrap=20).html, "entities")


def test_links_hold_any_name():
    link = entitymistakes.segment_link('a"b<c>&d', "x\u202ey z#")
    assert not set('"<> ') & set(link)
    assert link.count("#") == 1


def test_noise_is_not_called_a_difference():
    es = made()
    rng = np.random.default_rng(5)
    marks = [Mistake(system, segment, "k") for system in es.systems for segment in es.segments.ids
             if rng.random() < 0.3]  # fmt: skip
    hit = entitymistakes.outputs_hit(es, marks, es.systems)
    assert hit.sum() == len(marks)
    assert "for none of 1 pair of systems the difference is more than noise" in " ".join(
        entitymistakes.sentences(es, marks, es.systems, hit)
    )
