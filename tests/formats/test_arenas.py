"""Verdicts as arenas and benchmarks with a judge write them, read by hand from the samples."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import BattleLog, compare_battles, load
from steelyard.cli.main import run
from steelyard.core.errors import InputError
from steelyard.core.table import dumps
from steelyard.formats.judged.logcounts import read_counts
from steelyard.formats.reading import Read, Reading, read_all

SAMPLES = Path(__file__).parent / "samples"
SINGLE = SAMPLES / "fastchat/model_judgment/made-judge_single.jsonl"
PAIRS = SAMPLES / "fastchat/model_judgment/made-judge_pair.jsonl"
HARD = SAMPLES / "arena-hard"
NEW = HARD / "arena-hard-v2.0/model_judgment/made-judge/alpha.jsonl"
VOTES = SAMPLES / "chatbot-arena"
ALPACA = SAMPLES / "alpaca-eval/results"
Refusal = Callable[..., str]
Row = tuple[str, str, float]


def read(path: Path, **options: Any) -> Read:
    (found,) = read_all([path], Reading(**options))
    return found


def rows(log: BattleLog) -> list[Row]:
    sides = zip(log.left, log.right, log.outcome, strict=True)
    return [(log.systems[a], log.systems[b], float(o)) for a, b, o in sides]


def units(log: BattleLog) -> list[str]:
    assert log.unit is not None
    assert log.units is not None
    return [log.units[code] for code in log.unit]


def changed(source: Path, target: Path, change: Callable[[list[dict[str, Any]]], None]) -> Path:
    """Write the records of a sample again, changed."""
    text = source.read_text(encoding="utf-8")
    one = text.startswith("[")
    records = json.loads(text) if one else [json.loads(line) for line in text.splitlines()]
    change(records)
    lines = json.dumps(records) if one else "\n".join(map(json.dumps, records))
    target.write_text(lines, encoding="utf-8")
    return target


def mean_of(path: Path, **options: Any) -> dict[str, float]:
    found = compare_battles(path, by="mean", intervals=None, **options)
    return dict(zip(found.systems, found.aggregations["mean"].scores.tolist(), strict=True))


# FastChat


def test_fastchat_scores_by_question_and_turn() -> None:
    es = load(SINGLE)
    assert es.systems == ("alpha", "beta")
    assert es.segments.ids[:3] == ("81/1", "81/2", "82/1")
    assert es.segments.documents is not None
    assert es.segments.documents[:3] == ("81", "81", "82")
    assert es.segments.domains is not None
    assert es.segments.domains[:2] == ("turn 1", "turn 2")
    table = es["made-judge"]
    assert table.higher_is_better
    assert table.direction_given
    place = es.segments.ids.index
    assert table.values[0, place("83/1")] == 8.5
    assert table.values[0, place("83/2")] == 10
    assert np.isnan(table.values[1, place("85/2")])  # -1 in the file
    assert np.isnan(table.values).sum() == 1
    assert f"{SINGLE}: 1 of 24 verdicts without a rating (-1)" in es.notes


def test_fastchat_repeats_are_epochs_and_judges_are_scores(tmp_path: Path) -> None:
    def again(records: list[dict[str, Any]]) -> None:
        records.append(records[0] | {"score": 9, "judge": ["made-judge", "single-v1"]})

    es = load(changed(SINGLE, tmp_path / "a_single.jsonl", again))
    assert es["made-judge"].values[0, 0] == (7 + 9) / 2
    assert any("epochs of an item" in note for note in es.notes)

    def other(records: list[dict[str, Any]]) -> None:
        for record in records:
            record |= {"judge": ["second", "x"], "score": 1}

    changed(SINGLE, tmp_path / "b_single.jsonl", other)
    both = load(tmp_path)  # a folder: two files, a column for each judge
    assert set(both.scores) == {"made-judge", "second"}
    assert both["second"].values.tolist() == np.ones((2, 12)).tolist()
    chosen = load(tmp_path, where={"judge": "second"})
    assert chosen["score"].values.tolist() == np.ones((2, 12)).tolist()


def test_fastchat_scores_join_labels(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "system,segment,label\nalpha,81/1,3\nalpha,82/1,4\nbeta,81/1,5\nbeta,85/2,1\n"
    )
    es = load(SINGLE, labels, human="label")
    assert es.human == ("label",)
    assert es.metrics == ("made-judge",)
    assert es["label"].values[1, es.segments.ids.index("85/2")] == 1


def test_fastchat_pairs() -> None:
    found = read(PAIRS)
    log = found.value
    assert found.form == "FastChat pairs"
    assert rows(log)[:4] == [
        ("alpha", "beta", 1.0),
        ("alpha", "beta", 0.5),
        ("alpha", "beta", 1.0),
        ("alpha", "beta", 0.5),
    ]
    assert units(log)[:4] == ["81", "82", "84", "85"]  # 83 and 86 have an error
    assert log.time is not None
    assert log.time[0] == 1700001000.5
    assert len(log) == 12
    assert f"{PAIRS}: 6 pairs with a game that failed: left out" in found.notes
    assert "FastChat's rule: a pair is won by who wins it in both orders" in found.notes


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("model_2", "model_2", 0.0),
        ("model_1", "model_2", 0.5),
        ("model_2", "tie", 0.5),
        ("tie", "model_1", 0.5),
    ],
)
def test_fastchat_orders_that_differ_tie(
    first: str, second: str, outcome: float, tmp_path: Path
) -> None:
    def change(records: list[dict[str, Any]]) -> None:
        records[0] |= {"g1_winner": first, "g2_winner": second}

    path = changed(PAIRS, tmp_path / "x_pair.jsonl", change)
    found = read(path)
    assert rows(found.value)[0] == ("alpha", "beta", outcome)
    told = f"{path}: 1 pair on which the orders differ: a tie" in found.notes
    assert told == (first != second)


def test_a_folder_with_scores_and_pairs(refusal: Refusal) -> None:
    folder = SAMPLES / "fastchat"
    assert 'choose with format="FastChat pairs"' in refusal(folder)
    assert load(folder, format="FastChat scores").n_segments == 12
    assert read_counts(folder).form == "FastChat pairs"  # scores are no battles


# Arena-Hard


def test_arena_hard_0_1_leaves_out_games() -> None:
    folder = HARD / "arena-hard-v0.1"
    found = read(folder)
    log = found.value
    alpha = [
        (o, w) for (left, _, o), w in zip(rows(log), log.weight, strict=True) if left == "alpha"
    ]
    # game 1: A is the baseline; game 2: A is the model. >> counts 3.
    assert alpha == [
        (0, 1),
        (0.5, 1),
        (1, 1),
        (1, 3),
        (0.5, 1),
        (0, 3),
        (0, 3),
        (1, 3),
        (1, 1),
        (0, 1),
    ]
    assert {right for _, right, _ in rows(log)} == {"baseline"}
    assert len(set(units(log))) == 6
    place = f"{folder / 'model_judgment/made-judge/alpha.jsonl'} and others"
    assert f"{place}: 4 games without a verdict: left out" in found.notes
    assert "the files do not name the baseline: it is called 'baseline'" in found.notes


def test_arena_hard_2_0_leaves_out_items() -> None:
    found = read(NEW)
    weight = found.value.weight
    assert weight is not None
    assert list(zip(rows(found.value), weight.tolist(), strict=True)) == [
        (("alpha", "made-base", 0.0), 1),
        (("alpha", "made-base", 0.5), 1),
        (("alpha", "made-base", 1.0), 1),
        (("alpha", "made-base", 1.0), 3),
        (("alpha", "made-base", 0.5), 1),
        (("alpha", "made-base", 0.0), 3),
        (("alpha", "made-base", 1.0), 3),
        (("alpha", "made-base", 1.0), 1),
    ]
    assert f"{NEW}: 4 games of items of which a game has no verdict: left out" in found.notes
    assert mean_of(NEW)["alpha"] == pytest.approx(9 / 14)
    assert mean_of(NEW, where=[("category", "creative_writing")])["alpha"] == 1


@pytest.mark.parametrize(
    ("label", "outcome", "weight"),
    [("A<<B", 1.0, 3), ("A<B", 1.0, 1), ("B=A", 0.5, 1), ("B<A", 0.0, 1), ("B<<A", 0.0, 3)],
)
def test_arena_hard_spellings(label: str, outcome: float, weight: float, tmp_path: Path) -> None:
    def change(records: list[dict[str, Any]]) -> None:
        records[0]["games"][0]["score"] = label  # of the game in which B is the model

    log = read(changed(NEW, tmp_path / "x.jsonl", change)).value
    assert (log.outcome[0], log.weight[0]) == (outcome, weight)


# Chatbot Arena


@pytest.mark.parametrize(
    ("name", "battles", "shares_units"),
    [
        ("clean_battle_20260101.json", 24, False),
        ("clean_battle_conv_20260101.json", 19, True),
        ("arena-33k.jsonl", 24, True),
    ],
)
def test_votes(name: str, battles: int, shares_units: bool) -> None:
    found = read(VOTES / name)
    assert found.form == "Chatbot Arena votes"
    assert len(found.value) == battles
    assert (found.value.unit is not None) == shares_units
    if battles == 24:
        assert rows(found.value)[:3] == [
            ("gamma", "delta", 1.0),
            ("alpha", "beta", 0.5),  # tie (bothbad)
            ("beta", "gamma", 1.0),
        ]
        assert any("5 battles with names shown" in note for note in found.notes)
        hidden = read(VOTES / name, where=(("anony", "true"),))
        assert len(hidden.value) == 19
        assert hidden.notes == (f"{VOTES / name}: columns not used: judge, turn, language",)


def test_votes_of_kaggle() -> None:
    found = read(VOTES / "kaggle-lmsys.csv")
    assert found.form == "Chatbot Arena Kaggle votes"
    assert rows(found.value) == [
        ("gamma", "delta", 1.0),
        ("alpha", "beta", 0.5),
        ("beta", "gamma", 1.0),
        ("beta", "alpha", 1.0),
        ("delta", "alpha", 0.0),
        ("alpha", "gamma", 1.0),
        ("alpha", "gamma", 1.0),
        ("delta", "beta", 1.0),
    ]
    assert units(found.value)[0] == '["Write a haiku about rain."]'


@pytest.mark.parametrize("cells", ["1,1,0", "0,0,0", "1,0,", "x,0,1"])
def test_kaggle_has_one_winner(cells: str, tmp_path: Path, refusal: Refusal) -> None:
    header = "id,model_a,model_b,winner_model_a,winner_model_b,winner_tie\n"
    path = tmp_path / "x.csv"
    path.write_text(f"{header}1,A,B,1,0,0\n2,A,B,{cells}\n")
    message = refusal(path)
    assert message.startswith(f"{path}:3: winner_model_a ")
    assert message.endswith("expected one of them to be 1, and the others 0")


def test_a_plain_table_of_an_arena_is_a_battle_log(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("model_a,model_b,winner\nA,B,model_a\nB,A,tie (bothbad)\n")
    found = read(path)
    assert (found.form, rows(found.value)) == ("battle log", [("A", "B", 1.0), ("B", "A", 0.5)])


# AlpacaEval


def test_preferences_less_one_are_outcomes() -> None:
    path = ALPACA / "alpha/weighted_alpaca_eval_gpt4_turbo/annotations.json"
    found = read(path)
    outcomes = [1.0000372, 1.9876541, 1.5023, 1.9999999, 1.12]
    assert found.value.outcome.tolist() == [x - 1 for x in outcomes]
    assert {row[:2] for row in rows(found.value)} == {("alpha", "made-base")}
    assert units(found.value)[2] == "Name the capital of Ostria."
    assert f"{path}: 1 annotation without a preference: left out" in found.notes


def test_several_judges_are_taken_together_with_a_word() -> None:
    found = read(ALPACA)
    assert len(found.value) == 22
    assert any("verdicts of 2 judges are taken together" in note for note in found.notes)
    one = read(ALPACA, where=(("judge", "made_judge_fn"),))
    assert len(one.value) == 11
    assert not any("judges" in note for note in one.notes)
    assert mean_of(ALPACA, where=[("judge", "made_judge_fn")])["beta"] == pytest.approx(3.5 / 6)


def test_preference_0_is_a_draw(tmp_path: Path) -> None:
    def change(records: list[dict[str, Any]]) -> None:
        records[0]["preference"] = 0

    path = changed(ALPACA / "alpha/alpaca_eval_gpt4/annotations.json", tmp_path / "x.json", change)
    found = read(path)
    assert found.value.outcome[0] == 0.5
    assert f"{path}: 1 annotation with preference 0: a draw" in found.notes


def test_a_system_with_itself_is_left_out(tmp_path: Path, refusal: Refusal) -> None:
    def change(records: list[dict[str, Any]]) -> None:
        for record in records:
            record["generator_2"] = record["generator_1"]

    path = changed(ALPACA / "alpha/alpaca_eval_gpt4/annotations.json", tmp_path / "x.json", change)
    assert "no battle is left" in refusal(path)


# Commands and counts


@pytest.mark.parametrize(
    "path", [PAIRS, HARD / "arena-hard-v2.0", ALPACA, VOTES / "arena-33k.jsonl"]
)
def test_compare_takes_a_log_with_and_without_battles(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []
    for asked in (["--battles", str(path)], [str(path)]):
        assert run(["compare", *asked, "--json", "--bootstrap", "20"]) == 0
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0]["aggregations"] == shown[1]["aggregations"]
    assert shown[0]["warnings"] == shown[1]["warnings"]
    assert shown[0]["provenance"]["inputs"] == shown[1]["provenance"]["inputs"]


def test_notes_and_inputs_are_in_the_result() -> None:
    found = compare_battles(HARD / "arena-hard-v2.0", intervals=None)
    assert found.n_battles == 14
    assert found.provenance is not None
    assert any("counts thrice" in text for text in found.warnings)
    assert [Path(each.path).name for each in found.provenance.inputs] == [
        "alpha.jsonl",
        "beta.jsonl",
    ]
    assert {each.format for each in found.provenance.inputs} == {"Arena-Hard judgments"}


def test_own_logs_go_without_battles_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("x,y,z\nA,B,left\nB,A,tie\n")
    assert run(["compare", str(path), "--columns", "left=x,right=y,outcome=z", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_battles"] == 2
    assert run(["compare", str(path), "--left", "x"]) == 2
    assert "--battles LOG is missing" in capsys.readouterr().err
    scores = tmp_path / "scores.csv"
    scores.write_text("system,segment,m\nA,1,2\nB,1,3\n")
    assert run(["compare", str(scores), "--unit", "x"]) == 2
    assert "no input has a column 'x'" in capsys.readouterr().err
    rankings = tmp_path / "rankings.csv"
    rankings.write_text(
        "segmentId,judgeId,system1Id,system1rank,system2Id,system2rank\n1,x,A,1,B,2\n"
    )
    assert run(["compare", str(rankings), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == ["A", "B"]


def test_data_info_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "info", str(PAIRS), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["battles"], shown["left wins"], shown["ties"]) == (12, 6, 6)


def test_columns_of_another_tools_log(refusal: Refusal) -> None:
    assert read_counts(ALPACA).n_units == 6
    assert compare_battles(ALPACA, unit="judge", intervals=None).n_segments == 2
    message = refusal(compare_battles, ALPACA, unit="annotator")
    assert message.startswith("no input has a column 'annotator'")
    assert "annotations can't be read without column outcome" in refusal(
        compare_battles, ALPACA, ignore=["outcome"]
    )
    assert "is no log of battles" in refusal(compare_battles, SINGLE, format="FastChat scores")
    assert "no column 'left'" in refusal(compare_battles, SINGLE)


def test_a_log_of_ours_is_not_passed_over(tmp_path: Path, refusal: Refusal) -> None:
    shutil.copy(NEW, tmp_path / "alpha.jsonl")
    (tmp_path / "leaderboard.csv").write_text("model,score\nalpha,1\n")
    assert read_counts(tmp_path).n_battles == 8
    (tmp_path / "more.csv").write_text("left,right,outcome\nA,B,left\n")
    message = refusal(read_counts, tmp_path)
    assert message.startswith(f"{tmp_path / 'more.csv'}: a battle log among logs of another format")


# Bad input


@pytest.mark.parametrize(
    ("path", "field", "value", "message"),
    [
        (SINGLE, "score", "7", "2: 'score' is '7', expected a finite number"),
        (SINGLE, "judge", [], "2: 'judge' is [], expected a name"),
        (SINGLE, "model", None, "2: 'model' is None, expected a name"),
        (PAIRS, "g1_winner", "A", "2: 'g1_winner' is 'A', expected one of model_1,"),
        (NEW, "games", [None], "2: 'games' has 1 game, expected 2"),
        (NEW, "games", [3, None], "2: 'games[0]' is 3, expected an object or null"),
        (NEW, "games", [{"score": "C"}, None], "2: 'games[0].score' is 'C', expected one of A>>B,"),
        (VOTES / "arena-33k.jsonl", "anony", "yes", "2: 'anony' is 'yes', expected true or false"),
        (VOTES / "arena-33k.jsonl", "winner", "A", "2: 'winner' is 'A', expected one of left,"),
    ],
)  # fmt: skip
def test_wrong_fields_are_named(
    path: Path, field: str, value: Any, message: str, tmp_path: Path, refusal: Refusal
) -> None:
    def change(records: list[dict[str, Any]]) -> None:
        records[1][field] = value

    target = changed(path, tmp_path / path.name, change)
    assert refusal(target).startswith(f"{target}:{message}")


def test_a_preference_out_of_range_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "annotations.json"
    record = {"instruction": "a", "generator_1": "A", "generator_2": "B", "preference": 3}
    path.write_text(json.dumps([record]))
    expected = "'preference' is 3, expected a number in 1..2, or 0 for a draw"
    assert refusal(path) == f"{path}:1: {expected}"


def test_several_logs_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    folder = SAMPLES / "arena-hard" / "arena-hard-v0.1"
    paths = sorted(folder.rglob("*.jsonl"))
    assert len(paths) > 1
    whole = compare_battles(folder, by="bt", n_bootstrap=20).to_dict()
    parts = compare_battles(paths, by="bt", n_bootstrap=20).to_dict()
    assert dumps(parts["aggregations"]) == dumps(whole["aggregations"])
    assert run(["compare", *map(str, paths), "--by", "bt", "--bootstrap", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_battles"] == whole["n_battles"]


def test_several_logs_of_our_own(tmp_path: Path) -> None:
    rows = ["A,B,left,1", "B,A,left,2", "A,C,right,2", "C,B,tie,3"]
    header = "left,right,outcome,unit\n"
    (tmp_path / "all.csv").write_text(header + "\n".join(rows) + "\n")
    for k in (0, 1):
        (tmp_path / f"{k}.csv").write_text(header + "\n".join(rows[2 * k : 2 * k + 2]) + "\n")
    whole = compare_battles(tmp_path / "all.csv", n_bootstrap=20).to_dict()
    parts = compare_battles([tmp_path / "0.csv", tmp_path / "1.csv"], n_bootstrap=20).to_dict()
    assert dumps(parts["aggregations"]) == dumps(whole["aggregations"])
    with pytest.raises(InputError, match="a battle log among logs of another format"):
        compare_battles([tmp_path / "0.csv", SAMPLES / "alpaca-eval"])
