"""Exports of Appraise and MQM files of Google: what counts, spans, tests of raters."""

from __future__ import annotations

import csv
import gzip
import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard import human_scores
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.data.judgements import Ratings
from steelyard.formats.reading import Read, read_all

WAVES = {"en-ja": ("wave2", "wave3"), "en-hi": ("wave2",), "en-cs": ("wave2",)}


def read(*paths: Path) -> Read:
    (found,) = read_all(paths)
    return found


def of_systems(ratings: Ratings) -> Ratings:
    return ratings.take(ratings.is_item("system"))


def by_output(ratings: Ratings) -> dict[tuple[str, str, str], int]:
    """Give the row of each system, segment and rater."""
    keys = zip(ratings.system, ratings.segment, ratings.rater, strict=True)
    return {
        (ratings.systems[s], ratings.segments[g], ratings.raters[r]): row
        for row, (s, g, r) in enumerate(keys)
    }


def export(tmp_path: Path, *rows: str, name: str = "x.csv") -> Path:
    path = tmp_path / name
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path


def row(
    item: object,
    score: object = 50,
    *,
    login: str = "r",
    system: str = "A",
    kind: str = "TGT",
    doc: str = "d",
    spans: str = "[]",
    end: float = 1700000001,
) -> str:
    quoted = '"' + spans.replace('"', '""') + '"'
    return f"{login},{system},{item},{kind},eng,ces,{score},{doc},False,{quoted},1700000000,{end}"


# Real campaigns.


@pytest.mark.parametrize(
    ("lp", "n_rows", "n_used", "n_segments", "n_systems"),
    [
        ("en-ja", 10674, 8242, 634, 13),
        ("en-hi", 4239, 3267, 297, 11),
        ("en-cs", 6120, 4752, 297, 16),
    ],
)
def test_wmt24_esa(shared, lp, n_rows, n_used, n_segments, n_systems):
    folder = shared / "wmt24-esa"
    start = time.perf_counter()
    found = read(*(folder / f"{lp}.appraise.{wave}.csv.gz" for wave in WAVES[lp]))
    assert time.perf_counter() - start < 5  # a tenth of it on an idle machine
    assert f"of {n_rows:,} rows left out" in found.notes[0]
    used = of_systems(found.value)
    sizes = (len(used), len(used.segments), len(used.systems))
    assert sizes == (n_used, n_segments, n_systems)
    with gzip.open(folder / f"{lp}.expected.segments.csv.gz", "rt") as stream:
        expected = {(r["system"], r["segment"]): r for r in csv.DictReader(stream)}
    with gzip.open(folder / f"{lp}.text.jsonl.gz", "rt") as stream:
        texts = {str(own["seg"]): own["out"] for own in map(json.loads, stream)}
    rows = by_output(used)
    assert len(rows) == len(expected)
    for (system, segment, _), place in rows.items():
        own = expected[system, segment]
        assert used.value[place] == float(own["esa"])
        assert used.document is not None
        assert used.document[place] == own["doc"]
    n_spans = 0
    with gzip.open(folder / f"{lp}.esa.jsonl.gz", "rt") as stream:
        for value in map(json.loads, stream):
            place = rows[value["system"], value["seg"], value["rater"]]
            size = len(texts[value["seg"]][value["system"]])
            assert used.errors is not None
            mine = [  # a few marks go one character beyond the text
                (e.start, e.end and min(e.end, size), e.severity, e.category or "unspecified")
                for e in used.errors[place] or ()
            ]
            theirs = [
                (e.get("start"), e.get("end"), e["severity"], e["category"])
                for e in value["errors"]
            ]
            assert mine == theirs
            n_spans += len(mine)
    assert n_spans > 2000


@pytest.mark.parametrize("name", ["ESA-1", "MQM-1"])
def test_places_in_batches_of_the_esa_study(shared, name):
    folder = shared / "wmt23-spans"
    found = read(folder / f"raw.{name}.appraise.csv.gz")
    used = of_systems(found.value)
    # The campaign had 207 segments; 156 of them were judged in all of the campaigns compared.
    assert (len(used), len(used.segments), len(used.systems)) == (2691, 207, 13)
    assert any("the place in a batch" in note for note in found.notes)
    with gzip.open(folder / "en-de.text.jsonl.gz", "rt") as stream:
        texts = {str(own["seg"]): own for own in map(json.loads, stream)}
    theirs: dict[Any, list[Any]] = defaultdict(list)
    with gzip.open(folder / f"en-de.{name}.jsonl.gz", "rt") as stream:
        for value in sorted(map(json.loads, stream), key=lambda own: int(own["seg"])):
            text = texts[str(value["seg"])]
            spans = sorted((e["start"], e["end"], e["severity"]) for e in value["errors"])
            judged = (value["rater"], value.get("value", 0.0), spans)
            theirs[value["system"], text["doc"]].append(judged)
    mine: dict[Any, list[Any]] = defaultdict(list)
    assert used.errors is not None
    for (system, segment, rater), place in by_output(used).items():
        doc, _, number = segment.rpartition(":")
        spans = sorted(
            (e.start, e.end, e.severity)
            for e in used.errors[place] or ()
            if e.start is not None and e.severity != "undecided"
        )
        value = 0.0 if np.isnan(used.value[place]) else used.value[place]
        mine[system.removeprefix("wmt23."), doc].append((int(number), rater, value, spans))
    n_whole = n_spans = 0
    for key, listed in theirs.items():
        own = [tuple(rest) for _, *rest in sorted(mine[key])]
        if len(own) == len(listed):  # the whole document is there: segment by segment
            assert own == listed
            n_whole += 1
        for each in listed:
            own.remove(each)  # the rest of a document in any order
            n_spans += len(each[2])
    assert n_whole == 637
    assert n_spans == {"ESA-1": 657, "MQM-1": 912}[name]


def test_the_command_ranks_two_waves(shared, capsys):
    files = [str(shared / "wmt24-esa" / f"en-ja.appraise.{wave}.csv.gz") for wave in WAVES["en-ja"]]
    assert run(["human", *files, "--protocol", "esa", "--bootstrap", "0", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    best = result["systems"][0]
    assert (best["system"], round(best["score"], 2)) == ("refA", 92.67)
    assert {system["n_segments"] for system in result["systems"]} == {634}


# Traps, one by one.


def test_the_latest_judgement_counts_across_files(tmp_path):
    one = export(
        tmp_path, row(1, 10, end=1700000009), row(2, 20), row(1, 5, login="q"), name="1.csv"
    )
    two = export(tmp_path, row(1, 99, end=1700000003), row(2, 30, end=1700000002), name="2.csv")
    found = read(one, two)
    values = {key: found.value.value[place] for key, place in by_output(found.value).items()}
    assert values == {("A", "1", "r"): 10, ("A", "2", "r"): 30, ("A", "1", "q"): 5}
    assert "1.csv and 1 other file: 2 of 5 rows left out: 2 that the same login" in found.notes[0]
    both = human_scores(tmp_path, protocol="esa", n_bootstrap=0)  # as a folder
    assert both.systems[0].n_ratings == 3
    later = row(1, "high", end=1700000002)
    with pytest.raises(InputError, match=r"2\.csv:1: column 7: 'high' is not a number"):
        read(one, export(tmp_path, later, name="2.csv"))


def test_several_pairs_of_languages(tmp_path):
    path = export(tmp_path, row(1), row(1, 80).replace("eng,ces", "eng,deu"))
    with pytest.raises(InputError, match="mixes 2 language pairs"):
        human_scores(path, protocol="esa")
    (one,) = human_scores(path, protocol="esa", where={"lp": "eng-deu"}, n_bootstrap=0).systems
    assert one.score == 80


# What is refused.


def test_nothing_that_counts(tmp_path):
    with pytest.raises(InputError, match="no row counts: 1 of tutorials"):
        read(export(tmp_path, row(1, doc="tutorial")))


def test_a_column_that_is_needed_is_not_taken_away(tmp_path):
    path = export(tmp_path, row(1), row(1, system="B"))
    with pytest.raises(UsageError, match="Appraise can't be read without column system"):
        human_scores(path, protocol="esa", where={"system": "A"})
    with pytest.raises(UsageError, match="no input has a column 'whole'"):
        human_scores(path, protocol="esa", ignore=["whole"])


# MQM files of Google.

NEW = ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category",
       "severity"]  # fmt: skip


def tsv(tmp_path: Path, *rows: list[str], header: list[str] = NEW) -> Path:
    path = tmp_path / "x.tsv"
    lines = [header, *rows]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    return path


def error(
    category: str, severity: str, target: str = "b", source: str = "a", **own: str
) -> list[str]:
    cells = {"system": "A", "doc": "d", "docSegId": "1", "globalSegId": "7", "rater": "r"} | own
    return [*cells.values(), source, target, category, severity]


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
        (own.systems[s], own.segments.ids[g]): value
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
    path = tsv(tmp_path, error("Style", "", "<v>b</v>"), error("Style", "Minor"))
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
        error("Style", "Major"),
        error("Found", "HOTW-test"),
        error("Missed", "HOTW-test"),
        error("Missed", "HOTW-test", system="B"),
        error("Style", "Minor", system="B", rater="s"),
    )
    result = human_scores(path, protocol="mqm", n_bootstrap=0)
    assert {s.system: (s.score, s.n_ratings) for s in result.systems} == {
        "A": (-5, 1), "B": (-1, 1)}  # fmt: skip
    raters = {r["rater"]: r for r in result.to_dict()["raters"]}
    assert (raters["r"]["attention"], raters["s"]["attention"]) == ("1/3", None)
    assert (raters["r"]["n_ratings"], raters["r"]["mean"], raters["r"]["high"]) == (1, -5, -5)
    assert not any("further ratings" in warning for warning in result.warnings)
