"""Rows of a reproduction: what counts as equal, what as chance, and that both say why."""

from __future__ import annotations

import gzip
import json
from functools import partial

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.main import run
from steelyard.formats.load import load
from steelyard.reproduction import peyrard2021, thompson2024
from steelyard.reproduction.paired_frames import Frames
from steelyard.reproduction.peyrard2021 import table3_rows
from steelyard.reproduction.reproduction import (
    ERRORS,
    VERDICTS,
    Ours,
    Reproduction,
    Row,
    compare,
    printed,
)
from steelyard.studies.disagreement import Setup
from steelyard.studies.options import Design
from steelyard.studies.simulation import simulate


@given(
    st.floats(0, 1), st.floats(0, 1), st.integers(0, 3), st.none() | st.floats(0, 0.3)
)  # fmt: skip
def test_verdicts_follow_the_rule(published, ours, decimals, error):
    row = Row.judge("x", published, Ours(ours, error=error), printed(decimals), "why")
    gap, half = abs(published - ours), 0.5 * 10**-decimals
    assert row.error == error
    assert row.tolerance == pytest.approx(half + 2 * (error or 0))
    if min(abs(gap - half), abs(gap - row.tolerance)) < 1e-8:
        return  # at the edge
    expected = 0 if gap < half else 1 if gap < half + ERRORS * (error or 0) else 3
    assert row.verdict == VERDICTS[expected]
    assert row.match is (expected < 2)
    assert (row.note == "why") is (expected == 3)
    other = Row.judge("x", published, Ours(ours, "of 2020", other_data=True), 0.1)
    assert (other.verdict, other.ours, other.match) == ("not at hand", ours, None)
    assert other.note == "of 2020"
    blamed = row.blame_paper("a misprint")
    assert (blamed.verdict == "paper at fault") is (expected == 3)
    assert blamed.match is row.match
    assert row.tolerance is not None
    corrected = row.blame_paper("a misprint", ours + 2 * row.tolerance + 0.1)
    assert corrected == row  # ours is not the corrected figure either


def test_cells_that_are_judged_together():
    """Of 225 cells that differ by chance alone, none is beyond in 95% of tables, by simulation."""
    cells = [Row.judge("Table 3, x", 0.0, Ours(ours, None, None, False, 1.0, 225)) for ours in
             (3.6, 3.8)]  # fmt: skip
    assert [row.verdict for row in cells] == ["within sampling error", "differs"]
    band = cells[0].tolerance
    assert band == pytest.approx(scipy.stats.norm.isf(0.025 / 225))
    drawn = np.abs(np.random.default_rng(0).normal(size=(4000, 225))).max(axis=1)
    assert (drawn > band).mean() == pytest.approx(0.05, abs=0.012)


def test_words_and_missing_figures():
    assert Row.judge("Figure 1, x", "A", "B", 0.0, "why").to_dict() == {
        "what": "Figure 1, x", "published": "A", "ours": "B", "match": False, "note": "why",
        "verdict": "differs", "tolerance": None, "error": None,
    }  # fmt: skip
    assert Row.judge("Figure 1, x", "A", "A").match is True
    for ours, note in (("no data", "no data"), (float("nan"), "undefined on the data at hand")):
        row = Row.judge("Table 1, x", 1, ours)
        assert (row.match, row.ours, row.note) == (None, None, note)


def test_every_cell_of_a_table_is_compared():
    printed_rows = {"a": [0.1, float("nan")], "b": [0.2, 0.3], "c": 7}
    table = {"what": "{title}, {row} {column}", "columns": ["x", "y"], "tolerance": 0.05,
             "note": "why", "rows": printed_rows}  # fmt: skip
    ours: dict[tuple[str, ...], Ours | float | str] = {
        ("a", "x"): 0.14,
        ("b", "x"): 0.3,
        ("b", "y"): "no data",
        ("c", "x"): Ours(8, "mine"),
    }
    rows = list(compare(table, lambda *cell: ours[cell], title="Table 1"))
    assert [(row.what, row.verdict, row.note) for row in rows] == [
        ("Table 1, a x", "equal", None), ("Table 1, b x", "differs", "why"),
        ("Table 1, b y", "not at hand", "no data"), ("Table 1, c x", "differs", "mine"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("holds", "interval", "verdict"),
    [
        (True, None, "equal"),
        (True, (0.1, 0.3), "equal"),
        (True, (-0.1, 0.3), "within sampling error"),
        (False, (-0.3, 0.1), "differs"),  # what points the other way is no match
        (False, None, "differs"),
    ],
)
def test_claims(holds, interval, verdict):
    row = Row.claim("Figure 2, x", holds=holds, reason="it falls", interval=interval)
    assert row.verdict == verdict
    assert (row.error is None) is (interval is None)


def test_a_cell_of_table_3_is_no_match_because_its_error_is_large():
    """0.63 against 0.43 with a standard error of .067 was a match within three of them."""
    published = {"columns": ["BLEU"], "rankings": ["median against bt"], "tolerance": 0.005,
                 "what": "Table 3, {set} {column}: {row}",
                 "sets": {"TC": {"pairs": [0.22], "best": [0.63], "top": [0.60]}}}  # fmt: skip
    mean, spread = np.full((3, 3), 0.43), np.full((3, 3), 0.35)
    found = {("TC", "BLEU"): (mean, spread)}
    setup = Setup("TC", "BLEU", ("M0", "M1"), np.zeros((2, 5)))
    frames = Frames({"TC": [setup]}, {}, [])
    rows = {r.what: r for r in table3_rows(published, found, 300, frames)}
    row = rows["Table 3, TC BLEU, median against bt: best"]
    assert row.error is not None
    assert row.error == pytest.approx(0.35 * np.sqrt(1 / 30 + 1 / 300))
    assert row.tolerance == pytest.approx(0.005 + row.error * scipy.stats.norm.isf(0.025 / 3))
    assert row.verdict == "differs"
    assert row.match is False


def test_the_summary_counts_by_each_word():
    rows = (
        Row("Table 1, a", 0.5, 0.5, "equal"),
        Row("Table 1, b", 0.5, 0.6, "within sampling error", error=0.06),
        Row("Table 1, c", 0.5, 0.9, "differs", "another test"),
        Row("Table 1, d", 14, 15, "paper at fault", "a misprint"),
        Row.absent("Table 2, e", 0.4, "no data"),
        Row("Table 2, f", 0.4, 0.7, "not at hand", "other data"),
    )
    found = Reproduction("p", "A paper", rows)
    counts = {"equal": 1, "within sampling error": 1, "paper at fault": 1, "differs": 1,
              "not at hand": 2}  # fmt: skip
    assert found.counts == counts
    assert found.to_dict()["counts"] == counts
    records = found.counted().records()
    assert [tuple(record.values()) for record in records] == [
        ("Table 1", 4, 1, 1, 1, 1, 0), ("Table 2", 2, 0, 0, 0, 0, 2), ("all", 6, 1, 1, 1, 1, 2),
    ]  # fmt: skip
    text = found.text()
    assert "differs: another test" in text
    assert "paper at fault: a misprint" in text
    assert "not at hand: no data" in text
    assert "Table 2, f  0.400      0.700" in text


@pytest.mark.parametrize(
    ("paper", "n_known", "n_warnings"), [("kobe", 4, 2), ("spa", 3, 6), ("ties", 5 * 9 + 4, 7)]
)
def test_without_data_everything_is_listed(paper, n_known, n_warnings, tmp_path, capsys):
    """What follows from the printed figures is compared. The paired paper has a test of its own."""
    assert run(["reproduce", paper, "--data", str(tmp_path), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    check_rows(found["rows"])
    assert sum(found["counts"].values()) == len(found["rows"])
    assert sum(row["match"] is not None for row in found["rows"]) == n_known
    assert len(found["warnings"]) == n_warnings
    assert all(w.endswith("figures that need it are not compared") for w in found["warnings"])
    for row in found["rows"]:
        if row["match"] is None:
            assert (row["ours"], bool(row["note"])) == (None, True)


def check_rows(rows):
    """What holds of the rows of any paper."""
    assert len({row["what"] for row in rows}) == len(rows)
    for row in rows:
        assert list(row) == ["what", "published", "ours", "match", "note", "verdict", "tolerance",
                             "error"]  # fmt: skip
        others = {"paper at fault": False, "differs": False, "not at hand": None}
        assert row["verdict"] in VERDICTS
        assert row["match"] is others.get(row["verdict"], True)
        assert row["match"] is True or row["note"]
        assert row["match"] is None or row["ours"] is not None
        if isinstance(row["published"], float) and row["ours"] is not None:
            assert row["tolerance"] is not None or row["match"] is None


METRICS = ("S3_pyr", "S3_resp", "ROUGE_WE_1", "ROUGE_WE_2", "JS_1", "JS_2", "ROUGE_L", "ROUGE_1",
           "ROUGE_2", "BLEU", "Chrfpp", "BERTScore", "MoverScore")  # fmt: skip


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Simulated tables in the place of the papers' data, and few draws."""
    rng = np.random.default_rng(0)

    def write(path, key, names, systems, segments, columns):
        lines = [",".join((key, "item", "system", *columns))]
        for name in names:
            scores = rng.normal(size=(len(systems), segments, len(columns))).round(1)
            scores += np.linspace(0, 1, len(systems))[:, None, None]
            lines += [f"{name},{i},{system}," + ",".join(map(str, scores[s, i]))
                      for s, system in enumerate(systems) for i in range(segments)]  # fmt: skip
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))

    names = [f"M{k}" for k in range(5)]
    folder = tmp_path / "bt-eval"
    write(folder / "tac.csv.gz", "year", ("08", "09", "11"), names, 10, ("pyramid", *METRICS))
    for file, sets in (("dialogue", ("tc", "pc")), ("cnndm", ("cnndm",)), ("mscoco", ("coco",)),
                       *((f"wmt{y}", ("de-en", "zh-en")) for y in (17, 18, 19))):  # fmt: skip
        write(folder / f"{file}.csv.gz", "dataset", sets, names, 10, METRICS)
    few = Design(types=(1,), systems=(3, 5), segments=(30,), repeats=4)
    monkeypatch.setattr(peyrard2021, "simulate", lambda rng: simulate(few, rng=rng))
    monkeypatch.setattr(peyrard2021, "DRAWS", 20)
    monkeypatch.setattr(peyrard2021, "TEST_DRAWS", 20)
    for test, lp, reference in thompson2024.SETS.values():
        wmt = ["A", "B", "C", "D", "HW-TSC", reference, "synthetic_ref"]
        names = [f"{name}-{reference}" for name in ("MetricX-23", "XCOMET-Ensemble", "BLEU")]
        for part, columns in (("human", ("mqm",)), ("metrics.seg", (*names, "QE-src"))):
            path = tmp_path / f"{test}-metrics" / f"{lp}.{part}.csv.gz"
            write(path, "lp", (lp,), wmt, 40, columns)
    for name, value in (("RESAMPLES", 60), ("TRIALS", 12), ("SEEDS", 3)):
        monkeypatch.setattr(thompson2024, name, value)
    # The column that tells the made-up sets apart is no score.
    monkeypatch.setattr(thompson2024, "load", partial(load, ignore=("lp",)))
    return tmp_path


@pytest.mark.parametrize("paper", ["paired", "spa"])
def test_whole_papers_on_made_up_data(made_up, paper, capsys):
    """All parts that the data of the papers would go through, and the same twice."""
    command = ["reproduce", paper, "--data", str(made_up), "--json", "--quiet"]
    assert run(command) == 0
    first = capsys.readouterr().out
    found = json.loads(first)
    assert found["warnings"] == []
    check_rows(found["rows"])
    drawn = [row for row in found["rows"] if row["error"] is not None]
    assert len(drawn) > 20
    for row in drawn:
        if row["tolerance"] is not None:
            assert row["tolerance"] >= 2 * row["error"]
            gap = abs(row["published"] - row["ours"])
            assert row["match"] == (gap <= row["tolerance"] + 1e-9)
    assert run(command) == 0
    assert capsys.readouterr().out == first
