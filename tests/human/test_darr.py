"""DARR: official pair counts, naive references, ties of texts, people and metrics."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard import EvalSet, ScoreTable, Segments, human_scores, load
from steelyard.core.errors import DegenerateError, UsageError
from steelyard.formats.reading import Reading, read_any
from steelyard.human.darr import Rules, battle_log, count_table, pairs_of_scores

nan = float("nan")
PUBLISHED = {"cs-en": 14_018, "de-en": 16_584, "en-de": 9_339, "ru-en": 14_024, "zh-en": 62_586}
HUMANS = ["Human-A.0", "Human-B.0", "Human-P.0"]


@pytest.mark.parametrize("lp", PUBLISHED)
def test_wmt20_pair_counts(shared, lp):
    path = shared / "wmt20-metrics" / "segments" / f"{lp}.csv.gz"
    humans = [name for name in HUMANS if name in load(path, ignore=["doc_seg"]).systems]
    result = human_scores(
        path, protocol="darr", human="da_raw", ignore=["doc_seg"], drop_systems=humans
    )
    assert result.to_dict()["pairs"][0]["kept"] == PUBLISHED[lp]


def test_the_pairs_themselves_are_the_official_ones(shared):
    folder = shared / "wmt20-metrics"
    rows = (folder / "segments" / "de-en.csv.gz", folder / "darr" / "de-en.csv.gz")
    scores = read_any(rows[0], Reading(ignore=("doc_seg",)))[1]
    doc_seg = names_of(rows[0])
    mine = human_scores(scores, protocol="darr", human="da_raw", drop_systems=HUMANS[:2])
    log: Any = mine.battles
    found = {
        (doc_seg[log.units[u]], log.systems[a], log.systems[b])
        for a, b, u in zip(log.left, log.right, log.unit, strict=True)
    }
    official = read_any(rows[1])[1]
    expected = {
        (official.units[u], official.systems[a], official.systems[b])
        for a, b, u in zip(official.left, official.right, official.unit, strict=True)
    }
    assert len(expected) == 16_584
    assert found == expected


def names_of(path):
    with gzip.open(path, "rt", newline="") as stream:
        return {row["line"]: row["doc_seg"] for row in csv.DictReader(stream)}


def test_lists_of_pairs_count_identical_outputs(shared):
    same = {}
    for lp, n_pairs in (("gu-en", 20_110), ("kk-en", 9_728), ("lt-en", 21_862)):
        files = sorted((shared / "wmt19-metrics" / "darr").glob(f"{lp}.*.gz"))
        (row,) = human_scores(*files, protocol="darr").to_dict()["pairs"]
        assert row["pairs"] == n_pairs
        same[lp] = row["identical_decided"]
    # As the paper's Table 3 has it: no identical sentences in gu-en and kk-en.
    assert same == {"gu-en": 0, "kk-en": 0, "lt-en": naive_identical(shared, "lt-en")}


def naive_identical(shared, lp):
    folder = shared / "wmt19-metrics" / "darr"
    with gzip.open(folder / f"{lp}.text.jsonl.gz", "rt", encoding="utf-8") as stream:
        out = {str((row := json.loads(line))["seg"]): row["out"] for line in stream}
    with gzip.open(folder / f"{lp}.pairs.csv.gz", "rt", newline="") as stream:
        return sum(
            out[r["seg"]][r["better"]] == out[r["seg"]][r["worse"]] for r in csv.DictReader(stream)
        )


def small_set(values, texts) -> EvalSet:
    n, s = values.shape
    names = tuple("ABCDE"[:n])
    scores = {"da": ScoreTable(values, "human")}
    outputs = {name: tuple(texts[i]) for i, name in enumerate(names)} if texts else {}
    return EvalSet(names, Segments(tuple(str(k) for k in range(s))), scores, outputs)


cells = st.one_of(st.just(nan), st.integers(0, 8).map(lambda k: k * 12.5))


@given(
    st.integers(2, 4).flatmap(
        lambda n: st.lists(
            st.tuples(*[st.tuples(cells, st.sampled_from("xyz"))] * n),
            min_size=1, max_size=6,
        )
    ),
    st.sampled_from([1.0, 12.5, 25.0, 50.0]),
    st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_pairs_against_a_loop(columns, threshold, identical_ties, keep_ties):
    values = np.array([[cell[0] for cell in column] for column in columns]).T
    texts = [[column[i][1] for column in columns] for i in range(len(columns[0]))]
    rules = Rules(threshold, identical_ties, keep_ties)
    pairs = pairs_of_scores(small_set(values, texts), "da")
    expected = {"pairs": 0, "decided": 0, "identical": 0, "kept": 0, "kept_ties": 0}
    outcomes = []
    for s, column in enumerate(columns):
        for i, j in itertools.combinations(range(len(column)), 2):
            gap = column[i][0] - column[j][0]
            if np.isnan(gap):
                continue
            same = column[i][1] == column[j][1]
            decided = abs(gap) >= threshold
            tie = not decided or (same and identical_ties)
            kept = keep_ties or not tie
            expected["pairs"] += 1
            expected["decided"] += decided
            expected["identical"] += same
            expected["kept"] += kept
            expected["kept_ties"] += kept and tie
            if kept:
                left, right = (i, j) if gap >= 0 or tie else (j, i)
                outcomes.append((str(s), left, right, 0.5 if tie else 1.0))
    (row,) = count_table(pairs, rules).records()
    assert {key: row[key] for key in expected} == expected
    log = battle_log(pairs, rules)
    found = sorted(
        (pairs.segments[u], int(a), int(b), float(o))
        for u, a, b, o in zip(log.unit, log.left, log.right, log.outcome, strict=True)
    )
    assert found == sorted(outcomes)


def test_from_raw_ratings_with_texts(tmp_path):
    ratings = tmp_path / "r.csv"
    ratings.write_text(
        "rater,system,segment,raw\nr,A,1,90\nr,B,1,40\nr,A,2,60\nr,B,2,50\nr,C,2,10\nr,C,1,40\n"
    )
    texts = tmp_path / "t.jsonl"
    rows = [
        {"seg": "1", "out": {"A": "same", "B": "same", "C": "x"}},
        {"seg": "2", "out": {"A": "a", "B": "b", "C": "c"}},
    ]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = human_scores(ratings, texts, protocol="darr", n_bootstrap=0)
    (row,) = plain.to_dict()["pairs"]
    assert (row["pairs"], row["kept"], row["human_ties"]) == (6, 4, 1)
    assert (row["identical"], row["identical_decided"]) == (1, 1)
    tied = human_scores(
        ratings, texts, protocol=sy.darr(identical_ties=True, keep_ties=True), n_bootstrap=0
    )
    (row,) = tied.to_dict()["pairs"]
    assert (row["kept"], row["kept_ties"]) == (6, 3)
    assert {s.system: s.score for s in plain.systems} == {"A": 1.0, "B": 0.5, "C": 0.0}
    assert {s.system: s.raw for s in plain.systems} == {"A": 75.0, "B": 45.0, "C": 25.0}
    z = human_scores(ratings, protocol=sy.darr(standardised=True, threshold=1.5), n_bootstrap=0)
    assert z.to_dict()["pairs"][0]["kept"] == 4  # 40 and more points are 1.5 deviations


def test_refusals(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("rater,system,segment,raw\nr,A,1,90\nr,B,2,40\n")
    with pytest.raises(DegenerateError, match="no two systems"):
        human_scores(path, protocol="darr")
    with pytest.raises(UsageError, match="25 is for raw scores"):
        human_scores(path, protocol=sy.darr(standardised=True))
    path.write_text("rater,system,segment,raw\nr,A,1,90\nr,B,1,40\n")
    with pytest.raises(UsageError, match="need texts"):
        human_scores(path, protocol=sy.darr(identical_ties=True))
    scores = tmp_path / "s.csv"
    scores.write_text("system,segment,da,chrF\nA,1,90,5\nB,1,40,5\n")
    with pytest.raises(UsageError, match=r"name the human score.*chrF, da"):
        human_scores(scores, protocol="darr")
    with pytest.raises(UsageError, match="unknown system 'Z'"):
        human_scores(scores, protocol="darr", human="da", drop_systems=["Z"])
