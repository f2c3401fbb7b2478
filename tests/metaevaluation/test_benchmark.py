"""Benchmarks: protocols as data, averages by hand, absent sets, metrics of one's own."""

from __future__ import annotations

import csv
import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.cli.meta import PRESETS
from steelyard.core.errors import UsageError
from steelyard.core.parallel import Workers
from steelyard.core.table import dumps
from steelyard.metaevaluation.benchmark import tasks as presets
from steelyard.metaevaluation.benchmark.run import pool_draws, split_weights
from steelyard.metaevaluation.benchmark.run import run_benchmark as run_with
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.stats.clusters import greedy_clusters
from steelyard.stats.metametrics.accuracy import pairwise_accuracy
from steelyard.stats.metametrics.swap_tests import Null
from steelyard.stats.paired.corrections import adjust_pairs


def run_benchmark(benchmark, folder=None, *, sets=None, **settings):
    inputs = presets.Inputs(folder, sets or {}, settings.pop("add", ()))
    own = {key: settings.pop(key) for key in ("human", "rng", "workers") if key in settings}
    return run_with(benchmark, inputs, MetaOptions(**settings), **own)


def toy(n=6, s=40, seed=0, flip=False):
    """A set with three metrics; the last one may run against people."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.5, n)[:, None] + rng.normal(size=(n, s))
    scores = {"mqm": sy.ScoreTable(np.round(quality, 1), kind="human")}
    for name, noise in (("good-refA", 0.3), ("fair-refA", 1.0), ("odd-src", 0.5)):
        sign = -1 if flip and name == "odd-src" else 1
        values = sign * quality + rng.normal(0, noise, (n, s))
        scores[name] = sy.ScoreTable(values, uses=(name.rpartition("-")[2],))
    ids = tuple(str(i) for i in range(s))
    domains = tuple("news" if i < s // 2 else "chat" for i in range(s))
    return sy.EvalSet(tuple(f"s{i}" for i in range(n)), sy.Segments(ids, domains=domains), scores)


def benchmark(**changes):
    text = {
        "human": "mqm",
        "sets": (presets.SetSpec("en-de", "refA"), presets.SetSpec("zh-en", "refA")),
        "tasks": (presets.Task("pa", pooled=True), presets.Task("spa", weight=2.0)),
    } | changes
    return presets.Benchmark("toy", "Toy", **text)


SETS = {"en-de": toy(seed=1), "zh-en": toy(n=5, seed=2)}


def test_what_the_protocols_say():
    assert all(presets.preset(name).tasks for name in presets.NAMES)
    assert len(presets.preset("wmt25").sets) == 16
    assert {t.human for t in presets.preset("wmt25").sets} == {None, "mqm"}
    assert [t.reference for t in presets.preset("wmt24").sets] == ["refB", "refA", "refA"]
    assert presets.preset("wmt22").order == "rank"
    with pytest.raises(UsageError, match="no preset 'wmt32'"):
        presets.preset("wmt32")
    assert PRESETS == presets.NAMES  # of the command; wmt26 is no protocol of sets


def test_absent_sets_make_the_average_partial():
    result = run_benchmark(benchmark(), sets={"en-de": SETS["en-de"]})
    assert result.partial
    assert result.absent == ("zh-en",)
    assert "zh-en not available" in result.words().sureness[-1]
    assert result.to_dict()["absent"] == ["zh-en"]
    with pytest.raises(UsageError, match="none of the sets of 'toy'"):
        run_benchmark(benchmark())


def test_a_missing_set_does_not_change_the_draws_of_the_others():
    options: dict[str, Any] = {"significance": True, "n_resamples": 50}
    both = run_benchmark(benchmark(), sets=SETS, **options)
    one = run_benchmark(benchmark(), sets={"zh-en": SETS["zh-en"]}, **options)
    first = next(c for c in both.columns if c.test == "zh-en").null
    second = next(c for c in one.columns if c.test == "zh-en").null
    np.testing.assert_array_equal(first.differences, second.differences)


def test_processes_give_what_one_gives():
    options: dict[str, Any] = {"significance": True, "n_resamples": 20}
    alone, split = (
        run_benchmark(benchmark(), sets=SETS, workers=Workers(jobs=jobs), **options)
        for jobs in (1, 2)
    )
    assert dumps(alone.to_dict()) == dumps(split.to_dict())


def test_draws_of_other_orders_are_turned_round():
    one = Null(np.array([0.5, 0.3]), np.array([[0.1], [0.2]]), "inputs")
    two = Null(np.array([0.2, 0.4]), np.array([[0.3], [-0.1]]), "inputs")
    names, pooled = pool_draws([(("b", "a"), one, 1.0), (("a", "b"), two, 1.0)])
    assert names == ("a", "b")
    np.testing.assert_allclose(pooled.values, [0.5, 0.9])
    np.testing.assert_allclose(pooled.differences[:, 0], [-0.1 + 0.3, -0.2 - 0.1])


def test_mass_is_split_evenly():
    keys = [("de", "sys", "p"), ("de", "sys", "k"), ("de", "seg", "p"), ("ru", "seg", "p")]
    assert split_weights(keys) == [0.125, 0.125, 0.25, 0.5]


def test_domains_and_their_average():
    own = benchmark(
        sets=(presets.SetSpec("en-de"),), tasks=(presets.Task("spa", domains=True),),
        weights="domains",
    )  # fmt: skip
    result = run_benchmark(own, sets=SETS)
    assert [c.domain for c in result.columns] == [None, "chat", "news"]
    assert [c.weight for c in result.columns] == [0.0, 0.5, 0.5]
    chat = meta_evaluate(SETS["en-de"].select(domain="chat"), "mqm", by="spa", intervals=None)
    assert dict(result.columns[1].values) == chat.values("spa")


def write_tables(folder, es, lp):
    """Write a set as a folder of tables."""
    sy.save(es.select(scores=["mqm"]), folder / f"{lp}.human.csv")
    sy.save(es.drop(scores=["mqm"]), folder / f"{lp}.metrics.csv.gz")
    (folder / f"{lp}.notes.txt").write_text("nothing to read")


def test_the_command_reads_folders_and_adds_metrics_of_ones_own(tmp_path, capsys):
    for lp, es in SETS.items():
        write_tables(tmp_path, es, lp)
    own = SETS["en-de"].select(scores=["fair-refA"])
    mine = sy.EvalSet(own.systems, own.segments, {"mine-refZ": own["fair-refA"]})
    sy.save(mine, tmp_path / "mine.csv")
    asked = ["meta", "--preset", "wmt23", str(tmp_path), "--json"]
    assert run([*asked, "--add", f"en-de={tmp_path / 'mine.csv'}"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "mine-refZ" in [r["metric"] for r in found["results"]]
    assert found["absent"] == ["he-en"]
    assert found["partial"]
    assert run([*asked, "--add", str(tmp_path / "mine.csv")]) == 0
    assert "mine-refZ" in capsys.readouterr().out


LANGUAGES = {"en-de": "refA", "he-en": "refB", "zh-en": "refA"}  # with the reference of metrics


def write_wmt23(folder, seed=0, segments=12):
    """Write three made-up sets as tables; he-en has a second reference, which counts as a system.

    Give what people and metrics say of the systems that take part.
    """
    rng = np.random.default_rng(seed)
    kept = {}
    for n, (lp, ref) in enumerate(LANGUAGES.items(), start=4):
        refs = ["refA", "refB"] if lp == "he-en" else ["refA", "synthetic_ref"]
        systems = [*(f"s{i}" for i in range(n)), *refs]
        quality = rng.normal(0, 1, (len(systems), 1)) + rng.normal(0, 1, (len(systems), segments))
        tables = {"mqm": np.round(quality)}
        for name, noise in ((f"good-{ref}", 0.4), (f"fair-{ref}", 1.5), ("odd-src", 3.0)):
            tables[name] = quality + rng.normal(0, noise, quality.shape)
        es = sy.EvalSet(
            tuple(systems),
            sy.Segments(tuple(str(i) for i in range(segments))),
            {name: sy.ScoreTable(values) for name, values in tables.items()},
        )
        sy.save(es.select(scores=["mqm"]), folder / f"{lp}.human.csv")
        sy.save(es.drop(scores=["mqm"]), folder / f"{lp}.metrics.seg.csv")
        texts = [{"seg": str(i), "src": "x", "refs": dict.fromkeys(refs, "y"), "out": {}}
                 for i in range(segments)]  # fmt: skip
        (folder / f"{lp}.text.jsonl").write_text("".join(f"{json.dumps(t)}\n" for t in texts))
        out = {ref, "synthetic_ref"} | (set() if lp == "he-en" else set(refs))
        rows = [i for i, system in enumerate(systems) if system not in out]
        kept[lp] = {name.replace(f"-{ref}", "-ref"): v[rows] for name, v in tables.items()}
    return kept


def calibrated_accuracy(human, metric):
    """Best share of pairs that are ordered or tied alike, over every epsilon; by definition."""
    i, j = np.triu_indices(len(human), 1)
    order = np.sign(human[i] - human[j])
    gap = metric[i] - metric[j]
    return max(
        (np.where(np.abs(gap) <= epsilon, 0, np.sign(gap)) == order).mean(axis=0).mean()
        for epsilon in {0.0, *np.abs(gap).ravel().tolist()}
    )


def test_wmt23_with_sets_that_differ_in_human_systems_by_hand(tmp_path):
    kept = write_wmt23(tmp_path)
    assert [len(own["mqm"]) for own in kept.values()] == [4, 6, 6]  # he-en with refA
    options: dict[str, Any] = {"significance": True, "n_resamples": 400}
    result = run_benchmark(presets.preset("wmt23"), tmp_path, **options)
    assert [len(own.systems) for own in result.sets] == [4, 6, 6]
    assert [c.label for c in result.columns if c.by == "pa"] == ["all pa sys +human"]
    expected = {}
    for name in ("good-ref", "fair-ref", "odd-src"):
        right = pairs = 0
        total = 0.0
        for own in kept.values():
            h, m = own["mqm"].mean(axis=1), own[name].mean(axis=1)
            for a, b in combinations(range(len(h)), 2):
                right += np.sign(h[a] - h[b]) == np.sign(m[a] - m[b])
                pairs += 1
            total += (np.corrcoef(h, m)[0, 1] + 1) / 2
            total += (np.corrcoef(own["mqm"].ravel(), own[name].ravel())[0, 1] + 1) / 2
            total += calibrated_accuracy(own["mqm"], own[name])
        assert pairs == 6 + 15 + 15
        expected[name] = (3 * right / pairs + total) / 12  # the organisers' weights
    found = {s.metric: s.average for s in result.standings}
    assert found == pytest.approx(expected, abs=1e-12)
    assert list(found) == sorted(expected, key=lambda n: -expected[n])
    weights = {c.label: c.weight for c in result.columns}
    assert weights.pop("all pa sys +human") == pytest.approx(3 / 12)
    assert list(weights.values()) == pytest.approx([1 / 12] * 9)
    # The test of the average weighs the same draws by the same weights.
    test = result.significance
    one, two = "good-ref", "odd-src"
    null, observed = np.zeros(400), 0.0
    for c in result.columns:
        i, j = c.names.index(one), c.names.index(two)
        pair = list(combinations(range(3), 2)).index((min(i, j), max(i, j)))
        share = (1 if i < j else -1) * (3 if c.by == "pa" else 1) / 12 / (1 - c.lowest)
        null += share * c.null.differences[:, pair]
        observed += share * (c.null.values[i] - c.null.values[j]) * (1 if i < j else -1)
    by_hand = (1 + (null >= observed - 1e-6).sum()) / 401
    place = [test.metrics.index(name) for name in (one, two)]
    assert test.p[tuple(place)] == pytest.approx(by_hand)
    ranks = {s.metric: s.rank for s in result.standings}
    assert (ranks[two] == ranks[one]) == (by_hand > 0.05)


def with_references(es, *names):
    """Call the last systems references."""
    systems = (*es.systems[: es.n_systems - len(names)], *names)
    refs = dict.fromkeys(("refA", *names), ("x",) * es.n_segments)
    return sy.EvalSet(systems, sy.Segments(es.segments.ids, references=refs), dict(es.scores))


def test_human_translations_take_part_where_asked():
    """A pooled task with and without them has all sets in both."""
    sets = {"en-de": with_references(toy(n=6, seed=1), "refB"), "zh-en": toy(n=5, seed=2)}
    for asked in (False, True):
        kept = benchmark(sets=(presets.SetSpec("en-de", "refA", human_systems=asked),))
        assert ("refB" in run_benchmark(kept, sets=sets).sets[0].systems) == asked
    tasks = (presets.Task("pa", pooled=True, both_humans=True),)
    result = run_benchmark(benchmark(tasks=tasks), sets=sets)
    assert [(c.label, c.weight) for c in result.columns] == [
        ("all pa sys", 0.5), ("all pa sys +human", 0.5)
    ]  # fmt: skip
    for column, first in zip(result.columns, (5, 6), strict=True):
        right, pairs = 0.0, 0
        for es, n in ((sets["en-de"], first), (sets["zh-en"], 5)):
            rows = [i for i, s in enumerate(es.systems) if n == 6 or s != "refB"]
            means = [es[name].values[rows].mean(axis=1) for name in ("mqm", "fair-refA")]
            right += pairwise_accuracy(*means).value * (n * (n - 1) // 2)
            pairs += n * (n - 1) // 2
        assert column.values["fair-refA"] == pytest.approx(right / pairs)


def test_units_and_the_common_part_apply_to_protocols():
    es = toy(seed=3)
    documents = tuple(f"d{i // 8}" for i in range(40))
    lost = es["odd-src"].values.copy()
    lost[:2, :4] = np.nan
    es = sy.EvalSet(es.systems, sy.Segments(es.segments.ids, documents=documents), dict(es.scores))
    es = es.with_scores("odd-src", lost, uses=("src",))
    tasks = (presets.Task("spa"), presets.Task("acc-eq"))
    one = benchmark(sets=(presets.SetSpec("en-de"),), tasks=tasks)
    options: dict[str, Any] = {"significance": True, "n_resamples": 200}
    result = run_benchmark(one, sets={"en-de": es}, unit="document", common=True, **options)
    own = meta_evaluate(es, "mqm", by=["spa", "acc-eq"], intervals=None, unit="document",
                        rules=sy.meta_rules(common=True))  # fmt: skip
    for column in result.columns:
        assert column.values == pytest.approx(own.values(column.by))
    assert "en-de: common: excluded 4 of 40 segments, which a metric lacks" in result.warnings
    plain = run_benchmark(one, sets={"en-de": es}, **options)
    assert any("'odd-src' lacks 8 of 240 scores" in w for w in plain.warnings)
    assert plain.columns[0].values != result.columns[0].values
    assert result.provenance.options["unit"] == "document"
    with pytest.raises(UsageError, match="method mtme flips single segments"):
        run_benchmark(one, sets={"en-de": es}, method="mtme", unit="document")


def test_wmt23_on_real_data(shared):
    folder = shared / "wmt23-metrics"
    result = run_benchmark(presets.preset("wmt23"), folder)
    assert result.absent == ("he-en",)
    assert len(result.columns) == 7
    weights = {c.label: c.weight for c in result.columns}
    assert weights["all pa sys"] == pytest.approx(2 / 8)
    for lp in ("en-de", "zh-en"):
        with (folder / f"{lp}.expected.csv").open() as stream:
            rows = {r["metric"]: r for r in csv.DictReader(stream) if r["gold"] == "mqm"}
        for c in result.columns:
            key = {"pearson": "sys_pearson" if c.level == "sys" else "seg_pearson",
                   "acc-eq": "seg_acc_eq_calibrated_item"}.get(c.by)  # fmt: skip
            if c.test != lp or key is None:
                continue
            checked = 0
            for name, row in rows.items():
                value = c.values.get(name.replace("-refA", "-ref"), np.nan)
                if row[key] and not np.isnan(value):
                    assert value == pytest.approx(float(row[key]), abs=1e-6), (lp, name)
                    checked += 1
            assert checked > 40


@pytest.mark.parametrize("correction", ["bonferroni", "holm"])
def test_corrections_hold_for_protocols(correction):
    result = run_benchmark(benchmark(), sets=SETS, significance=True, n_resamples=400,
                           correction=correction)  # fmt: skip
    plain = run_benchmark(benchmark(), sets=SETS, significance=True, n_resamples=400)
    test, without = result.significance, plain.significance
    assert test.correction == correction
    # The pooled task counts once per set, the other one twice on each set.
    assert [c.weight for c in result.columns] == pytest.approx([2 / 6, 2 / 6, 2 / 6])
    expected = adjust_pairs(without.p, correction, symmetric=False)
    np.testing.assert_allclose(test.p_adjusted, expected)
    placed = greedy_clusters(np.where(np.isnan(expected), 1.0, expected), 0.05)
    ranks = {s.metric: s.rank for s in result.standings}
    assert [ranks[name] for name in test.metrics] == placed.tolist()
    assert result.provenance.options["correction"] == correction


def test_what_a_pooled_task_tests_is_what_it_shows():
    """A metric without some system counts the pairs that it has, and is not tested."""
    es = SETS["zh-en"]
    scores = es["fair-refA"].values.copy()
    scores[0] = np.nan
    sets = {**SETS, "zh-en": es.with_scores("fair-refA", scores)}
    options: dict[str, Any] = {"significance": True, "n_resamples": 200}
    result = run_benchmark(benchmark(), sets=sets, **options)
    pooled = next(c for c in result.columns if c.test == "all")
    right = pairs = 0
    for known, rows in ((SETS["en-de"], slice(None)), (es, slice(1, None))):
        h, m = (known[name].values[rows].mean(axis=1) for name in ("mqm", "fair-refA"))
        for a, b in combinations(range(len(h)), 2):
            right += np.sign(h[a] - h[b]) == np.sign(m[a] - m[b])
            pairs += 1
    assert pooled.values["fair-refA"] == pytest.approx(right / pairs)
    assert "fair-refA" not in pooled.names
    assert any("'fair-refA' lack systems and were not tested" in w for w in result.warnings)
    shown = [pooled.values[name] for name in pooled.names]
    np.testing.assert_allclose(pooled.null.values, shown)
    whole = run_benchmark(benchmark(), sets=sets, common=True, **options)
    assert "fair-refA" in next(c for c in whole.columns if c.test == "all").names


def test_options_without_a_part_in_a_protocol_are_named(tmp_path, capsys):
    write_wmt23(tmp_path)
    asked = ["meta", str(tmp_path), "--preset", "wmt23", "--json"]
    assert run([*asked, "--by", "spa", "--epsilon", "0"]) == 0
    told = "--by, --epsilon are ignored in a protocol"
    assert told in json.loads(capsys.readouterr().out)["warnings"]
    assert run(asked) == 0
    assert not any("ignored" in text for text in json.loads(capsys.readouterr().out)["warnings"])
