"""MQM files of Google: columns of every year, marks in target and source, tests of raters."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path

import pytest

import steelyard as sy
from steelyard import human_scores
from steelyard.formats.reading import Read, read_all

NEW = ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category",
       "severity"]  # fmt: skip


def tsv(tmp_path: Path, *rows: list[str], header: list[str] = NEW) -> Path:
    path = tmp_path / "x.tsv"
    lines = [header, *rows]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    return path


def row(
    category: str, severity: str, target: str = "b", source: str = "a", **own: str
) -> list[str]:
    cells = {"system": "A", "doc": "d", "docSegId": "1", "globalSegId": "7", "rater": "r"} | own
    return [*cells.values(), source, target, category, severity]


def read(path: Path) -> Read:
    (found,) = read_all([path])
    return found


def test_three_ratings_of_each_output(shared):
    folder = shared / "mqm-sxs23"
    found = read(folder / "ende.tsv.gz")
    ratings = found.value
    assert Counter(ratings.item) == {"system": 3120, "attention": 245}
    tests = ratings.value[ratings.is_item("attention")]
    assert (tests == 1).sum() == 220
    assert (tests == 0).sum() == 25
    assert "named by globalSegId" in found.notes[0]
    result = human_scores(folder / "ende.tsv.gz", protocol="mqm", n_bootstrap=0)
    with (folder / "ende.expected.systems.csv").open() as stream:
        expected = {r["system"]: float(r["mqm"]) for r in csv.DictReader(stream)}
    assert {s.system: s.score for s in result.systems} == pytest.approx(expected, abs=1e-12)
    with gzip.open(folder / "ende.expected.segments.csv.gz", "rt") as stream:
        segments = {
            (r["system"], r["globalSegId"]): float(r["mqm"]) for r in csv.DictReader(stream)
        }
    own = result.averages
    assert own is not None
    mine = {
        (own.systems[s], own.segments[g]): value
        for s, g, value in zip(own.system, own.segment, own.values["mqm"], strict=True)
    }
    assert len(mine) == 1040
    assert set(own.n) == {3}
    assert mine == pytest.approx(segments, abs=1e-12)


def test_the_file_as_published(shared):
    """The header has a comment behind the columns, which the rows do not have."""
    ratings = read(shared / "mqm-sxs23" / "raw-head.tsv").value
    assert len(ratings.take(ratings.is_item("system"))) == 19
    assert set(ratings.document) == {"news_aj-english.33941:en-de"}


def test_an_error_without_a_severity_is_one(tmp_path, refusal):
    path = tsv(tmp_path, row("Style", "", "<v>b</v>"), row("Style", "Minor"))
    (errors,) = read(path).value.errors
    assert [(e.category, e.severity, e.start) for e in errors] == [
        ("Style", "", 0),
        ("Style", "Minor", None),
    ]
    said = refusal(human_scores, path, protocol="mqm")
    assert said.startswith(f"{path}:2: severity 'none' (1 error) has no weight")
    weights = tmp_path / "own.toml"
    weights.write_text("[severity]\nminor = 1\nnone = 2\n")
    found = human_scores(path, protocol=sy.mqm(weights=weights), n_bootstrap=0)
    assert found.systems[0].score == -3


def test_attention_tests_are_no_scores(tmp_path):
    path = tsv(
        tmp_path,
        row("Style", "Major"),
        row("Found", "HOTW-test"),
        row("Missed", "HOTW-test"),
        row("Missed", "HOTW-test", system="B"),
        row("Style", "Minor", system="B", rater="s"),
    )
    result = human_scores(path, protocol="mqm", n_bootstrap=0)
    assert {s.system: (s.score, s.n_ratings) for s in result.systems} == {
        "A": (-5, 1), "B": (-1, 1)}  # fmt: skip
    raters = {r["rater"]: r for r in result.to_dict()["raters"]}
    assert (raters["r"]["attention"], raters["s"]["attention"]) == ("1/3", None)
    assert (raters["r"]["n_ratings"], raters["r"]["mean"], raters["r"]["high"]) == (1, -5, -5)
    assert not any("further ratings" in warning for warning in result.warnings)
