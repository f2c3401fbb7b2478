"""Rankings as organisers publish them: WMT24 and WMT25 on their own files, and edge cases."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, norm, wilcoxon

import steelyard as sy
from steelyard import human_scores, load
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.judgements import Ratings
from steelyard.formats.load import read
from steelyard.formats.save import save
from steelyard.human.official import false_separations, leads, unlike_others
from steelyard.human.options import PRESETS

PAIRS = ("en-ja", "en-hi", "en-cs")
TABLES = {"wmt24": "ranking", "wmt24-micro": "ranking.micro", "wmt25": "ranking.wmt25-rule"}
NAN = float("nan")


def rows_of(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def found(shared):
    """Every preset of every pair, by the raw files (wmt24 only) and by the list of ratings."""
    folder = shared / "wmt24-esa"
    results = {}
    for pair in PAIRS:
        raw = sorted(folder.glob(f"{pair}.appraise.*"))
        text = load(folder / f"{pair}.text.jsonl.gz")
        esa = read([folder / f"{pair}.esa.jsonl.gz"]).parts[0].value
        for preset in TABLES:
            results[pair, preset, "list"] = ranked(esa, text, preset=preset)
        results[pair, "wmt24", "raw"] = ranked(*raw, text)
    return results


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("preset", "source"), [*((preset, "list") for preset in TABLES), ("wmt24", "raw")]
)
def test_the_published_tables(shared, found, pair, preset, source):
    expected = rows_of(shared / "wmt24-esa" / f"{pair}.expected.{TABLES[preset]}.csv")
    result = found[pair, preset, source]
    systems = [one.to_dict() for one in result.systems]
    assert [one["system"] for one in systems] == [row["system"] for row in expected]
    for own, row in zip(systems, expected, strict=True):
        score = row.get("overall", row.get("mean"))
        assert own["score"] == pytest.approx(float(score), abs=1e-8)
        for name in ("rank_from", "rank_to", "cluster"):
            assert own[name] == int(row[name]), (own, row)
        assert (own["range_from"], own["range_to"]) == (own["rank_from"], own["rank_to"])
    if preset == "wmt24":
        domains = [name for name in expected[0] if name in {"literary", "news", "social", "speech"}]
        for own, row in zip(result.parts["domains"].records(), expected, strict=True):
            for name in domains:
                assert own[name] == pytest.approx(float(row[name]), abs=1e-6)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_p_values(shared, found, pair):
    expected = rows_of(shared / "wmt24-esa" / f"{pair}.expected.pvalues.csv")
    columns = {"wmt24": "p_macro_stouffer", "wmt24-micro": "p_micro_wilcoxon"}
    for preset, column in columns.items():
        result = found[pair, preset, "list"]
        place = {one.system: i for i, one in enumerate(result.systems)}
        for row in expected:
            i, j = place[row["a"]], place[row["b"]]
            assert p_of(result)[i, j] == pytest.approx(float(row[column]), abs=1e-9)
            assert p_of(result)[j, i] == p_of(result)[i, j]


def test_what_stands_beside_the_ranking(found):
    result = found["en-cs", "wmt24", "list"]
    preset = result.to_dict()["preset"]
    assert preset["name"] == "wmt24"
    assert preset["overall"] == "mean of domain means"
    assert list(preset["domains"]) == ["literary", "news", "social", "speech"]
    by_name = {row["system"]: row for row in result.parts["variants"].records()}
    assert by_name["ONLINE-W"]["wmt24 range"] == "2"
    assert "preset:wmt24" in json.dumps(result.provenance.to_dict()).replace('": "', ":")


def test_documents_and_domains_are_carried_on(shared, tmp_path, capsys):
    folder = shared / "wmt24-esa"
    out = tmp_path / "scores.csv"
    arguments = ["human", str(folder / "en-hi.appraise.wave2.csv.gz"), "--protocol", "esa"]
    arguments += ["--bootstrap", "0"]
    assert run([*arguments, "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    es = load(out)
    assert len(es.documents) > 10
    assert es.domains == ()
    texts = str(folder / "en-hi.text.jsonl.gz")
    assert run([*arguments, texts, "--preset", "wmt25", "--out", str(out), "--json"]) == 0
    assert load(out).domains == ("literary", "news", "social", "speech")
    printed = capsys.readouterr().out
    result = json.loads(printed[printed.index("{") :])
    assert result["systems"][0]["rank_to"] == 2
    assert result["preset"]["name"] == "wmt25"


# Small sets.


def ratings(values, segments=None, **more):
    """Ratings of systems A, B, ... (rows) on segments 1, 2, ... (columns); NaN is no rating."""
    values = np.array(values, dtype=float)
    rows = [(i, j) for i, j in np.ndindex(values.shape) if not np.isnan(values[i, j])]
    return Ratings.from_labels(
        ["ABCDEFG"[i] for i, _ in rows],
        [str(j + 1) if segments is None else segments[j] for _, j in rows],
        ["r"] * len(rows),
        np.array([values[i, j] for i, j in rows]),
        **{name: tuple(column[j] for _, j in rows) for name, column in more.items()},
    )


def p_of(result) -> Any:
    return result.p


def rule_of(result) -> Any:
    return result.rule


def facts(domains, documents=None):
    columns = {"segment": [str(j + 1) for j in range(len(domains))], "domain": list(domains)}
    return pl.DataFrame(columns | ({} if documents is None else {"doc": list(documents)}))


def ranked(*sources, preset="wmt24"):
    return human_scores(*sources, protocol="esa", preset=preset, n_bootstrap=0)


@given(st.integers(2, 5), st.integers(0, 10**6))
def test_the_rules_of_wmt24_as_they_read(n, seed):
    rng = np.random.default_rng(seed)
    domains = "a" * 20 + "b" * 30 + "c" * 55
    scores = rng.integers(0, 100, (n, 105)) + rng.integers(0, 25, (n, 1)).astype(float)
    result = ranked(ratings(scores / 2), facts(domains))
    of = np.array(list(domains))
    overall = [np.mean([row[of == d].mean() for d in "abc"]) / 2 for row in scores]
    names = {name: i for i, name in enumerate("ABCDEFG")}
    order = [names[s.system] for s in result.systems]
    assert [s.score for s in result.systems] == pytest.approx(sorted(overall, reverse=True))
    p = np.full((n, n), NAN)
    for i, j in itertools.permutations(range(n), 2):
        gap = scores[order[i]] - scores[order[j]]
        z = [norm.ppf(1 - wilcoxon(gap[of == d]).pvalue) for d in "abc"]
        p[i, j] = 1 - norm.cdf(sum(z) / 3**0.5)
    np.testing.assert_allclose(result.p, p, atol=1e-9)
    for i, own in enumerate(result.systems):
        wins = sum(p[i, j] < 0.05 and own.score > o.score for j, o in enumerate(result.systems))
        losses = sum(p[i, j] < 0.05 and own.score < o.score for j, o in enumerate(result.systems))
        assert (own.rank_from, own.rank_to, own.wins) == (losses + 1, n - wins, wins)


def test_a_domain_with_one_segment_says_no_difference_for_certain():
    """Two-sided p of one difference is 1, hence z = -inf: the organisers' rule as it is."""
    rng = np.random.default_rng(0)
    scores = np.vstack([rng.integers(60, 99, 61), rng.integers(0, 40, 61)])
    result = ranked(ratings(scores), facts("x" * 60 + "y"))
    assert p_of(result)[0, 1] == 1
    assert [s.range_to for s in result.systems] == [2, 2]


def test_zeros_alone_in_a_domain_leave_the_pair_undefined():
    rng = np.random.default_rng(0)
    first = rng.integers(50, 99, 40)
    second = np.r_[first[:20] - 30, first[20:]]
    result = ranked(ratings([first, second]), facts("x" * 20 + "y" * 20))
    assert math.isnan(p_of(result)[0, 1])
    assert [s.cluster for s in result.systems] == [1, 1]


def test_missing_cells_and_domains_that_a_pair_does_not_share():
    x = np.tile([80.0, 85, 90, 70], 5)
    y = x - np.arange(20) % 3 - 1
    y[::7] = NAN
    result = ranked(ratings([x, y]), facts("ab" * 10))
    assert result.systems[1].n_segments == 17
    assert not math.isnan(p_of(result)[0, 1])
    apart = [np.r_[x, [NAN, 50]], np.r_[y, [60, NAN]]]
    result = ranked(ratings(apart), facts("ab" * 10 + "cc"))
    assert math.isnan(p_of(result)[0, 1])
    lacking = [np.r_[x, [50]], np.r_[x - 1, [NAN]]]
    result = ranked(ratings(lacking), facts("ab" * 10 + "c"))
    assert [(s.system, s.rank) for s in result.systems] == [("A", 1), ("B", None)]
    assert any("1 system without a score in every domain (c)" in w for w in result.warnings)


def test_repeats_and_earlier_rows_do_not_count():
    own = Ratings.from_labels(
        ["A", "A", "A", "B"], ["1"] * 4, ["r"] * 4, np.array([10.0, 30, 90, 50]),
        item=("system", "system", "repeat", "system"),
    )  # fmt: skip
    result = ranked(own, preset="wmt25")
    assert {s.system: s.score for s in result.systems} == {"A": 30, "B": 50}
    said = " ".join(result.warnings)
    assert "1 repeat" in said
    assert "1 row" in said
    assert "2 annotations" in said


def test_every_rating_is_an_item_of_wmt25():
    values = np.array([70.0, 90, 60, 80, 50, 60])
    own = Ratings.from_labels(
        ["A", "A", "A", "A", "B", "B"], ["1", "1", "2", "2", "1", "2"], list("rsrsrr"), values
    )
    result = ranked(own, preset="wmt25")
    assert {s.system: s.score for s in result.systems} == {"A": 75, "B": 55}


def waves(rng, shape, *, twice=False, lacking=False):
    """Make a campaign of two waves in the published form; raters differ between systems."""
    systems, raters = [f"S{k}" for k in range(5)], [f"r{k:02d}" for k in range(8)]
    severity, quality = rng.normal(0, 8, len(raters)), rng.normal(0, 3, len(systems))
    rows = []
    for document, segment in itertools.product(range(8), range(4)):
        scores: dict[str, Any] = {}
        for i, system in enumerate(systems):
            who = rng.choice(len(raters), 2, replace=twice)
            values = [round(float(70 + quality[i] + severity[w] + rng.normal(0, 6))) for w in who]
            values = [min(max(value, 0), 100) for value in values]
            first = None if lacking and rng.random() < 0.2 else values[0]
            judged = [(first, raters[who[0]]), (values[1], raters[who[1]])]
            scores[system] = (
                [{"score": value, "annotator": rater, "errors": []} for value, rater in judged]
                if shape == "list"
                else {key: cell for k, (value, rater) in enumerate(judged, 1) for key, cell in
                      ((f"human{k}", value), (f"errors{k}", []), (f"annotator{k}", rater))}
            )  # fmt: skip
        rows.append({"doc_id": f"en-zh_#_news_#_d{document}_#_{segment}", "src_text": "s",
                     "tgt_text": dict.fromkeys(systems, "t"), "scores": scores})  # fmt: skip
    return rows


def wave_score(judged, k):
    value = judged[k]["score"] if isinstance(judged, list) else judged[f"human{k + 1}"]
    return NAN if value is None else value


def ranked_by_wave(rows):
    """Rank as WMT25's humeval/05-compute_clusters.py: both waves of all segments are items."""
    items = {
        system: np.array([wave_score(row["scores"][system], k) for k in (0, 1) for row in rows])
        for system in rows[0]["scores"]
    }
    order = sorted(items, key=lambda name: -np.nanmean(items[name]))

    def beats(a, b):
        gaps = items[a] - items[b]
        return wilcoxon(gaps[~np.isnan(gaps)], alternative="greater").pvalue < 0.05

    ranks = {}
    for i, name in enumerate(order):
        first = last = i + 1
        for better in reversed(order[:i]):
            if beats(better, name):
                break
            first -= 1
        for worse in order[i + 1 :]:
            if beats(name, worse):
                break
            last += 1
        ranks[name] = (float(np.nanmean(items[name])), first, last)
    return ranks, sum(int((~np.isnan(values)).sum()) for values in items.values())


@pytest.mark.parametrize("shape", ["list", "numbered"])
@pytest.mark.parametrize("case", [{}, {"twice": True}, {"lacking": True}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_ratings_of_wmt25_are_paired_by_wave(tmp_path, shape, case, seed):
    rows = waves(np.random.default_rng(seed), shape, **case)
    path = tmp_path / "humeval.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected, n_ratings = ranked_by_wave(rows)
    native = tmp_path / "native.parquet"
    save(load(path), native, to="native")
    for source in (path, native):
        result = ranked(source, preset="wmt25")
        assert sum(one.n_ratings for one in result.systems) == n_ratings
        assert not any("names of raters" in warning for warning in result.warnings)
        for one in result.systems:
            score, first, last = expected[one.system]
            assert one.score == pytest.approx(score, abs=1e-9)
            assert (one.rank_from, one.rank_to) == (first, last)


def test_what_a_preset_needs_and_leaves_no_choice_of():
    own = ratings([[1, 2, 3], [3, 2, 1]])
    with pytest.raises(UsageError, match=r'preset="wmt24" averages over domains, .* add a text'):
        ranked(own)
    with pytest.raises(UsageError, match="those of the segments of 3 are not known"):
        ranked(own, facts("ab"))
    chosen: dict[str, Any] = {"test": "rank-sum", "alpha": 0.1, "clusters": "none",
                              "quality_control": True, "standardised": True}  # fmt: skip
    for name, value in chosen.items():
        with pytest.raises(UsageError, match=f"leaves no choice of {name}="):
            human_scores(own, protocol=sy.esa(**{name: value}), preset="wmt25")
    human_scores(own, protocol=sy.esa(standardised=False), preset="wmt25")
    with pytest.raises(UsageError, match='preset="wmt25" applies to protocol esa'):
        human_scores(own, protocol="da", preset="wmt25")
    with pytest.raises(UsageError, match="leaves no choice of unit="):
        human_scores(own, protocol="esa", preset="wmt25", unit="segment")
    assert {*TABLES, "wmt22", "wmt26"} == set(
        PRESETS
    )  # that of direct assessment is tested with it


# WMT26: a dynamic campaign of contrastive ESA.


def campaign(rng, quality, n_screens=160, odd=None):
    """Screens of three systems, as rows: screen, rater, document, segment, system, score."""
    documents = rng.normal(70, 8, 30)
    rows = []
    for screen in range(n_screens):
        rater, d = f"u{rng.integers(6)}", int(rng.integers(30))
        for s in rng.choice(len(quality), 3, replace=False):
            for k in range(3):
                score = documents[d] + quality[s] + rng.normal(0, 8)
                score = rng.uniform(0, 100) if rater == odd else score
                rows.append((screen, rater, d, k, f"S{s}", float(np.clip(score, 0, 100))))
    return rows


def as_log(path, rows):
    """Write the rows as pearmut does, below the name of their campaign."""
    lines = []
    for screen, group in itertools.groupby(rows, key=lambda row: row[0]):
        part = list(group)
        names = {row[3]: f"news_###_doc{row[2]}_###_{row[3]}" for row in part}
        of = {k: {row[4]: row[5] for row in part if row[3] == k} for k in names}
        items = [{"item_id": names[k], "src": names[k], "tgt": dict.fromkeys(of[k], "t")}
                 for k in names]  # fmt: skip
        judged = [{s: {"score": v, "error_spans": []} for s, v in of[k].items()} for k in names]
        lines.append({"user_id": part[0][1], "item_i": screen, "item": items, "annotation": judged})
    path.write_text(json.dumps({"ces_Latn---deu_Latn v3": lines}))
    return path


def naive_banned(rows):
    """Whom 02a-filter_data.py removes, line by line."""
    scores = {s: [row[5] for row in rows if row[4] == s] for s in {row[4] for row in rows}}
    chances: dict[str, list[float]] = {}
    for screen in sorted({row[0] for row in rows}):
        here = [row for row in rows if row[0] == screen]
        for a, b in itertools.combinations(here, 2):
            if a[3] == b[3] and min(len(scores[a[4]]), len(scores[b[4]])) > 10:
                mu = np.mean(scores[a[4]]) - np.mean(scores[b[4]])
                var = np.var(scores[a[4]], ddof=1) + np.var(scores[b[4]], ddof=1)
                chance = 2 ** -((a[5] - b[5] - mu) ** 2 / (2 * var + 1e-6))
                chances.setdefault(a[1], []).append(chance)
    lines = {r: len({row[0] for row in rows if row[1] == r}) for r in chances}
    return {r for r, c in chances.items() if lines[r] >= 3 and np.mean(c) < 0.75}


def naive_better(a, b, rng):
    """02b-analyze_results.py, with a seed."""
    how: dict[str, Any] = {"n_resamples": 100, "confidence_level": 0.95, "alternative": "greater"}
    gap = (a - b)[~np.isnan(a - b)]
    paired = len(gap) >= 2 and (gap > 0).any()
    if paired and bootstrap((gap,), np.mean, rng=rng, **how).confidence_interval.low > 0:
        return True
    both = a[~np.isnan(a)], b[~np.isnan(b)]

    def difference(x, y, axis=-1):
        return np.mean(x, axis=axis) - np.mean(y, axis=axis)

    return bool(bootstrap(both, difference, rng=rng, **how).confidence_interval.low > 0)


def test_the_verdict_of_wmt26_is_that_of_its_script():
    rng = np.random.default_rng(0)
    called = []
    for seed in range(60):
        a, b = np.clip(rng.normal([[72], [69]], 12, (2, 60)), 0, 100)
        a[rng.random(60) < 0.4], b[rng.random(60) < 0.6] = NAN, NAN
        streams = (np.random.default_rng(seed) for _ in range(2))
        called.append(leads(a, b, 100, next(streams)))
        assert called[-1] == naive_better(a, b, next(streams))
    assert 5 < sum(called) < 55


def test_wmt26_as_its_scripts_read(tmp_path, capsys):
    rows = campaign(np.random.default_rng(1), [0, 1, 2, 4, 8], odd="u3")
    path = as_log(tmp_path / "annotations.json", rows)
    banned = naive_banned(rows)
    assert banned == {"u3"}
    ratings = load(path).ratings["human"]
    assert len(ratings) == len(rows)
    assert {ratings.raters[k] for k in unlike_others(ratings, 0.75)} == banned
    command = ["human", str(path), "--preset", "wmt26", "--seed", "3", "--json"]
    assert run(command) == 0
    result = json.loads(capsys.readouterr().out)
    cells: dict[str, dict[tuple[int, int], list[float]]] = {}
    for _, rater, d, k, system, score in rows:
        if rater not in banned:
            cells.setdefault(system, {}).setdefault((d, k), []).append(score)
    means = {s: np.mean([np.mean(v) for v in c.values()]) for s, c in cells.items()}
    order = sorted(means, key=lambda s: -means[s])
    assert [s["system"] for s in result["systems"]] == order
    for own in result["systems"]:
        assert own["score"] == pytest.approx(means[own["system"]])
    beats = np.array(result["preset"]["beats"])
    n = len(order)
    for i, own in enumerate(result["systems"]):
        top, bottom = i, i
        for top in range(i, -1, -1):
            if beats[top - 1, i]:
                break
        for bottom in range(i, n - 1):
            if beats[i, bottom + 1]:
                break
        assert (own["rank_from"], own["rank_to"]) == (top + 1, bottom + 1)
    kinds = {line["after"]: line["kind"] for line in result["preset"]["lines"]}
    for k in range(n - 1):
        whole, local = beats[: k + 1, k + 1 :].all(), beats[k, k + 1]
        assert kinds.get(order[k]) == ("cluster" if whole else "local" if local else None)
    pairs = result["preset"]["pairs"]
    assert pairs["official"] == beats.sum() >= pairs["ours"] > 0
    assert pairs["official"] - pairs["official_only"] == pairs["ours"] - pairs["ours_only"]
    assert [row["system"] for row in result["variants"]] == order
    assert result["preset"]["false_separations"]["n"] == 1000
    assert any("u3" in warning for warning in result["warnings"])


def test_equal_systems_are_separated_too_often_by_wmt26_and_not_by_ours():
    rng = np.random.default_rng(5)
    blocks = np.repeat(np.arange(40), 4)
    shared = rng.normal(size=(6, 40))[:, blocks] * 8
    scores = 70 + shared + rng.normal(0, 6, (6, 160)) + np.arange(6)[:, None]
    scores[rng.random((6, 40))[:, blocks] < 0.5] = NAN
    rates = false_separations(scores, blocks, 300, rng)
    assert 0.06 <= rates["ours"] <= 0.14
    assert rates["official"] > 0.25


def test_systems_that_share_few_segments_are_tested_by_all_their_outputs():
    scores = np.full((3, 60), NAN)
    rng = np.random.default_rng(0)
    for k, start in enumerate((0, 0, 30)):
        scores[k, start : start + 30] = rng.normal(70 - 5 * k, 9, 30).clip(0, 100)
    result = human_scores(ratings(scores), protocol="esa", n_bootstrap=0)
    assert rule_of(result).test == "permutation or cluster-t"
    apart = human_scores(ratings(scores[1:]), protocol="esa", n_bootstrap=0)
    assert apart.decisions[0].test == "cluster-t"
    assert p_of(apart)[0, 1] < 0.5
    asked = human_scores(ratings(scores), protocol=sy.esa(test="permutation"), n_bootstrap=0)
    assert rule_of(asked).test == "permutation"


def test_a_lead_that_shared_segments_deny_has_the_two_sided_p():
    scores = np.full((2, 20), 60.0)
    scores[0, :16] += np.where(np.arange(16) % 2, 4.0, -6.0)  # behind on what both have
    scores[1, 16:] = NAN
    scores[0, 16:] = 100.0
    (decision,) = human_scores(
        ratings(scores), protocol=sy.esa(test="permutation"), n_bootstrap=0
    ).decisions
    assert decision.leader == "A"
    gap = scores[0, :16] - scores[1, :16]
    signs = np.array(list(itertools.product((-1, 1), repeat=16)))
    expected = (np.abs(signs @ gap) >= abs(gap.sum()) - 1e-9).mean()
    assert decision.p == pytest.approx(expected, abs=1e-12)
