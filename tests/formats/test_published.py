"""Human evaluation as it is published: WMT unified files, standalone ratings, rating files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import EvalSet, Rankings, Ratings, load, mqm, save
from steelyard.cli.main import run
from steelyard.data.judgements import ErrorSpan
from steelyard.formats.reading import Reading, read_any
from steelyard.formats.save import anonymous

SAMPLES = Path(__file__).parent / "samples"
UNIFIED = SAMPLES / "wmt-unified" / "genmt-humeval.jsonl"
STANDALONE = SAMPLES / "mtme" / "standalone.ratings.jsonl"
RATING = SAMPLES / "mtme" / "human-scores" / "de-en.mqm.merged.seg.rating"
Refusal = Callable[..., str]


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def written(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


def named(ratings: Ratings, system: str, segment: str) -> list[tuple[str, float, Any, float]]:
    return [
        (
            ratings.raters[ratings.rater[row]],
            float(ratings.value[row]),
            None if ratings.errors is None else ratings.errors[row],
            float("nan") if ratings.seconds is None else float(ratings.seconds[row]),
        )
        for row in range(len(ratings))
        if ratings.systems[ratings.system[row]] == system
        and ratings.segments[ratings.segment[row]] == segment
    ]


# WMT unified.


def test_several_language_pairs_are_chosen_from(tmp_path: Path, refusal: Refusal) -> None:
    records = rows(UNIFIED)
    other = [r | {"doc_id": r["doc_id"].replace("de-en_US", "en-cs_CZ")} for r in records[:2]]
    path = written(tmp_path / "both.jsonl", records + other)
    assert refusal(path).endswith("choose a language pair with lp=...; found: de-en_US, en-cs_CZ")
    assert load(path, lp="en-cs_CZ").n_segments == 2
    assert load(path, where={"lp": "en-cs_CZ"}).language_pair == "en-cs_CZ"
    assert load(path, where={"lp": "de-en_US", "domain": "news"}).segments.ids == ("0", "2", "4")
    assert "no language pair 'xx'" in refusal(path, lp="xx")
    assert "no segment has domain=poems" in refusal(UNIFIED, where={"domain": "poems"})
    assert "no input has a column 'year'" in refusal(UNIFIED, where={"year": "1"})


# Standalone ratings.


def test_standalone_ratings_by_pair_document_and_line(tmp_path: Path, refusal: Refusal) -> None:
    records = [r | {"segment_id": r["segment_id"] % 3} for r in rows(STANDALONE)]
    path = written(tmp_path / "x.jsonl", records)
    ids = ("doc0:0", "doc0:1", "doc0:2", "doc1:0", "doc1:1", "doc1:2")
    assert read_any(path)[1].segments == ids
    written(path, rows(STANDALONE) + [r | {"tgt_lang": "fr"} for r in records[:3]])
    assert "mixes 2 language pairs (de-en, de-fr)" in refusal(read_any, path)
    assert len(read_any(path, Reading(lp="de-fr"))[1]) == 3
    bare = [{key: r[key] for key in ("source", "hypothesis", "errors")} for r in records[:6]]
    ratings = read_any(written(tmp_path / "palm.mqm.jsonl", bare))[1]
    assert (ratings.systems, ratings.segments) == (("palm",), tuple("012345"))


# Anonymous raters.


def test_raters_are_made_anonymous_whatever_the_target(tmp_path: Path) -> None:
    es = load(UNIFIED)
    names = tuple(f"rater{n}" for n in range(1, 8))
    native, table = tmp_path / "x.parquet", tmp_path / "x.jsonl"
    save(es, native, anonymise_raters=True)
    assert load(native).ratings["ESA"].raters == names
    save(es, table, to="errors", anonymise_raters=True)
    assert {row["rater"] for row in rows(table)} == set(names)
    assert b"engcze" not in native.read_bytes() + table.read_bytes()


def test_the_key_to_raters_tells_who_is_who() -> None:
    es = load(UNIFIED)
    made, key = anonymous(es)
    assert (key["rater1"], key["rater7"]) == ("engcze00", "engcze99")
    assert isinstance(made, EvalSet)
    assert made.ratings["ESA"].renamed_raters(key).identical(es.ratings["ESA"])


def test_rankings_are_made_anonymous_and_battles_have_no_raters(refusal: Refusal) -> None:
    code = np.zeros(1, dtype=np.int32)
    rank = np.array([[1.0, 2.0]])
    one = Rankings(("A", "B"), ("1",), ("Ann",), code, code, np.array([[0, 1]], np.int32), rank)
    made, _ = anonymous(one)
    assert isinstance(made, Rankings)
    assert made.raters == ("rater1",)
    es = load(UNIFIED)
    bare = EvalSet(es.systems, es.segments)
    assert "names no raters" in refusal(anonymous, bare)


def test_convert_makes_raters_anonymous(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "x.jsonl"
    command = ["data", "convert", str(UNIFIED), str(out), "--to", "errors", "--anonymise-raters"]
    assert run(command) == 0
    assert "has no place for: texts, scores" in capsys.readouterr().err
    assert {row["rater"] for row in rows(out)} == {f"rater{n}" for n in range(1, 8)}
    assert run([*command, "--force"]) == 0
    assert run(command) == 2


# Rating files.


def test_without_a_rater_the_file_is_one(tmp_path: Path) -> None:
    path = RATING.with_name("de-en.mqm.rater1.seg.rating")
    assert read_any(path)[1].raters == ("mqm.rater1",)
    other = tmp_path / "ratings.txt"  # known by its lines
    other.write_bytes(path.read_bytes())
    assert read_any(other)[1].raters == ("ratings.txt",)


def test_files_of_two_language_pairs_are_not_put_together(tmp_path: Path, refusal: Refusal) -> None:
    paths = [tmp_path / f"{lp}.mqm.seg.rating" for lp in ("de-en", "en-cs_CZ")]
    for path in paths:
        path.write_bytes(RATING.read_bytes())
    from steelyard import human_scores

    weights = tmp_path / "free.toml"
    weights.write_text("[severity]\nmajor = 5\nminor = 1\nnone = 0\nundecided = 0\n")
    assert "mixes 2 language pairs" in refusal(human_scores, *paths, protocol=mqm(weights=weights))


def test_the_published_rating_file(shared: Path) -> None:
    path = shared / "wmt23-spans" / "raw.en-de.mqm.merged.seg.rating.gz"
    ratings = read_any(path, Reading())[1]
    assert (len(ratings), len(ratings.systems)) == (460 * 13, 13)
    assert len(ratings.segments) == 460
    assert ratings.raters == ("raw.en-de.mqm.merged",)
    assert ratings.errors is not None
    assert sum(len(errors or ()) for errors in ratings.errors) == 19569


# Errors without a category or a severity, in folders.


def test_a_folder_may_hold_errors_without_category_or_severity(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "wmt"
    for part in ("documents", "human-scores", "metric-scores/de-en"):
        (folder / part).mkdir(parents=True)
    (folder / "documents" / "de-en.docs").write_text("news\tdoc0\n" * 6)
    for name in (RATING.name, "de-en.mqm.seg.score"):
        (folder / "human-scores" / name).write_bytes(RATING.with_name(name).read_bytes())
    scores = "".join(f"{s}\t0.{i}\n" for s in ("sysA", "sysB") for i in range(6))
    (folder / "metric-scores" / "de-en" / "toy-refA.seg.score").write_text(scores)
    ratings = load(folder).ratings["mqm"]
    assert named(ratings, "sysB", "0")[0][2][1] == ErrorSpan("", "major", 2, 16)
    assert named(ratings, "sysB", "3")[0][2] == (ErrorSpan("Style/Awkward", "", 0, 50, 2.5),)
    assert run(["data", "info", str(folder), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert [score["kind"] for score in scores].count("human") == 1
    assert run(["meta", str(folder), "--human", "mqm", "--json"]) == 0
    save(load(folder), tmp_path / "again.parquet")
    assert load(tmp_path / "again.parquet").ratings["mqm"].identical(ratings)


@pytest.mark.parametrize(
    ("named", "whole", "raters", "n"),
    [
        (True, False, ("rater1", "rater2"), 11),
        (False, False, ("mqm.merged",), 11),  # the other rater has no file
        (False, True, ("mqm.rater1",), 11),
    ],
)
def test_ratings_that_stand_twice_in_a_folder_count_once(
    tmp_path: Path, *, named: bool, whole: bool, raters: tuple[str, ...], n: int
) -> None:
    folder = tmp_path / "wmt"
    for part in ("documents", "human-scores"):
        (folder / part).mkdir(parents=True)
    (folder / "documents" / "de-en.docs").write_text("news\tdoc0\n" * 6)
    without = re.sub(r"\trater.", "", RATING.read_text())
    single = RATING.with_name("de-en.mqm.rater1.seg.rating").read_text()
    for name, text in (
        ("de-en.mqm.seg.score", RATING.with_name("de-en.mqm.seg.score").read_text()),
        ("de-en.mqm.rater1.seg.rating", without if whole else single),
        (RATING.name, RATING.read_text() if named else without),
    ):
        (folder / "human-scores" / name).write_text(text)
    es = load(folder)
    assert (es.ratings["mqm"].raters, len(es.ratings["mqm"])) == (raters, n)
    (note,) = es.notes
    assert "would count them twice" in note
