"""One unit for all of one output: tests, intervals, tiers, the card, people, metrics, battles."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.card import decide
from steelyard.comparison.logs import compare_battles
from steelyard.comparison.results import Ranked
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import BattleLog, Ratings
from steelyard.data.segments import Segments
from steelyard.stats.arrays import Floats
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.unpaired import rank_sum_test_by_unit
from steelyard.stats.permutation.pvalues import pairwise_pvalues

SIZES = np.array([1, 2, 3, 5, 2, 7, 1, 4, 3, 2, 6, 2, 3, 4])  # segments of each document
CODES = np.repeat(np.arange(len(SIZES)), SIZES)


def alike(seed: int = 0, n: int = 3, codes: np.ndarray = CODES) -> np.ndarray:
    """Scores of systems whose segments share what their document has."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, codes.max() + 1))[:, codes]
    return np.round(10 * (shared + rng.normal(size=(n, len(codes)))), 1)


def a_set(scores: np.ndarray, codes: np.ndarray | None = CODES, **more) -> EvalSet:
    ids = tuple(f"{i + 1}" for i in range(scores.shape[1]))
    documents = None if codes is None else tuple(f"d{code:03}" for code in codes)
    systems = tuple("ABCDEF"[: len(scores)])
    return EvalSet(systems, Segments(ids, documents, **more), {"x": ScoreTable(scores)})


def ratings(scores: np.ndarray, codes: np.ndarray | None = CODES, raters: int = 12) -> Ratings:
    n, size = scores.shape
    rng = np.random.default_rng(1)
    value = np.clip(50 + scores, 0, 100)
    units = np.arange(size) if codes is None else codes
    rater = rng.integers(0, raters, (n, units.max() + 1))[:, units]
    return Ratings.from_labels(
        [s for s in "ABCDEF"[:n] for _ in range(size)],
        [str(i + 1) for i in range(size)] * n,
        [f"r{code:02}" for code in rater.ravel()],
        value.ravel(),
        document=None if codes is None else [f"d{code:03}" for code in codes] * n,
    )


TESTS = ["t", "permutation", "median", "sign", "wilcoxon"]


def test_all_tests_of_a_comparison_take_whole_documents_by_default():
    x = alike()
    found = sy.compare(a_set(x), tests=TESTS, intervals=None)
    expected = {
        "t": paired.t_test(x, CODES).p,
        "permutation": paired.permutation_test(x, CODES).p,
        "median": paired.median_test(x, CODES).p,
        "sign": paired.sign_test(x, CODES).p,
        "wilcoxon": paired.wilcoxon_test(x, CODES).p,
    }
    assert found.tests.keys() == expected.keys()
    for name, p in expected.items():
        np.testing.assert_array_equal(found.tests[name].p, p, err_msg=name)
    unit = found.to_dict()["unit"]
    assert (unit["name"], unit["n"], unit["coarser"]) == ("document", 14, None)
    assert unit["design_effect"] > 1.5
    assert unit["design_effect_ci"][0] < unit["design_effect"] < unit["design_effect_ci"][1]
    assert found.unit.sentence() in found.table().notes


def width(found: Ranked) -> Floats:
    assert found.ci is not None
    return np.asarray(found.ci[1] - found.ci[0])


def test_intervals_and_ranks_are_wider_by_document():
    es = a_set(alike())
    whole, single = (sy.compare(es, by="mean", unit=unit) for unit in ("auto", "segment"))
    wide, narrow = (r.aggregations["mean"] for r in (whole, single))
    assert (width(wide) > width(narrow)).all()
    assert "cut 14 documents" in "".join(single.warnings)
    assert single.unit.coarser is not None
    assert single.unit.coarser.design_effect == whole.unit.design_effect


@pytest.mark.parametrize("scores", [alike(), np.sign(alike())])
def test_documents_of_one_segment_change_no_bit(scores):
    single = np.arange(scores.shape[1])
    named, plain = a_set(scores, single), a_set(scores, None)
    one, two = (sy.compare(es, tests=TESTS).to_dict() for es in (named, plain))
    assert one.pop("unit") == {**two.pop("unit"), "name": "document"}
    for found in (one, two):
        del found["provenance"], found["signature"]
        for test in found["tests"].values():
            del test["unit"]
    assert json.dumps(one, default=np.ndarray.tolist) == json.dumps(two, default=np.ndarray.tolist)
    card, other = (decide(es, ("A", "B")).to_dict() for es in (named, plain))
    assert card.pop("unit")["name"] == "document"
    del other["unit"]
    for key in ("provenance", "signature"):
        del card[key], other[key]
    assert json.dumps(card) == json.dumps(other)


@pytest.mark.parametrize("protocol", ["da", "esa"])
def test_people_with_documents_of_one_segment_change_no_bit(protocol):
    x = alike(codes=np.arange(45))
    single = ratings(x, np.arange(45))
    plain = ratings(x, None)
    one, two = (sy.human_scores(r, protocol=protocol, n_bootstrap=0) for r in (single, plain))
    assert one.unit is not None
    assert one.unit.name == "document"
    np.testing.assert_array_equal(one.p, two.p)
    assert one.systems == two.systems


def test_few_documents_have_exact_tests_only():
    codes = np.repeat(np.arange(6), 4)
    es = a_set(alike(codes=codes), codes)
    found = sy.compare(es, by=["mean", "bt"], unit="document")
    assert list(found.tests) == ["permutation", "sign"]
    assert "6 documents are too few for anything but exact tests" in "".join(found.warnings)
    for test in ("t", "bootstrap"):
        with pytest.raises(UsageError, match=f"{test}: 6 documents are too few"):
            sy.compare(es, by="mean", tests=test, unit="document")
    assert sy.compare(es, by="mean").unit.name == "segment"  # fewer than ten


def test_a_column_of_the_input_is_a_unit(tmp_path, capsys):
    x = alike()
    rows = [
        {"system": "ABC"[i], "segment": j + 1, "topic": f"t{CODES[j]}", "x": float(x[i, j])}
        for i in range(3)
        for j in range(x.shape[1])
    ]
    found = sy.compare(pl.DataFrame(rows), by="mean", unit="topic")
    assert (found.unit.name, found.unit.n) == ("topic", 14)
    np.testing.assert_array_equal(found.tests["t"].p, paired.t_test(x, CODES).p)
    path = tmp_path / "scores.csv"
    pl.DataFrame(rows).write_csv(path)
    assert run(["compare", str(path), "--unit", "topic", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["unit"]["name"] == "topic"
    assert run(["compare", str(path), "--unit", "genre"]) == 2
    assert "no input has a column 'genre'" in capsys.readouterr().err
    assert run(["compare", str(path), "--unit", "document", "--ignore", "topic"]) == 2
    assert "--unit document: the documents of the segments are not known" in capsys.readouterr().err


def test_moods_test_is_the_same_whatever_the_unit_and_median_is_the_test_by_unit():
    x = alike()
    by_document = sy.compare(a_set(x), by="median", tests=["mood", "median"], intervals=None)
    by_segment = sy.compare(a_set(x), by="median", tests=["mood"], intervals=None, unit="segment")
    np.testing.assert_array_equal(by_document.tests["mood"].p, by_segment.tests["mood"].p)
    assert by_document.tests["mood"].unit == "segment"
    assert by_document.tests["median"].unit == "document"
    assert any("mood takes segments to be independent" in text for text in by_document.warnings)
    assert list(sy.compare(a_set(x), by="median").tests) == ["median"]
    assert list(sy.compare(a_set(x), by="median", unit="segment").tests) == ["mood"]


def test_the_card_of_two_systems_respects_documents():
    x = alike(3, 2)
    card = decide(a_set(x), ("A", "B"))
    assert card.p == paired.permutation_test(x, CODES).p[0, 1]
    assert card.p_sign == paired.sign_test(x, CODES).p[0, 1]
    assert card.to_dict()["unit"]["name"] == "document"
    assert card.unit.sentence() in card.table().notes
    alone = decide(a_set(x), ("A", "B"), unit="segment")
    assert (card.needed or 0) > (alone.needed or 0)


def test_people_are_tested_by_document():
    x = alike(5)
    esa = sy.human_scores(ratings(x), protocol="esa", n_bootstrap=0)
    order = [s.system for s in esa.systems]
    rows = [ord(s) - ord("A") for s in order]
    value = np.clip(50 + x, 0, 100)
    expected = pairwise_pvalues(value[rows], blocks=CODES, tail="ge").p
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_array_equal(esa.p, expected)
    assert esa.to_dict()["unit"]["name"] == "document"
    da = sy.human_scores(ratings(x), protocol=sy.da(standardised=False), n_bootstrap=0)
    np.testing.assert_array_equal(da.p, rank_sum_test_by_unit(list(value[rows]), [CODES] * 3))


def test_a_unit_is_refused_where_a_protocol_has_none():
    rows = {"better": ["A"], "worse": ["B"], "segment": ["1"]}
    with pytest.raises(UsageError, match="applies to protocols da, mqm and esa"):
        sy.human_scores(pl.DataFrame(rows), protocol="rr", unit="document")


def test_metrics_are_weighed_by_segment_and_told_what_documents_would_give():
    codes = CODES
    human, metric = alike(1), alike(1) + alike(2) / 3
    own = a_set(human)
    scores = {"m": ScoreTable(metric), "h": ScoreTable(human, kind="human")}
    es = EvalSet(own.systems, own.segments, scores)
    found = sy.meta_evaluate(es, "h", by=["spa", "pa"])
    whole = sy.meta_evaluate(es, "h", by=["spa", "pa"], unit="document")
    unit = found.to_dict()["unit"]
    assert unit["name"] == "segment"
    assert unit["coarser"]["name"] == "document"
    assert any("design effect" in note for note in found.table(details=True).notes)
    assert whole.to_dict()["unit"]["n"] == codes.max() + 1
    for result in whole.results:
        assert result.ci is not None
        assert result.ci[0] <= result.value <= result.ci[1]
    same = sy.meta_evaluate(es, "h", by=["spa", "pa"], intervals="document")
    assert same.results == whole.results


def _battles(n_units: int, per_unit: int, seed: int = 0) -> BattleLog:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(n_units), per_unit).astype(np.int32)
    left = rng.integers(0, 3, len(unit)).astype(np.int32)
    right = ((left + rng.integers(1, 3, len(unit))) % 3).astype(np.int32)
    taste = 3 * rng.normal(size=(n_units, 3))
    ahead = taste[unit, left] > taste[unit, right]
    names = tuple(f"p{i:03}" for i in range(n_units))
    return BattleLog(("A", "B", "C"), left, right, ahead.astype(float), units=names, unit=unit)


def test_battles_share_prompts():
    log = _battles(40, 6)
    found = compare_battles(log)
    unit = found.to_dict()["unit"]
    assert (unit["name"], unit["n"]) == ("prompt", 40)
    assert unit["design_effect"] > 1.3
    single = compare_battles(log, unit="battle")
    assert single.unit.name == "battle"
    assert "battles are taken as independent" in "".join(single.warnings)
    assert (found.tests["bt-gap"].p >= single.tests["bt-gap"].p)[np.triu_indices(3, 1)].all()


def test_few_prompts_are_too_few_unless_asked_for():
    log = _battles(6, 30)
    found = compare_battles(log)
    assert found.unit.name == "battle"
    assert "share 6 prompts, fewer than 10" in "".join(found.warnings)
    asked = compare_battles(log, unit="prompt")
    assert asked.unit.n == 6
    assert list(asked.tests) == ["sign"]
    assert "6 prompts are too few for anything but exact tests" in "".join(asked.warnings)


def test_units_that_a_log_does_not_have():
    log = _battles(40, 6)
    bare = BattleLog(log.systems, log.left, log.right, log.outcome)
    with pytest.raises(UsageError, match="the log does not name any"):
        compare_battles(bare, unit="prompt")
    with pytest.raises(UsageError, match="no order to cut"):
        compare_battles(log, unit="5")


def test_errors_of_means_follow_the_unit():
    x = alike(5)
    found = sy.human_scores(ratings(x), protocol="esa", n_bootstrap=0)
    assert found.errors is not None
    value = np.clip(50 + x, 0, 100)
    for one, error in zip(found.systems, found.errors, strict=True):
        own = value["ABC".index(one.system)]
        assert error == pytest.approx(paired.mean_error(own[None, :], CODES)[1][0])
    alone = sy.human_scores(ratings(x), protocol="esa", unit="segment", n_bootstrap=0)
    assert alone.errors is not None
    own = value["ABC".index(alone.systems[0].system)]
    assert alone.errors[0] == pytest.approx(own.std(ddof=1) / np.sqrt(len(own)))


def test_a_named_column_is_the_unit_of_people_whatever_texts_say():
    x = alike(5)
    own = ratings(x)
    texts = a_set(x, np.arange(x.shape[1]) // 3)
    rows = {
        "system": [own.systems[k] for k in own.system],
        "segment": [own.segments[k] for k in own.segment],
        "rater": [own.raters[k] for k in own.rater],
        "topic": own.document,
        "raw": own.value,
    }
    frame = pl.DataFrame(rows)
    found = sy.human_scores(frame, texts, protocol="da", unit="topic", n_bootstrap=0)
    assert found.unit is not None
    assert (found.unit.name, found.unit.n) == ("topic", 14)
    other = sy.human_scores(frame, texts, protocol="da", ignore=["topic"], n_bootstrap=0)
    assert other.unit is not None
    assert (other.unit.name, other.unit.n) == ("document", 15)


def test_prompts_of_texts_are_units_of_people():
    x = alike(5)
    sources = tuple(f"q{code}" for code in CODES)
    texts = EvalSet((), Segments(tuple(str(i + 1) for i in range(45)), sources=sources,
                                 domains=("d",) * 45))  # fmt: skip
    found = sy.human_scores(ratings(x, None), texts, protocol="esa", unit="prompt", n_bootstrap=0)
    assert found.unit is not None
    assert (found.unit.name, found.unit.n) == ("prompt", 14)


def test_pairs_that_share_few_documents_have_exact_tests_only():
    """A system that was scored in two of twenty documents."""
    codes = np.repeat(np.arange(20), 3)
    x = alike(1, 3, codes)
    x[2, 6:] = np.nan
    found = sy.compare(a_set(x, codes), by="mean", tests=["t", "wilcoxon"])
    assert np.isnan(found.tests["t"].p[0, 2])
    assert not np.isnan(found.tests["t"].p[0, 1])
    assert found.tests["wilcoxon"].p[0, 2] >= 0.5
    told = "t: 2 pairs share fewer than 10 documents, too few for it: no p-value"
    assert told in found.warnings
    own = found.aggregations["mean"]
    assert own.ci is not None
    low, high = own.ci
    two = np.array([x[2, :3].mean(), x[2, 3:6].mean()])  # two units: t with one degree of freedom
    half = 12.706204736 * np.abs(two[0] - two[1]) / 2
    assert low[2] == pytest.approx(two.mean() - half)
    assert high[2] == pytest.approx(two.mean() + half)


def test_the_bootstrap_test_agrees_with_the_interval_beside_it():
    codes = np.repeat(np.arange(12), 5)
    for seed in range(12):
        x = alike(seed, 2, codes)
        found = sy.compare(a_set(x, codes), by="mean", tests="bootstrap", n_bootstrap=2000)
        own = found.aggregations["mean"]
        assert own.gap_ci is not None
        p = found.tests["bootstrap"].p[0, 1]
        outside = not own.gap_ci[0][0, 1] <= 0 <= own.gap_ci[1][0, 1]
        assert outside == (p < 0.05)


def test_a_preset_has_the_errors_of_its_own_score():
    x = np.clip(50 + alike(5), 0, 100)
    own = ratings(alike(5))
    domains = tuple("ab"[k % 2] for k in CODES)
    texts = EvalSet((), Segments(tuple(str(i + 1) for i in range(45)), domains=domains))
    found = sy.human_scores(own, texts, protocol="esa", preset="wmt24", n_bootstrap=0)
    assert found.errors is not None
    for one, error in zip(found.systems, found.errors, strict=True):
        row = x["ABC".index(one.system)]
        parts = [row[np.array(domains) == name] for name in "ab"]
        squares = sum(part.var(ddof=1) / len(part) for part in parts)
        assert error == pytest.approx(np.sqrt(squares) / 2)
