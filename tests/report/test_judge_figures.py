"""Figures and the section of judges: what they show, and that names stay inert in them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.conftest import HOSTILE, expressions, rows

from steelyard.data.verdicts import OF_PAIRS, Opinion, Verdicts
from steelyard.demo import embedded
from steelyard.judging.report import JudgeReport, judge, worst_disagreements
from steelyard.report.figures import judges
from steelyard.report.options import ReportOptions
from steelyard.report.page import make_report


@pytest.fixture(scope="module")
def found() -> JudgeReport:
    return judge(embedded.VERDICTS, human=embedded.RATERS)


def hostile() -> JudgeReport:
    """Pairs whose judges, raters and systems have names that would like to be markup."""
    rng = np.random.default_rng(0)
    n, k = 240, 6
    left = rng.integers(0, k, n).astype(np.int32)
    right = ((left + rng.integers(1, k, n)) % k).astype(np.int32)
    truth = np.where(rng.random(n) < 0.5 + 0.07 * (right - left), 1.0, 0.0)

    def said(name: str, share: float) -> Opinion:
        value = np.where(rng.random(n) < share, truth, 1 - truth)
        return Opinion(name, value, np.where(value > 0.5, 2, 0).astype(np.int32))

    names = sorted(HOSTILE[:k])
    return judge(
        Verdicts(
            kind="pairs",
            items=tuple(f"{i:03}<b>" for i in range(n)),
            item=np.arange(n, dtype=np.int32),
            judges=(said(HOSTILE[6], 0.8), said(HOSTILE[0] + " ", 0.6)),
            raters=(said(HOSTILE[4], 0.95), said(HOSTILE[5], 0.95)),
            categories=OF_PAIRS,
            ordered=True,
            systems=tuple(names),
            left=left,
            right=right,
            covariates={"length": rng.normal(size=n)},
        )
    )


def test_agreement_stands_beside_people_and_sentinels(found: JudgeReport) -> None:
    chart = judges.draw("agreement", found)
    shown = {row["name"]: row["value"] for row in rows(chart, "name", "low")}
    for card in found.cards:
        assert shown[card.name] == pytest.approx(card.accuracy.value, rel=1e-5)
    beside = {row["what"] for row in rows(chart, "what")}
    assert beside == {"people", "trivial rule"}


def test_the_gap_is_drawn_where_there_is_one(found: JudgeReport) -> None:
    bars = rows(judges.draw("gaps", found), "from", "to")
    gaps = [card.systems.gap for card in found.cards]
    assert None not in gaps
    wanted = [own.gap.value for own in gaps if own is not None and own.gap.known]
    assert [bar["to"] - bar["from"] for bar in bars] == pytest.approx(wanted, rel=1e-4)


def test_labels_buy_less_without_a_judge(found: JudgeReport) -> None:
    shown = rows(judges.draw("labels", found), "labels", "half")
    at = min(row["labels"] for row in shown)
    half = {row["judge"]: row["half"] for row in shown if row["labels"] == at}
    assert half["careful-judge"] < half["hasty-judge"] < half["people alone"]


def test_names_are_data() -> None:
    found = hostile()
    for name in judges.FIGURES:
        chart = judges.draw(name, found)
        for text in expressions(chart):
            assert not any(bad in text for bad in HOSTILE if bad.isascii() and len(bad) < 60)


def test_worst_rows_come_first(found: JudgeReport) -> None:
    verdicts = found.verdicts
    table = worst_disagreements(verdicts, verdicts.judge("hasty-judge"), 5)
    assert len(table.rows) == 5
    assert all({row[3], row[4]} == {"left", "right"} for row in table.rows)


def test_the_section_of_a_report(found: JudgeReport) -> None:
    import steelyard as sy

    es = sy.demo_set().select(systems=["Amber", "Basalt", "Cobalt"], scores=["mqm"])
    page = make_report(es, "mqm", judges=found, options=ReportOptions(n_bootstrap=50))
    assert 'id="judges"' in page.html
    assert "usable with labels" in page.html
    assert page.to_dict()["judges"]["judges"][0]["judge"] == "careful-judge"
    evil = make_report(es, "mqm", judges=hostile(), options=ReportOptions(n_bootstrap=50))
    assert "<script>alert(1)" not in evil.html
    assert "000<b>" not in evil.html
