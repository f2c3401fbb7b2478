"""Systems against systems from battle logs, end to end: real logs, degenerate ones, every error."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard import BattleLog, save
from steelyard.cli.main import run
from steelyard.comparison.logs import compare_battles
from steelyard.core.errors import UsageError
from steelyard.data.judgements import encode
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import Battles, battle_counts

ROWS = [("A", "B", 1.0), ("B", "C", 1.0), ("C", "A", 1.0), ("A", "C", 1.0), ("A", "B", 0.5)]


def log_of(rows: Any, **columns: Any) -> BattleLog:
    lefts, rights, outcome = zip(*rows, strict=True)
    systems, codes = encode([*lefts, *rights])
    n = len(lefts)
    return BattleLog(systems, codes[:n], codes[n:], np.array(outcome, dtype=float), **columns)


def simulated(
    n: int = 6, n_units: int = 300, *, shared: float = 1.0, seed: int = 0, per_unit: int = 15
) -> BattleLog:
    """Battles about prompts: each prompt has a taste of its own (``shared``) for every system."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(0.5, -0.5, n)
    taste = strength + shared * rng.normal(size=(n_units, n))
    unit = np.repeat(np.arange(n_units), per_unit)
    left = rng.integers(0, n, len(unit))
    right = (left + rng.integers(1, n, len(unit))) % n
    p = 1 / (1 + np.exp(taste[unit, right] - taste[unit, left]))
    outcome = (rng.random(len(unit)) < p).astype(float)
    outcome[rng.random(len(unit)) < 0.1] = 0.5
    units = tuple(sorted(f"p{k}" for k in range(n_units)))
    return BattleLog(
        tuple(f"S{k}" for k in range(n)),
        left.astype(np.int32),
        right.astype(np.int32),
        outcome,
        units=units,
        unit=unit.astype(np.int32),
    )


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run(["compare", "--battles", *map(str, arguments), "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run(["compare", "--battles", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


@pytest.fixture
def crowd(shared: Path) -> Path:
    return shared / "llmfao" / "crowd-comparisons.csv.gz"


def expected_scores(path: Path, algorithm: str) -> dict[str, float]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["algorithm"] == algorithm]
    return {row["item"]: float(row["score"]) for row in rows}


def test_llmfao_equals_the_published_scores(crowd, capsys):
    arguments = ("--by", "bt,elo,mean", "--orders", "0", "--elo-k", "4", "--intervals", "none")
    found = command(capsys, crowd, *arguments)
    assert (len(found["systems"]), found["n_battles"], found["n_segments"]) == (59, 8931, 13)
    folder = crowd.parent / "expected-scores.csv"
    strengths = expected_scores(folder, "bradley_terry")
    total = sum(strengths.values())
    scores = found["aggregations"]["bt"]["scores"]
    assert sum(scores.values()) == pytest.approx(1, abs=1e-12)
    for name, value in strengths.items():
        assert scores[name] == pytest.approx(value / total, abs=1e-6)
    for name, value in expected_scores(folder, "elo").items():
        # The published ratings start at 1,000.
        assert found["aggregations"]["elo"]["scores"][name] - 500 == pytest.approx(value, abs=1e-6)
    modelled = command(capsys, crowd, "--by", "bt", "--ties", "davidson", "--intervals", "none")
    newman = expected_scores(folder, "newman")
    total = sum(newman.values())
    for name, value in newman.items():
        score = modelled["aggregations"]["bt"]["scores"][name]
        assert score == pytest.approx(value / total, abs=1e-6)
    assert found["aggregations"]["bt"]["ranks"]["GPT 4"] == 1
    assert found["aggregations"]["bt"]["ci"] is None


def test_llmfao_with_intervals(crowd, capsys):
    found = command(capsys, crowd, "--bootstrap", "100")
    again = command(capsys, crowd, "--bootstrap", "100")
    assert found == again
    assert list(found["aggregations"]) == ["bt", "mean"]
    bt = found["aggregations"]["bt"]
    for name, score in bt["scores"].items():
        low, high = bt["ci"][name]
        assert low <= score <= high
        best, worst = bt["rank_ci"][name]
        assert 1 <= best <= worst <= 59
    assert not any("too narrow" in text for text in found["warnings"])
    assert found["clusters"]["bt"]["test"] == "bt-gap"
    p = np.array(found["tests"]["sign"]["p"], dtype=float)
    assert np.nanmin(p) > 0
    assert np.nanmax(p) <= 1


def test_judges_of_llmfao_rank_alike(shared, capsys):
    """The same pairs judged by two models: other columns, no time, fewer battles."""
    for name in ("gpt3", "gpt4"):
        path = shared / "llmfao" / f"{name}-crowd-comparisons.csv.gz"
        found = command(capsys, path, "--intervals", "none", "--by", "bt")
        assert found["n_battles"] == 2139


def test_rankings_of_wmt13(shared, capsys):
    found = command(capsys, shared / "wmt13-ranking" / "fr-en.train.csv.gz", "--bootstrap", "100")
    assert found["provenance"]["inputs"][0]["format"] == "rankings"
    assert found["n_battles"] > 50_000
    assert found["n_segments"] > 1000
    ranks = found["aggregations"]["bt"]["ranks"]
    assert sorted(ranks.values()) == list(range(1, len(ranks) + 1))


def test_counts_by_hand():
    found = compare_battles(log_of(ROWS), by=["bt", "mean"], intervals=None)
    assert found.aggregations["mean"].scores.tolist() == pytest.approx([2.5 / 4, 1.5 / 3, 1 / 3])
    gaps = found.aggregations["mean"].pairwise
    assert gaps[0].tolist() == pytest.approx([0, 0.5, 0])  # A won 1.5 of 2 against B, 1 of 2 of C
    left, right = np.array([0, 1, 2, 0, 0]), np.array([1, 2, 0, 2, 1])
    battles = Battles(left, right, np.array([1, 1, 1, 1, 0.5]), n=3)
    counts = battle_counts(battles)
    fit = bradley_terry(counts.wins, counts.ties)
    np.testing.assert_allclose(found.aggregations["bt"].scores, fit.strength, atol=1e-12)
    assert found.tests["sign"].p[0, 1] == 1.0


def test_sign_test_on_units_and_on_battles():
    """Ten battles about one prompt say as much as one; about ten prompts, as much as ten."""
    rows = [("A", "B", 1.0)] * 10 + [("A", "B", 0.0)]
    one = log_of(rows, units=("p", "q"), unit=np.array([0] * 10 + [1], dtype=np.int32))
    found = compare_battles(one, intervals=None, unit="prompt")
    assert found.tests["sign"].p[0, 1] == 1.0
    alone = compare_battles(one, unit="battle", n_bootstrap=20).tests["sign"].p[0, 1]
    assert alone == pytest.approx(2 * 12 / 2**11)
    assert compare_battles(log_of(rows), intervals=None).tests["sign"].p[0, 1] == alone


def test_units_make_intervals_wider():
    """As measured on simulated arenas: intervals from single battles are a third too narrow."""
    width: dict[str, list[float]] = {"segment": [], "battle": []}
    strengths = []
    for seed in range(30):
        log = simulated(seed=seed)
        for unit, own in width.items():
            found = compare_battles(log, by="bt", unit=unit, n_bootstrap=100)
            bt = found.aggregations["bt"]
            assert bt.low is not None
            assert bt.high is not None
            own.append(float(np.log(bt.high / bt.low).mean()))
        strengths.append(np.log(bt.scores) - np.log(bt.scores).mean())
    true_width = 2 * 1.96 * np.std(strengths, axis=0, ddof=1).mean()
    assert np.mean(width["segment"]) == pytest.approx(true_width, rel=0.15)
    assert np.mean(width["battle"]) < 0.8 * true_width


def test_without_a_shared_taste_units_change_nothing():
    log = simulated(shared=0.0, n_units=600, per_unit=8)
    widths = []
    for unit in ("segment", "battle"):
        bt = compare_battles(log, by="bt", unit=unit, n_bootstrap=400).aggregations["bt"]
        assert bt.low is not None
        assert bt.high is not None
        widths.append(np.log(bt.high / bt.low).mean())
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_weights_are_repetitions():
    rng = np.random.default_rng(2)
    weight = rng.integers(0, 4, 40).astype(float)
    rows = [ROWS[k % 5] for k in range(40)]
    repeated = [row for row, times in zip(rows, weight, strict=True) for _ in range(int(times))]
    heavy = compare_battles(log_of(rows, weight=weight), by=["bt", "mean", "elo"], intervals=None)
    plain = compare_battles(log_of(repeated), by=["bt", "mean"], intervals=None)
    for name in ("bt", "mean"):
        np.testing.assert_allclose(
            heavy.aggregations[name].scores, plain.aggregations[name].scores, atol=1e-12
        )
    assert heavy.n_battles == 40
    with pytest.raises(UsageError, match="TrueSkill has no weights"):
        compare_battles(log_of(rows, weight=weight), by="trueskill", intervals=None)


def test_weighted_battles_are_drawn_one_by_one():
    rng = np.random.default_rng(1)
    rows = [ROWS[k] for k in rng.integers(0, 5, 300)]
    ones = compare_battles(log_of(rows, weight=np.full(300, 2.0)), by="bt", n_bootstrap=400)
    plain = compare_battles(log_of(rows), by="bt", n_bootstrap=400)
    own, other = ones.aggregations["bt"], plain.aggregations["bt"]
    np.testing.assert_allclose(own.scores, other.scores, atol=1e-12)
    assert own.low is not None
    assert other.low is not None
    np.testing.assert_allclose(own.low, other.low, atol=0.02)
    assert any("battles are taken as independent" in text for text in ones.warnings)


@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper", "second"])
def test_treatments_of_ties(ties):
    log = simulated(n=4, n_units=60)
    found = compare_battles(log, by=sy.bt(ties=ties), n_bootstrap=30)
    counts = battle_counts(Battles(log.left, log.right, log.outcome, 4))
    fit = bradley_terry(counts.wins, counts.ties, ties_as=ties)
    np.testing.assert_allclose(found.aggregations["bt"].scores, fit.strength, atol=1e-12)
    assert found.provenance is not None
    assert found.provenance.options["ties"] == ties


def test_an_unbeaten_and_a_winless_system():
    rows = [*ROWS, ("X", "A", 1.0), ("X", "B", 1.0), ("C", "Y", 1.0)]
    found = compare_battles(log_of(rows), by=["bt", "mean"], n_bootstrap=200)
    assert any(text.startswith("X never lost") for text in found.warnings)
    assert any(text.startswith("Y never won") for text in found.warnings)
    bt = found.aggregations["bt"]
    place = {name: k for k, name in enumerate(found.systems)}
    assert np.isnan(bt.scores[[place["X"], place["Y"]]]).all()
    assert np.nansum(bt.scores) == pytest.approx(1)
    assert (bt.ranks[place["X"]], bt.ranks[place["Y"]]) == (1, 5)
    assert bt.low is not None
    assert bt.rank_ci is not None
    assert np.isnan(bt.low[place["X"]])
    assert np.nanmin(bt.rank_ci[0]) >= 2
    finite = compare_battles(log_of(rows), by=sy.bt(prior=0.5), intervals=None)
    assert np.isfinite(finite.aggregations["bt"].scores).all()
    result = found.to_dict()
    assert result["aggregations"]["bt"]["scores"]["X"] is None


def test_groups_that_never_met():
    rows = [*ROWS, ("X", "Y", 1.0), ("Y", "X", 1.0)]
    found = compare_battles(log_of(rows), by="bt", n_bootstrap=50)
    assert any(text.startswith("groups that can't be compared") for text in found.warnings)
    assert np.isnan(found.aggregations["bt"].scores[3:]).all()
    assert np.isnan(found.aggregations["bt"].ranks).all()


def test_only_ties_and_two_systems():
    ties = compare_battles(log_of([("A", "B", 0.5)] * 5), n_bootstrap=20)
    assert ties.aggregations["bt"].scores.tolist() == [0.5, 0.5]
    assert ties.tests["sign"].p[0, 1] == 1.0
    two = compare_battles(log_of([("A", "B", 1.0)] * 3 + [("B", "A", 1.0)]), intervals=None)
    assert two.aggregations["bt"].scores.tolist() == pytest.approx([0.75, 0.25])


def test_elo_and_trueskill_in_time():
    rows = [ROWS[k % 5] for k in range(60)]
    time = np.random.default_rng(0).permutation(60).astype(float)
    shuffled = log_of(rows, time=time)
    sorted_rows = [rows[k] for k in np.argsort(time)]
    one = compare_battles(shuffled, by=[sy.elo(orders=0), sy.trueskill(orders=0)], n_bootstrap=40)
    two = compare_battles(
        log_of(sorted_rows), by=[sy.elo(orders=0), sy.trueskill(orders=0)], n_bootstrap=40
    )
    file = compare_battles(log_of(rows), by=sy.elo(orders=0), intervals=None)
    for name in ("elo", "trueskill"):
        own = one.aggregations[name]
        np.testing.assert_array_equal(own.scores, two.aggregations[name].scores)
        assert own.low is not None
        assert own.high is not None
        assert (own.low <= own.high).all()
    assert not np.array_equal(one.aggregations["elo"].scores, file.aggregations["elo"].scores)


def test_elo_over_random_orders():
    log = simulated(n=4, n_units=40)
    found = compare_battles(log, by=["elo", "trueskill"], n_bootstrap=60)
    bt = compare_battles(log, by="bt", intervals=None).aggregations["bt"]
    for own in found.aggregations.values():
        assert own.low is not None
        assert own.high is not None
        assert (own.low < own.scores).all()
        assert (own.scores < own.high).all()
        assert own.ranks.tolist() == bt.ranks.tolist()


def test_results_do_not_depend_on_names_or_sides():
    log = simulated(n=4, n_units=50)
    mirrored = BattleLog(
        log.systems, log.right, log.left, 1 - log.outcome, units=log.units, unit=log.unit
    )
    one, two = (compare_battles(x, n_bootstrap=50) for x in (log, mirrored))
    for name, own in one.aggregations.items():
        np.testing.assert_allclose(own.scores, two.aggregations[name].scores, atol=1e-12)
        ends, others = own.ci, two.aggregations[name].ci
        assert ends is not None
        assert others is not None
        np.testing.assert_allclose(ends, others, atol=1e-12)


def test_text_and_parquet_give_the_same_numbers(tmp_path, capsys):
    results = []
    for name in ("x.csv", "x.parquet"):
        save(simulated(n=5, n_units=60), tmp_path / name)
        by = ("--by", "bt,mean,elo,trueskill", "--bootstrap", "50")
        numbers = command(capsys, tmp_path / name, *by)
        results.append([numbers[key] for key in ("aggregations", "tests", "unit", "clusters")])
    assert results[0] == results[1]


def test_what_the_command_prints(tmp_path, capsys):
    path = tmp_path / "x.csv"
    save(simulated(n=3, n_units=30), path)
    assert run(["compare", "--battles", str(path), "--bootstrap", "50", "--pairwise"]) == 0
    out = capsys.readouterr().out
    assert "mean rank" in out
    assert "test of Bradley-Terry strengths" in out
    target = tmp_path / "out.csv"
    assert (
        run(["compare", "--battles", str(path), "--intervals", "none", "--out", str(target)]) == 0
    )
    assert target.read_text(encoding="utf-8").startswith("system,")


def test_json_holds_the_contract(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    save(simulated(n=3, n_units=30), path)
    found = command(capsys, path, "--bootstrap", "50")
    assert {"systems", "n_battles", "n_segments", "aggregations", "tests", "clusters", "warnings",
            "notes", "provenance"} <= set(found)  # fmt: skip
    bt = found["aggregations"]["bt"]
    assert {"scores", "ranks", "ci", "pairwise"} <= set(bt)
    pairwise = np.array(bt["pairwise"])
    np.testing.assert_allclose(pairwise + pairwise.T, 1.0)
    assert set(found["tests"]["sign"]) >= {"p", "p_adjusted"}
    assert found["provenance"]["options"]["unit"] == "prompt"
    assert {"name", "n", "design_effect"} <= set(found["unit"])


def test_rows_and_columns_can_be_chosen(tmp_path, capsys):
    path = tmp_path / "x.csv"
    lines = [
        "a,b,vote,lang,prompt,segment",
        "A,B,left,de,1,1",
        "B,A,left,de,2,1",
        "A,C,left,en,1,2",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    chosen = ("--left", "a", "--right", "b", "--outcome", "vote", "--intervals", "none")
    found = command(capsys, path, *chosen, "--where", "lang=de", "--ignore", "segment")
    assert (found["systems"], found["n_battles"], found["n_segments"]) == (["A", "B"], 2, 2)
    line = refused(capsys, path, *chosen)
    assert "prompt and segment" in line
    assert "--ignore" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--by", "mean,median"], "median"),
        (["--by", "meen"], "did you mean 'mean'?"),
        (["--unit", "document"], "no column 'document'"),
        (["--tests", "t"], "--tests sign only"),
        (["--score", "x"], "--score applies to scores"),
        (["--pair", "A,B"], "--pair applies to scores"),
        (["--tolerance", "1"], "--tolerance applies to scores"),
        (["--human", "x"], "--human applies to scores"),
        (["--left", "lefd"], "did you mean 'left'?"),
        (["--where", "x=1"], "no column 'x'"),
        (["--where", "share=7"], "no row has share=7"),
        (["--by", "trueskill", "--outcome", "share"], "TrueSkill knows wins"),
    ],
)
def test_one_line_for_every_mistake(tmp_path, capsys, arguments, words):
    path = tmp_path / "x.csv"
    path.write_text("left,right,outcome,share\nA,B,left,0.3\nB,A,left,0.9\n", encoding="utf-8")
    line = refused(capsys, path, *arguments)
    assert line.startswith("error: ")
    assert words in line


def test_a_log_and_other_inputs_do_not_mix(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("left,right,outcome\nA,B,left\n", encoding="utf-8")
    assert "no other input" in refused(capsys, path, path)
    assert "no such file" in refused(capsys, tmp_path / "y.csv")


def test_columns_of_a_log_need_a_log(capsys, tmp_path):
    assert run(["compare", str(tmp_path / "x.csv"), "--left", "model"]) == 2
    assert "--battles LOG is missing" in capsys.readouterr().err


def test_better_and_worse(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("better,worse,segment\nA,B,1\nB,A,1\nA,B,2\n", encoding="utf-8")
    found = command(capsys, path, "--by", "bt", "--intervals", "none")
    assert found["n_segments"] == 2
    assert found["aggregations"]["bt"]["scores"] == pytest.approx({"A": 2 / 3, "B": 1 / 3})
    path.write_text("better,worse\nA,B\nB,B\n", encoding="utf-8")
    assert refused(capsys, path) == f"error: {path}:3: 'B' meets itself"


def test_few_battles_have_exact_tests_alone(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("left,right,outcome\nA,B,left\n")
    one = compare_battles(log, by=["bt", "mean", "elo"], n_bootstrap=20)
    assert set(one.tests) == {"sign"}
    assert all(own.low is None or np.isnan(own.low).all() for own in one.aggregations.values())
    assert "1 battle: there is nothing to resample, and no interval" in one.warnings
    log.write_text("left,right,outcome\n" + "A,B,left\n" * 9)
    nine = compare_battles(log, by=["mean", "elo"], n_bootstrap=20)
    assert set(nine.tests) == {"sign"}
    assert any(
        text.startswith("9 battles are too few for anything but exact") for text in nine.warnings
    )
    log.write_text("left,right,outcome\n" + "A,B,left\n" * 9 + "A,B,right\n")
    assert "mean-gap" in compare_battles(log, by=["mean", "elo"], n_bootstrap=20).tests


def written_log(path: Path, rows: list[str], head: str = "left,right,outcome") -> Path:
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def test_two_unbeaten_systems_share_no_first_rank(tmp_path: Path, capsys) -> None:
    log = written_log(tmp_path / "log.csv", ["X,base,left", "Y,base,left"])
    assert run(["compare", str(log), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["aggregations"]["bt"]["ranks"] == {"X": None, "Y": None, "base": 3}
    assert found["clusters"]["bt"]["clusters"] == {"X": None, "Y": None, "base": 2}
    assert found["summary"]
    alone = written_log(tmp_path / "apart.csv", ["X,base,left", "Y,other,left", "other,Y,left"])
    assert run(["compare", str(alone), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_weight_that_no_fit_can_take_is_refused_by_its_line(tmp_path, capsys, suffix) -> None:
    rows = ["A,B,left,2", "B,C,left,1e300", "C,A,left,1"]
    path = written_log(tmp_path / "log.csv", rows, "left,right,outcome,weight")
    if suffix == ".parquet":
        pytest.importorskip("pandas").read_csv(path).to_parquet(path.with_suffix(suffix))
    assert run(["compare", "--battles", str(path.with_suffix(suffix))]) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert "1e+300" in told
    assert "'weight'" in told
    assert suffix != ".csv" or f"{path}:3" in told


@pytest.mark.parametrize("by", ["elo", "trueskill"])
@pytest.mark.parametrize("units", [False, True])
def test_the_order_of_rows_does_not_matter_over_random_orders(tmp_path, by, units) -> None:
    rng = np.random.default_rng(0)
    names = ["A", "B", "C", "D"]
    rows = []
    for k in range(120):
        one, two = rng.permutation(4)[:2]
        outcome = "tie" if rng.random() < 0.1 else "left" if rng.random() < 0.6 else "right"
        rows.append(f"{names[one]},{names[two]},{outcome},p{k % 30}")
    rating = {"elo": sy.elo(orders=20), "trueskill": sy.trueskill(orders=20)}[by]
    head = "left,right,outcome,prompt" if units else "left,right,outcome,note"
    first, second = (
        compare_battles(written_log(tmp_path / f"{k}.csv", shuffled, head), by=rating,
                        n_bootstrap=50).aggregations[by]
        for k, shuffled in enumerate([rows, [rows[i] for i in rng.permutation(120)]])
    )  # fmt: skip
    for field in ("scores", "low", "high", "pairwise"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))
