"""Error spans and the metrics task of WMT26: golden values, naive twins, error rates."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.metaevaluation.errorspans import metrics_task, swap_pvalues
from steelyard.metaevaluation.options import MetaOptions
from steelyard.metaevaluation.spanmeasures import best_threshold, counts_of, detection, f_scores

CAMPAIGNS = ("ESA-1", "ESA-2", "MQM-1", "MQM-WMT")
ALL = ("wmt25", "mpp", "em", "mp", "mpp-sev", "wmt23")


def marks(text: str) -> Any:
    """Read spans such as '0-5M 3-9m'; M is major."""
    rows = [[*part[:-1].split("-"), part[-1] == "M"] for part in text.split()]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


#: Gold and prediction of each output; precision, recall and F by wmt25 and mpp; F by em and mp.
GOLDEN = [
    (["0-5M"], ["0-5m"], (0.5, 0.5, 0.5), (1, 1, 1), 1, 1),
    (["8-20m"], ["14-20m"], (1, 0.5, 2 / 3), (1, 0.5, 2 / 3), 0, 1),
    (["0-5M"], [""], (1, 0, 0), (1, 0, 0), 0, 0),
    ([""], ["0-4m"], (0, 1, 0), (0, 1, 0), 0, 0),
    ([""], [""], (1, 1, 1), (1, 1, 1), 1, 1),
    (["0-10M"], ["0-4M 6-10m"], (0.75, 0.6, 2 / 3), (0.5, 0.4, 4 / 9), 0, 2 / 3),
    (["0-6M 3-9m"], ["3-6M"], (1, 0.25, 0.4), (1, 0.25, 0.4), 0, 2 / 3),
    (["0-4m 0-4m"], ["0-4m"], (1, 0.5, 2 / 3), (1, 0.5, 2 / 3), 2 / 3, 2 / 3),
    (["0-6M 6-8m"], ["4-8M 0-3m"], (9 / 14, 0.5625, 0.6), (0.75, 0.75, 0.75), 0, 1),
    (["0-5M", ""], ["2-7m", "0-3m"], (0.1875, 0.3, 3 / 13), (0.3, 0.6, 0.4), 0, 2 / 3),
]


@pytest.mark.parametrize(("gold", "pred", "wmt25", "mpp", "em", "mp"), GOLDEN)
def test_golden_cases(gold, pred, wmt25, mpp, em, mp):
    def values(measure):
        outputs = [counts_of(measure, marks(g), marks(p)) for g, p in zip(gold, pred, strict=True)]
        return [float(x) for x in f_scores(np.sum(outputs, axis=0))]

    assert values("wmt25") == pytest.approx(wmt25, abs=1e-9)
    assert values("mpp") == pytest.approx(mpp, abs=1e-9)
    assert (values("em")[2], values("mp")[2]) == pytest.approx((em, mp), abs=1e-9)


def test_severities_by_hand():
    """At 0-5 weights 1 and .2 share .2; of the wmt23 characters half agree in severity."""
    earned, said, found, marked = counts_of("mpp-many", marks("0-10M"), marks("0-5m"))
    assert (earned, said, found, marked) == pytest.approx((0.2, 0.2, 0.1, 1.0))
    assert counts_of("wmt23", marks("0-6M 3-9m"), marks("3-6M")) == (3, 3, 3, 9)
    assert counts_of("mpp-sev", marks("0-5M"), marks("0-5m")) == (0.5, 1, 0.5, 1)


@given(st.integers(0, 100_000), st.sampled_from(["mpp", "mpp-sev", "mp"]))
def test_matchings_against_all_of_them(seed, measure):
    rng = np.random.default_rng(seed)

    def drawn(n):
        start = rng.integers(0, 12, n)
        return np.stack([start, start + rng.integers(1, 8, n), rng.integers(0, 2, n)], axis=1)

    gold, pred = drawn(rng.integers(1, 5)), drawn(rng.integers(1, 5))
    best = 0.0
    for partners in itertools.permutations([*range(len(gold)), *[None] * len(pred)], len(pred)):
        sums = np.array([0.0, len(pred), 0.0, len(gold)])
        for p, j in zip(pred, partners, strict=True):
            overlap = 0 if j is None else min(p[1], gold[j][1]) - max(p[0], gold[j][0])
            if overlap > 0:
                worth = 0.5 if measure == "mpp-sev" and p[2] != gold[j][2] else 1.0
                whole = measure == "mp"
                sums[0] += worth * (1 if whole else overlap / (p[1] - p[0]))
                sums[2] += worth * (1 if whole else overlap / (gold[j][1] - gold[j][0]))
        best = max(best, float(f_scores(sums)[2]))
    assert float(f_scores(np.array(counts_of(measure, gold, pred)))[2]) == pytest.approx(best)


@pytest.mark.parametrize("average", ["micro", pytest.param("macro", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "gold", [CAMPAIGNS[0], *(pytest.param(c, marks=pytest.mark.thorough) for c in CAMPAIGNS[1:])]
)
def test_every_published_row(shared, gold, average):
    folder = shared / "wmt23-spans"
    with (folder / "en-de.expected.csv").open() as stream:
        rows = [r for r in csv.DictReader(stream) if (r["averaging"], r["gold"]) == (average, gold)]
    others = [folder / f"en-de.{name}.jsonl.gz" for name in CAMPAIGNS if name != gold]
    texts = folder / "en-de.text.jsonl.gz"
    result = sy.spans(folder / f"en-de.{gold}.jsonl.gz", *others, texts, measures=ALL,
                      average=average, n_bootstrap=10)  # fmt: skip
    ours = {(r.metric.removeprefix("en-de."), r.measure): r for r in result.results}
    assert result.unit.name == "document"
    assert rows
    for row in rows:
        scores = ours[row["prediction"], row["measure"].lower()]
        for key in ("precision", "recall", "f"):
            if row[key]:
                value = getattr(scores, "value" if key == "f" else key)
                assert value == pytest.approx(float(row[key]), abs=1e-9)
    if average == "micro":  # a span over everything beats all people by any overlap
        people = [r.value for r in result.of_measure("mp")]
        assert max(people) < ours["all-minor", "mp"].value
        assert any("one span over the whole output beats" in x for x in result.answer())


def null_rejections(runs: int) -> float:
    """Two predictions of the same quality, with effects of documents: how often p <= 5%."""
    rejected = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 6, 40)
        marked = rng.poisson(6.0 * sizes).astype(float)
        easy = rng.beta(2, 3, 40)
        sums = []
        for _ in range(2):
            skill = np.clip(easy + rng.normal(0, 0.15, 40), 0, 1)
            matched = rng.binomial(marked.astype(int), skill).astype(float)
            said = matched + rng.poisson(3.0 * sizes)
            sums.append(np.stack([matched, said, matched, marked], axis=-1))
        p = swap_pvalues(np.array(sums), f_scores, 400, rng)[0, 1]
        rejected += p <= 0.05
    return rejected / runs


def test_the_level_of_the_test():
    assert 0.02 <= null_rejections(400) <= 0.08


@pytest.mark.thorough
def test_the_level_in_the_long_run():
    assert 0.03 <= null_rejections(3000) <= 0.07


def test_swapped_units_against_all_swaps():
    rng = np.random.default_rng(1)
    sums = rng.integers(1, 9, (2, 8, 4)).astype(float)
    observed = np.subtract(*f_scores(sums.sum(axis=1))[2])
    extreme = 0
    for swap in itertools.product((False, True), repeat=8):
        mixed = np.where(np.array(swap)[:, None], sums[::-1], sums).sum(axis=1)
        extreme += abs(np.subtract(*f_scores(mixed)[2])) >= abs(observed) - 1e-12
    assert swap_pvalues(sums, f_scores, 20_000, rng)[0, 1] == pytest.approx(extreme / 256, abs=0.02)


@given(st.integers(0, 100_000))
def test_detection_against_loops(seed):
    rng = np.random.default_rng(seed)
    scores, clean = rng.integers(0, 6, 30).astype(float), rng.integers(0, 2, 30).astype(float)

    def mcc(said):
        pairs = list(zip(clean, said, strict=True))
        tp, fp, fn, tn = (pairs.count(cell) for cell in ((1, 1), (0, 1), (1, 0), (0, 0)))
        below = ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) ** 0.5
        return (tp, fp, fn, tn), (tp * tn - fp * fn) / below if below else 0.0

    by_threshold = {t: mcc(scores >= t) for t in sorted(set(scores.tolist()), reverse=True)}
    best = max(value for _, value in by_threshold.values())
    chosen = best_threshold(scores, clean)
    assert by_threshold[chosen][1] == pytest.approx(best, abs=1e-12)
    for cells, value in by_threshold.values():
        assert float(detection(np.array(cells))[2]) == pytest.approx(value, abs=1e-12)


def test_error_free_outputs_on_wmt23(shared):
    folder = shared / "wmt23-metrics"
    files = [folder / f"en-de.{name}" for name in ("human.csv.gz", "metrics.seg.csv.gz")]
    options = MetaOptions(significance=True, n_bootstrap=100, n_resamples=100, intervals=None)
    reading = sy.load(files[0], human="mqm")
    result = metrics_task(reading.select(scores=["mqm"]), files[1:], ["pa"], options)
    rows = result.detection.of_measure("mcc")
    assert len(rows) == 43
    assert all(row.ci and row.ci[0] <= row.value <= row.ci[1] for row in rows)
    assert rows[0].value > 0.4 > 0.1 > rows[-1].value
    assert result.detection.significance["mcc"].p[0, -1] <= 0.05


def submission(path, system_texts, **predictions):
    """Write ten documents of two segments, and an item of a challenge set."""
    lines = []
    for k in range(20):
        item = f"official_###_eng_Latn_###_deu_Latn_###_news_###_d{k // 2}_###_{k % 2}"
        line = {"item_id": item, "src": "x", "ref": {"text": "y", "type": "human"},
                "hyps": system_texts}  # fmt: skip
        lines.append(line | {name: made(k) for name, made in predictions.items()})
    lines.append({"item_id": "challenge_###_a_###_b_###_c_###_d_###_0", "hyps": {"A": "z"}})
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def error(start, end, severity="minor"):
    return {"start": start, "end": end, "severity": severity, "category": None}


@pytest.fixture
def wmt26(tmp_path):
    """A pearmut log of two systems, and predictions of each kind."""
    texts = {"A": "abcdefgh", "B": "abcdefghij"}
    log = []
    for k in range(20):
        item = {"item_id": f"news_###_d{k // 2}_###_{k % 2}", "src": "x", "tgt": texts}
        spans = [] if k % 4 else [{"start_i": 0, "end_i": 3, "severity": "major"}]
        answer = {"A": {"score": 90 if k % 4 else 50, "error_spans": spans},
                  "B": {"score": 95 if k % 2 else 80, "error_spans": []}}  # fmt: skip
        log.append({"user_id": "u", "item_i": k, "item": [item], "annotation": [answer]})
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(f"{json.dumps(line)}\n" for line in log))
    perfect = submission(tmp_path / "perfect.jsonl", texts, task1_pred=lambda k: {
        "A": {"errors": [] if k % 4 else [error(0, 4, "major")], "omission": None},
        "B": {"errors": [], "omission": None if k % 2 else "minor"}})  # fmt: skip
    verdicts = submission(tmp_path / "verdicts.jsonl", texts, task2_pred=lambda k: {
        "A": 40 + k, "B": 90}, task3_pred=lambda k: {"A": k % 4 > 0, "B": 0},
        task1_pred=lambda k: {s: {"errors": [error(4, 8)]} for s in "AB"})  # fmt: skip
    return str(gold), perfect, verdicts


def test_three_tasks_from_a_pearmut_log(wmt26, capsys):
    assert run(["meta", "--preset", "wmt26", *wmt26, "--significance", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    tasks = shown["tasks"]
    first = {(row["metric"], row["measure"]): row for row in tasks["1"]}
    assert first["perfect", "wmt25"]["f"] == 1
    assert first["verdicts", "mpp"]["f"] == 0
    assert first["none", "mpp"]["baseline"]
    assert {row["metric"] for row in tasks["2"]} == {"perfect", "verdicts"}
    third = {row["metric"]: row for row in tasks["3"]}
    assert third["perfect"]["mcc"] == pytest.approx(1)  # omissions count
    # 25 outputs are clean: 15 of A, all of which are named, and 10 of B, none of which is.
    assert (third["verdicts"]["precision"], third["verdicts"]["recall"]) == (1, 0.6)
    assert (third["always-0"]["mcc"], third["always-0"]["recall"]) == (0, 0)
    assert shown["significance"]["3"]["metrics"] == ["perfect", "verdicts"]
    assert any("1 items of challenge sets are not scored" in text for text in shown["warnings"])


def test_another_annotator_is_the_ceiling(wmt26, tmp_path, capsys):
    """A second person rates all outputs: the same verdicts but for one of forty."""
    lines = [json.loads(line) for line in Path(wmt26[0]).read_text().splitlines()]
    again = json.loads(json.dumps([{**line, "user_id": "v"} for line in lines]))
    again[1]["annotation"][0]["A"]["score"] = 60
    gold = tmp_path / "twice.jsonl"
    gold.write_text("".join(f"{json.dumps(line)}\n" for line in (*lines, *again)))
    assert run(["meta", "--preset", "wmt26", str(gold), *wmt26[1:], "--json"]) == 0
    tasks = json.loads(capsys.readouterr().out)["tasks"]
    ceiling = {key: [r for r in rows if r["metric"] == "another annotator"]
               for key, rows in tasks.items()}  # fmt: skip
    assert {row["measure"]: row["f"] for row in ceiling["1"]} == {"wmt25": 1, "mpp": 1}
    assert [row["with"] for row in ceiling["2"]] == ["spa", "acc-eq"]
    assert all(row["value"] > 0.9 and row["rank"] is None for row in ceiling["2"])
    truth = [True] * 25 + [False] * 15
    other = [False, *truth[1:]]
    assert ceiling["3"][0]["mcc"] == pytest.approx(np.corrcoef(truth, other)[0, 1])
    assert ceiling["3"][0]["rank"] is None


def test_the_command_gives_what_the_contract_says(wmt26, capsys):
    measures = ["--measure", "wmt25,mpp,em,mp"]
    assert run(["spans", *wmt26, *measures, "--significance", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["gold"] == "gold"
    keys = {"metric", "measure", "precision", "recall", "f", "ci", "rank", "baseline"}
    assert all(set(row) == keys for row in shown["results"])
    assert list(shown["significance"]) == ["wmt25", "mpp", "em", "mp"]
    assert shown["significance"]["mp"]["metrics"] == ["perfect", "verdicts"]
    ranks = {row["metric"]: row["rank"] for row in shown["results"] if row["measure"] == "mpp"}
    assert ranks == {"perfect": 1, "verdicts": 2, "none": None, "all-minor": None}


def ratings(ends, raters="r"):
    names = [(system, rater) for system in "AB" for rater in raters]
    errors = tuple((ErrorSpan("", "minor", 0, end),) if end else () for end in ends)
    return Ratings.from_labels([s for s, _ in names], ["1"] * len(names), [r for _, r in names],
                               np.full(len(names), np.nan), errors=errors)  # fmt: skip


def test_several_ratings_of_an_output_and_what_is_no_error():
    result = sy.spans(
        ratings([4, 8, 0, 0], "rs"), ratings([4, 0]), measures=["mpp"], n_bootstrap=10
    )
    rows = {row.metric: row for row in result.results}
    assert rows["spans"].precision == pytest.approx(1.0)
    assert rows["spans"].recall == pytest.approx(0.75)
    assert rows["another annotator"].value == pytest.approx(0.75)
    odd = Ratings.from_labels("AB", "11", "rr", np.full(2, np.nan), errors=(
        (ErrorSpan("", "undecided", 0, 4), ErrorSpan("", "minor", 0, 4, in_source=True),
         ErrorSpan("", "minor"), ErrorSpan("", "minor", 3, 3)), ()))  # fmt: skip
    assert sy.spans(odd, ratings([0, 0]), measures=["em"], n_bootstrap=10).results[0].value == 1


def test_what_is_refused(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    path.write_text("system,segment,m\nA,1,1\nB,1,2\n")
    for arguments, message in (
        ([str(path)], "at least one prediction"),
        ([str(path), str(path)], "scores has no error spans"),
        ([str(path), str(path), "--measure", "mmp"], "no measure 'mmp'"),
    ):
        assert run(["spans", *arguments]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1
    with pytest.raises(UsageError, match="no output"):
        sy.spans(
            ratings([4, 4]), Ratings.from_labels("C", "1", "r", np.full(1, np.nan), errors=((),))
        )
