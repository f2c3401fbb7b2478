"""Ties: metrics ranked under every treatment of ties, and the paper that asks for it."""

from __future__ import annotations

import json
import shutil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from mtme_folders import write_mtme
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.human.darr import pairs_of_scores
from steelyard.reproduction.stanchev2020 import (
    counted_pairs,
    machine_pairs,
    reproduce_ties,
    with_eed,
)
from steelyard.stats.kendall.counting import KENDALL, count_pairs
from steelyard.studies.options import MATRICES
from steelyard.studies.study import Study
from steelyard.studies.ties import count_flips, vary_ties

NAN = float("nan")


def make_set(seed, n=5, segments=12, metrics=3, *, texts=False):
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 101, (n, segments)).astype(float)
    people[rng.random(people.shape) < 0.1] = NAN
    scores = {"people": sy.ScoreTable(people, kind="human")}
    for k in range(metrics):
        noise = rng.integers(-20, 21, (n, segments)) * (k + 1)
        scores[f"m{k}"] = sy.ScoreTable((np.nan_to_num(people, nan=50.0) + noise) // 10)
    names = tuple(f"s{i}" for i in range(n))
    outputs = {}
    if texts:
        outputs = {name: tuple(rng.choice(["one", "two", "three"], segments)) for name in names}
    ids = tuple(f"{k:03d}" for k in range(segments))
    return EvalSet(names, Segments(ids), scores, outputs=outputs)


def records(study: Study, name: str) -> list[dict[str, Any]]:
    return study.table(name).records()


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5]))
def test_values_are_those_of_counted_pairs(seed, epsilon):
    es = make_set(seed)
    thresholds = (0.0, 10.0, 25.0)
    study = vary_ties(es, "people", thresholds=thresholds, metric_thresholds=[epsilon])
    human = es["people"].values
    for name in es.metrics:
        gap = pairs_of_scores(es, "people", [name]).metric_gap[name]
        for t, threshold in enumerate(thresholds):
            counts = count_pairs(human, es[name].values, threshold=threshold,
                                 epsilon=epsilon * float(gap.std()))  # fmt: skip
            for one in MATRICES:
                found = study.facts["values"][one][name][0, t]
                top, pairs = (part.sum() for part in KENDALL[one].parts(counts))
                assert found == pytest.approx(top / pairs if pairs else NAN, nan_ok=True)


def test_flips_one_by_one():
    es = make_set(3, metrics=5)
    study = vary_ties(es, "people", metric_thresholds=[0, 0.3])
    values = study.facts["values"]
    base = [values["kendall-hard"][name][0, 4] for name in es.metrics]  # threshold 25
    rows = iter(records(study, "flips"))
    for one in MATRICES:
        for e in range(2):
            for t in range(6):
                own = [values[one][name][e, t] for name in es.metrics]
                flips = sum(
                    (own[a] - own[b]) * (base[a] - base[b]) < 0
                    for a in range(5)
                    for b in range(a + 1, 5)
                )
                row = next(rows)
                assert (row["matrix"], row["flips"]) == (one, flips)
                assert row["best"] == es.metrics[int(np.nanargmax(own))]


def test_ties_are_no_flips():
    assert count_flips(np.array([0.2, 0.2, NAN]), np.array([0.1, 0.3, 0.2])) == 0


def test_identical_texts_are_counted_and_can_be_ties():
    es = make_set(4, texts=True)
    first = vary_ties(es, "people", thresholds=[0, 25])
    pairs = pairs_of_scores(es, "people")
    assert pairs.identical is not None
    expected = [int((pairs.identical & pairs.at_least(t)).sum()) for t in (0, 25)]
    assert [row["identical"] for row in records(first, "pairs")] == expected
    assert expected[1] > 0
    again = vary_ties(es, "people", thresholds=[0, 25], identical_ties=True)
    assert [row["identical"] for row in records(again, "pairs")] == [0, 0]
    kept = [row["pairs"] for row in records(first, "pairs")]
    assert [row["pairs"] for row in records(again, "pairs")] == (np.array(kept) - expected).tolist()


def test_small_scales_have_quartiles_for_thresholds():
    es = make_set(5)
    tiny = EvalSet(es.systems, es.segments, {
        **es.scores, "people": sy.ScoreTable(es["people"].values / 100, kind="human")})  # fmt: skip
    study = vary_ties(tiny, "people")
    assert study.facts["thresholds"][0] == 0
    assert len(study.facts["thresholds"]) == 4
    assert study.facts["thresholds"][-1] < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"matrices": ["kendall"]}, "no Kendall variant 'kendall'"),
        ({"matrices": []}, "at least one matrix"),
        ({"thresholds": [-1]}, "numbers of at least 0"),
        ({"metric_thresholds": []}, "at least one"),
        ({"identical_ties": True}, "identical outputs need texts"),
        ({"metrics": ["m9"]}, "m9"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        vary_ties(make_set(6), "people", **options)


@pytest.fixture
def made_up(tmp_path):
    """Three systems, two segments; a and b said the same on the first, b and c on the second."""
    texts = tmp_path / "texts.jsonl"
    lines = [
        {"seg": 0, "src": "x", "ref": "a house", "out": {"a": "a home", "b": "a home", "c": "hut"}},
        {"seg": 1, "src": "y", "ref": "a dog", "out": {"a": "cat", "b": "a dog", "c": "a dog"}},
    ]
    texts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("seg,better,worse\n0,a,b\n0,a,c\n1,b,a\n1,c,b\n", encoding="utf-8")
    return pairs, texts


def test_the_counter_of_identical_sentences_on_a_made_up_file(made_up):
    pairs = counted_pairs("xx-en", *made_up)
    assert pairs.identical is not None
    assert pairs.identical.tolist() == [True, False, False, True]
    assert (pairs.metric_gap["eed"] == 0).tolist() == [True, False, False, True]


def test_decided_pairs_on_the_command_line(made_up, capsys):
    pairs, texts = map(str, made_up)
    assert run(["study", "ties", texts, "--pairs", pairs, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    row = result["tables"]["pairs"][0]
    assert (row["pairs"], row["identical"]) == (4, 2)
    assert len(result["provenance"]["inputs"]) == 2
    for extra, message in (
        (["--human", "mqm"], "expected one of them"),
        (["--thresholds", "1,2"], "thresholds can't be varied"),
    ):
        assert run(["study", "ties", texts, "--pairs", pairs, *extra]) == 2
        assert message in capsys.readouterr().err


def wmt19(lp, seed, *, named="wmt-raw", scale=1.0):
    """Five machines and the reference as a system, raw scores, and outputs that are often alike."""
    rng = np.random.default_rng(seed)
    names, n = ("a.1", "b.2", "c.3", "d.4", "e.5", "ref"), 40
    people = rng.integers(0, 101, (6, n)).astype(float) * scale
    people[rng.random(people.shape) < 0.2] = NAN
    yisi = rng.integers(0, 4, (6, n)).astype(float)
    yisi[5] = NAN
    outputs = {name: tuple(rng.choice(["one", "two", "three"], n)) for name in names}
    texts = tuple(f"source {k}" for k in range(n))
    about = Segments(tuple(map(str, range(n))), sources=texts, references={"ref": texts})
    scores = {named: sy.ScoreTable(people, "human"), "YiSi-1-ref": sy.ScoreTable(yisi)}
    return EvalSet(names, about, scores, outputs, language_pair=lp)


def put(root, year, es):
    write_mtme(es, root / year)


def naive_counts(es):
    """Count the cells of Table 3 pair by pair."""
    people, yisi = es["wmt-raw"].values, es["YiSi-1-ref"].values
    eed = with_eed(es)["eed"].values
    found = {"pairs, in thousands": 0, "identical sentences": 0, "ties of YiSi-1": 0,
             "ties of EED": 0}  # fmt: skip
    for i in range(5):
        for j in range(i):
            for s in range(es.n_segments):
                if not abs(people[i, s] - people[j, s]) >= 25:
                    continue
                one, two = (es.outputs[es.systems[k]][s] for k in (i, j))
                found["pairs, in thousands"] += 1
                found["identical sentences"] += one == two
                found["ties of YiSi-1"] += bool(yisi[i, s] == yisi[j, s])
                found["ties of EED"] += bool(eed[i, s] == eed[j, s])
    return found | {"pairs, in thousands": round(found["pairs, in thousands"] / 1000)}


def test_directions_of_an_mt_metrics_eval_folder(tmp_path):
    sets = {lp: wmt19(lp, k) for k, lp in enumerate(("zh-en", "en-gu", "de-fr"))}
    for es in sets.values():
        put(tmp_path, "wmt19", es)
    put(tmp_path, "wmt19", wmt19("en-kk", 7, named="wmt-z", scale=0.01))  # on no scale of 100
    put(tmp_path, "wmt20", wmt19("en-de", 8))
    found = reproduce_ties(tmp_path)
    rows = {row.what: row for row in found.rows}
    for lp in ("zh-en", "en-gu"):
        for what, count in naive_counts(sets[lp]).items():
            assert rows[f"Table 3, {lp}, {what}"].ours == count, (lp, what)
    assert rows["Table 3, zh-en, ties of YiSi-1"].note == (
        f"all 5 machine translations of {tmp_path / 'wmt19'} (zh-en) take part"
    )
    assert "no scores of segments from 0 to 100" in str(rows["Table 3, en-kk, ties of EED"].note)
    assert rows["Table 3, kk-en, ties of EED"].match is None
    # Figure 1: the year of the paper, and what is from or into English.
    row = rows["Figure 1, share kept at 25"]
    assert "here are 2 directions of WMT19" in str(row.note)
    kept = {25: 0, 1: 0}
    for lp in ("zh-en", "en-gu"):
        people = sets[lp]["wmt-raw"].values[:5]
        for threshold in kept:
            kept[threshold] += sum(int((abs(people[i] - people[j]) >= threshold).sum())
                                   for i in range(5) for j in range(i))  # fmt: skip
    assert row.ours == pytest.approx(kept[25] / kept[1])
    shutil.rmtree(tmp_path / "wmt19")
    other = reproduce_ties(tmp_path)
    assert other.provenance is not None
    assert [file.path for file in other.provenance.inputs] == [str(tmp_path / "wmt20")]
    rows = {row.what: row for row in other.rows}
    assert rows["Figure 1, share kept at 25"].ours is not None
    assert rows["Table 3, zh-en, ties of EED"].match is None


def test_pairs_of_wmt20_are_as_many_as_the_official_ones(shared):
    pairs = machine_pairs(shared / "wmt20-metrics" / "segments" / "en-de.csv.gz")
    assert int(pairs.at_least(25).sum()) == 9339


@pytest.mark.thorough
def test_gujarati_and_kazakh(shared):
    rows = {row.what: row for row in reproduce_ties(shared).rows}
    for lp, counts in {"gu-en": (20, 0), "kk-en": (10, 0)}.items():
        for what, count in zip(("pairs, in thousands", "identical sentences"), counts, strict=True):
            assert rows[f"Table 3, {lp}, {what}"].ours == count
    assert "20,110 pairs" in str(rows["Table 3, gu-en, pairs, in thousands"].detail)
