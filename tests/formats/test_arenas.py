"""Verdicts of arenas and judges: the tools' own rules, judges, units and notes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import BattleLog, compare_battles, load
from steelyard.cli.main import run
from steelyard.core.errors import InputError
from steelyard.formats.judged.battle_counts import read_counts
from steelyard.formats.reading import Read, Reading, read_all

SAMPLES = Path(__file__).parent / "samples"
SINGLE = SAMPLES / "fastchat/model_judgment/made-judge_single.jsonl"
PAIRS = SAMPLES / "fastchat/model_judgment/made-judge_pair.jsonl"
HARD = SAMPLES / "arena-hard"
NEW = HARD / "arena-hard-v2.0/model_judgment/made-judge/alpha.jsonl"
VOTES = SAMPLES / "chatbot-arena/arena-33k.jsonl"
ALPACA = SAMPLES / "alpaca-eval/results"
ANNOTATIONS = ALPACA / "alpha/alpaca_eval_gpt4/annotations.json"
Refusal = Callable[..., str]


def read(path: Path, **options: Any) -> Read:
    (result,) = read_all([path], Reading(**options))
    return result


def battles(log: BattleLog) -> list[tuple[str, str, float]]:
    sides = zip(log.left, log.right, log.outcome, strict=True)
    return [(log.systems[a], log.systems[b], float(o)) for a, b, o in sides]


def changed(source: Path, target: Path, index: int | None = None, **fields: Any) -> Path:
    """Write the records of a sample again, with other fields in one of them, or in all."""
    text = source.read_text(encoding="utf-8")
    is_list = text.startswith("[")
    records = json.loads(text) if is_list else [json.loads(line) for line in text.splitlines()]
    for number, record in enumerate(records):
        if index in (None, number):
            record.update(fields)
    target.write_text(json.dumps(records) if is_list else "\n".join(map(json.dumps, records)))
    return target


def has_note(result: Read, text: str) -> bool:
    return any(text in note for note in result.notes)


def mean_of(path: Path, **options: Any) -> dict[str, float]:
    result = compare_battles(path, by="mean", intervals=None, **options)
    return dict(zip(result.systems, result.aggregations["mean"].scores.tolist(), strict=True))


def test_notes_count_what_was_left_out() -> None:
    assert f"{SINGLE}: 1 of 24 verdicts without a rating (-1)" in load(SINGLE).notes
    assert has_note(read(PAIRS), "6 pairs with a game that failed: left out")
    assert has_note(read(HARD / "arena-hard-v0.1"), "and others: 4 games without a verdict")
    assert has_note(read(HARD / "arena-hard-v0.1"), "it is called 'baseline'")
    assert has_note(read(NEW), "4 games of items of which a game has no verdict")
    assert has_note(read(VOTES), "5 battles with names shown")
    assert has_note(read(ALPACA), "annotations without a preference: left out")


def test_repeats_are_epochs_and_judges_are_scores(tmp_path: Path) -> None:
    text = SINGLE.read_text(encoding="utf-8")
    again = json.loads(text.splitlines()[0]) | {"score": 9}
    (tmp_path / "a_single.jsonl").write_text(f"{text}{json.dumps(again)}\n", encoding="utf-8")
    es = load(tmp_path)
    assert es["made-judge"].values[0, 0] == (7 + 9) / 2
    changed(SINGLE, tmp_path / "b_single.jsonl", judge=["second", "x"], score=1)
    both = load(tmp_path)  # a column for each judge
    assert set(both.scores) == {"made-judge", "second"}
    assert (both["second"].values == 1).all()
    assert (load(tmp_path, where={"judge": "second"})["score"].values == 1).all()


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [("model_2", "model_2", 0.0), ("model_1", "model_2", 0.5), ("tie", "model_1", 0.5)],
)
def test_orders_that_differ_tie(first: str, second: str, outcome: float, tmp_path: Path) -> None:
    path = changed(PAIRS, tmp_path / "x_pair.jsonl", 0, g1_winner=first, g2_winner=second)
    result = read(path)
    assert battles(result.value)[0] == ("alpha", "beta", outcome)
    assert has_note(result, "on which the orders differ: a tie") == (first != second)


def test_rows_are_chosen_and_weighed() -> None:
    assert mean_of(NEW)["alpha"] == pytest.approx(9 / 14)
    assert mean_of(NEW, where=[("category", "creative_writing")])["alpha"] == 1
    hidden = read(VOTES, where=(("anony", "true"),))
    assert (len(hidden.value), has_note(hidden, "names shown")) == (19, False)
    assert has_note(read(ALPACA), "verdicts of 2 judges are taken together")
    chosen = read(ALPACA, where=(("judge", "made_judge_fn"),))
    assert (len(chosen.value), has_note(chosen, "judges")) == (11, False)
    assert mean_of(ALPACA, where=[("judge", "made_judge_fn")])["beta"] == pytest.approx(3.5 / 6)


def test_draws_and_systems_that_meet_themselves(tmp_path: Path, refusal: Refusal) -> None:
    draw = read(changed(ANNOTATIONS, tmp_path / "x.json", 0, preference=0))
    assert draw.value.outcome[0] == 0.5
    assert has_note(draw, "1 annotation with preference 0: a draw")
    baseline = json.loads(ANNOTATIONS.read_text())[0]["generator_1"]
    alone = changed(ANNOTATIONS, tmp_path / "x.json", generator_2=baseline)
    assert "no battle is left" in refusal(alone)


def test_a_folder_with_scores_and_pairs(refusal: Refusal) -> None:
    folder = SAMPLES / "fastchat"
    assert 'choose with format="FastChat pairs"' in refusal(folder)
    assert load(folder, format="FastChat scores").n_segments == 12
    assert read_counts(folder).form == "FastChat pairs"  # scores are no battles


def test_columns_of_another_tools_log(refusal: Refusal) -> None:
    assert read_counts(ALPACA).n_units == 6
    assert compare_battles(ALPACA, unit="judge", intervals=None).n_segments == 2
    message = refusal(compare_battles, ALPACA, unit="annotator")
    assert message.startswith("no input has a column 'annotator'")
    assert "no column 'left'" in refusal(compare_battles, SINGLE)


def test_a_log_of_ours_is_not_passed_over(tmp_path: Path, refusal: Refusal) -> None:
    shutil.copy(NEW, tmp_path / "alpha.jsonl")
    (tmp_path / "leaderboard.csv").write_text("model,score\nalpha,1\n")
    assert read_counts(tmp_path).n_battles == 8
    (tmp_path / "more.csv").write_text("left,right,outcome\nA,B,left\n")
    assert refusal(read_counts, tmp_path).startswith(f"{tmp_path / 'more.csv'}: ")
    with pytest.raises(InputError, match="a battle log among logs of another format"):
        compare_battles([tmp_path / "more.csv", SAMPLES / "alpaca-eval"])


def test_logs_of_ours_go_without_battles_too(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "log.csv"
    path.write_text("x,y,z\nA,B,left\nB,A,tie\n")
    assert run(["compare", str(path), "--columns", "left=x,right=y,outcome=z", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_battles"] == 2
    assert run(["compare", str(path), "--left", "x"]) == 2
    assert "--battles LOG is missing" in capsys.readouterr().err
    rankings = tmp_path / "rankings.csv"
    header = "segmentId,judgeId,system1Id,system1rank,system2Id,system2rank"
    rankings.write_text(f"{header}\n1,x,A,1,B,2\n")
    assert run(["compare", str(rankings), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == ["A", "B"]
