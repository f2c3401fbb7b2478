"""The real files: every count that their descriptions state, and round trips of a whole WMT set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import BattleLog, EvalSet, Rankings, Ratings, load, save
from steelyard.formats.entities import EntityAnnotations
from steelyard.formats.reading import Reading, read_any

pytestmark = pytest.mark.thorough

Refusal = Callable[..., str]


@pytest.fixture(scope="module")
def wmt23(shared: Path) -> EvalSet:
    """The whole of WMT23 en-de: texts, human scores, metrics at both levels, MQM ratings."""
    folder = shared / "wmt23-metrics"
    parts = ("text.jsonl.gz", "human.csv.gz", "metrics.seg.csv.gz", "metrics.sys.csv")
    es = load(*(folder / f"en-de.{part}" for part in parts), human="mqm", lp="en-de")
    _, ratings, _ = read_any(folder / "en-de.mqm_errors.jsonl.gz")
    assert isinstance(ratings, Ratings)
    return replace(es, ratings={"mqm": ratings})


def test_wmt23_has_what_its_description_says(wmt23: EvalSet) -> None:
    assert wmt23.n_segments == 557
    assert wmt23.n_systems == 14  # 12 systems and two references
    assert set(wmt23.references) == {"refA", "synthetic_ref"}
    assert wmt23.outputs["refA"] == wmt23.segments.references["refA"]
    assert set(wmt23.human) == {
        "mqm", "da_sqm", "esa_1", "esa_2", "esaai_1", "esaai_2", "mqm_1", "llm", "esa_iaa",
        "esaai_iaa", "mqm_iaa",
    }  # fmt: skip
    assert len(wmt23.metrics) == 45
    assert sum(wmt23[name].has_segments for name in wmt23.metrics) == 43
    assert int((~np.isnan(wmt23["mqm"].values)).sum()) == 460 * 13
    assert {-1.3, -1.3000000000000003} <= set(wmt23["mqm"].values.ravel().tolist())


def test_wmt23_ratings_give_the_scores(wmt23: EvalSet) -> None:
    ratings = wmt23.ratings["mqm"]
    assert len(ratings) == 5980
    assert ratings.errors is not None
    place = {name: i for i, name in enumerate(wmt23.systems)}
    where = {name: i for i, name in enumerate(wmt23.segments.ids)}
    scores = wmt23["mqm"].values
    for row, errors in enumerate(ratings.errors):
        assert errors is not None
        system = place[ratings.systems[ratings.system[row]]]
        segment = where[ratings.segments[ratings.segment[row]]]
        total = -sum(error.score or 0.0 for error in errors)
        assert total == pytest.approx(scores[system, segment], abs=1e-9)


def test_wmt23_comes_back_from_a_native_file(wmt23: EvalSet, tmp_path: Path) -> None:
    path = tmp_path / "wmt23.parquet"
    assert save(wmt23, path) == []
    assert load(path).identical(wmt23)


@pytest.mark.parametrize(
    ("name", "rows"), [("cs-en", 25070), ("de-en", 26154), ("ru-en", 34514), ("zh-en", 35303)]
)
def test_direct_assessment(shared: Path, tmp_path: Path, name: str, rows: int) -> None:
    form, ratings, _ = read_any(shared / "wmt22-da" / f"{name}.judgments.csv.gz")
    assert form == "direct assessment"
    assert len(ratings) == rows
    assert set(ratings.item) == {"system", "repeat", "ref", "bad-ref"}
    assert 0 <= ratings.value.min() <= ratings.value.max() <= 100
    save(ratings, tmp_path / "x.csv")
    assert read_any(tmp_path / "x.csv")[1].identical(ratings)


def test_packed_direct_assessment(shared: Path) -> None:
    form, ratings, _ = read_any(shared / "toship21" / "human-segments.csv.gz")
    assert form == "direct assessment"
    assert len(ratings.systems) == 4380
    assert len(ratings) == 2_318_204
    assert not np.isnan(ratings.value).any()


@pytest.mark.parametrize("lp", ["en-de", "en-zh", "et-en", "ro-en", "ru-en"])
def test_packed_raters(shared: Path, lp: str) -> None:
    reading = Reading(where=(("lp", lp), ("split", "test")))
    _, ratings, _ = read_any(shared / "mlqe-da" / "da.csv.gz", reading)
    assert len(ratings.segments) == 1000
    assert ratings.raters[:3] == ("1", "2", "3")


@pytest.mark.parametrize(("lp", "rated"), [("en-de", 7406), ("zh-en", 7935)])
def test_error_lists(shared: Path, tmp_path: Path, lp: str, rated: int) -> None:
    form, ratings, _ = read_any(shared / "mqm-wmt20-21" / f"ted.{lp}.ratings.csv.gz")
    assert form == "error list"
    cells = {*zip(ratings.system.tolist(), ratings.segment.tolist(), strict=True)}
    assert len(cells) == rated
    assert () in ratings.errors
    assert any(error.start is not None for errors in ratings.errors for error in errors)
    save(ratings, tmp_path / "x.jsonl")
    assert read_any(tmp_path / "x.jsonl")[1].identical(ratings)


@pytest.mark.parametrize(("lp", "rows"), [("en-de", 5980)])
def test_error_lists_as_json(shared: Path, tmp_path: Path, lp: str, rows: int) -> None:
    _, ratings, _ = read_any(shared / "wmt23-metrics" / f"{lp}.mqm_errors.jsonl.gz")
    assert len(ratings) == rows
    save(ratings, tmp_path / "x.jsonl.gz")
    assert read_any(tmp_path / "x.jsonl.gz")[1].identical(ratings)


@pytest.mark.parametrize(("part", "rows"), [("train", 9996), ("test", 200)])
def test_rankings(shared: Path, part: str, rows: int) -> None:
    form, rankings, _ = read_any(shared / "wmt13-ranking" / f"fr-en.{part}.csv.gz")
    assert form == "rankings"
    assert isinstance(rankings, Rankings)
    assert rankings.system.shape == (rows, 5)


def test_battles(shared: Path, tmp_path: Path) -> None:
    form, log, _ = read_any(shared / "llmfao" / "crowd-comparisons.csv.gz")
    assert form == "battle log"
    assert isinstance(log, BattleLog)
    assert [int((log.outcome == x).sum()) for x in (1.0, 0.0, 0.5)] == [2911, 2549, 3471]
    assert len(log) == 8931
    assert len(log.systems) == 59
    assert log.units is not None
    assert len(log.units) == 13
    save(log, tmp_path / "x.csv")
    assert read_any(tmp_path / "x.csv")[1].identical(log)


@pytest.mark.parametrize("judge", ["gpt3", "gpt4"])
def test_battles_of_a_judge(shared: Path, judge: str) -> None:
    assert len(read_any(shared / "llmfao" / f"{judge}-crowd-comparisons.csv.gz")[1]) == 2139


def test_entities(shared: Path, tmp_path: Path) -> None:
    form, found, _ = read_any(shared / "wmt19-metrics" / "kobe-entities.ru-en.jsonl.gz")
    assert form == "entity annotations"
    assert isinstance(found, EntityAnnotations)
    assert len(found.systems) == 9
    assert "ref" in found.systems
    assert sum(map(len, found.systems.values())) == 18_000
    save(found, tmp_path / "x.jsonl")
    assert read_any(tmp_path / "x.jsonl")[1] == found


@pytest.mark.parametrize(
    ("file", "options", "systems", "segments", "scores"),
    [
        ("wmt22-gemba/zh-en.metrics.seg.csv.gz", {}, 20, 1875, 40),
        ("bt-eval/tac.csv.gz", {"where": {"year": "08"}}, 58, 48, 14),
        ("bt-eval/tac.csv.gz", {"where": {"year": "09"}}, 55, 44, 14),
        ("bt-eval/dialogue.csv.gz", {"where": {"dataset": "tc"}}, 5, 60, 13),
        ("summarization-metaeval/fabbri2020.csv.gz", {}, 16, 100, None),
        ("summarization-metaeval/bhandari2020.csv.gz", {}, 24, 100, None),
        ("nlg-metaeval/topical_chat.csv", {}, 6, 60, None),
        ("wmt19-metrics/sys-scores.csv.gz", {"where": {"lp": "de-en"}}, 16, 0, 35),
        ("wmt20-metrics/segments/cs-en.csv.gz", {"ignore": ["doc_seg"]}, None, None, None),
        ("mqm-wmt20-21/avg_seg_scores.csv.gz",
         {"where": {"testset": "newstest2020", "lp": "en-de"}}, 10, 1418, 1),
        ("mqm-wmt20-21/avg_seg_scores.csv.gz",
         {"where": {"testset": "ted", "lp": "zh-en"}}, 15, 843, 1),
        ("wmt23-metrics/zh-en.metrics.seg.csv.gz", {}, 17, 1976, 43),
        ("wmt22-text/cs-en.text.jsonl.gz", {}, None, 1448, 0),
        ("wmt23-text/de-en.text.jsonl.gz", {}, 13, 549, 0),
        ("wmt19-metrics/darr/gu-en.text.jsonl.gz", {}, None, 1016, 0),
    ],
)  # fmt: skip
def test_tables(
    shared: Path,
    file: str,
    options: dict[str, Any],
    systems: int | None,
    segments: int | None,
    scores: int | None,
) -> None:
    es = load(shared / file, **options)
    assert systems in (None, es.n_systems)
    assert segments in (None, es.n_segments)
    assert scores in (None, len(es.scores))
    assert es.n_systems > 1


def test_scored_cells_of_ted(shared: Path) -> None:
    path = shared / "mqm-wmt20-21" / "avg_seg_scores.csv.gz"
    for testset, lp, scored in (
        ("newstest2021", "en-de", 8959),
        ("newstest2021", "zh-en", 9750),
        ("ted", "en-de", 7406),
        ("ted", "zh-en", 7935),
    ):
        es = load(path, where={"testset": testset, "lp": lp})
        assert int((~np.isnan(es["mqm"].values)).sum()) == scored


def test_several_sets_in_one_file_are_refused(shared: Path, refusal: Refusal) -> None:
    message = refusal(shared / "mqm-wmt20-21" / "avg_seg_scores.csv.gz")
    assert 'where={"lp": ' in message
    message = refusal(shared / "bt-eval" / "tac.csv.gz")
    assert "where=" in message
