"""What holds of every tool's logs: found in folders, joined with labels, compared, converted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from steelyard import load
from steelyard.cli.main import run

SAMPLES = Path(__file__).parent / "samples"
#: Folder or file, the score, more options, and the means by system.
TOOLS = {
    "lm-eval/out": (
        "acc", ["--where", "task=made_up_mc"],
        {"made-up-org/model-1": 0.125, "made-up-org/model-2": 0.375},
    ),
    "inspect/logs-eval": ("match", [], {"mockllm/alpha": 5 / 6, "mockllm/beta": 0.5}),
    "inspect/logs-json": ("model_graded_qa", [], {"mockllm/alpha": 0.75, "mockllm/beta": 17 / 24}),
    "promptfoo/out.json": ("score", [], {"canned-b": 0.7680555555555556,
                                         "echo-plain": 0.2077777777777778}),
    "promptfoo/two-prompts.jsonl": ("success", [], {
        "canned-b [Answer shortly: {{question}}]": 0.75, "canned-b [Q: {{question}} A:]": 0.75,
        "echo-plain [Answer shortly: {{question}}]": 0.2, "echo-plain [Q: {{question}} A:]": 0.2,
    }),
}  # fmt: skip


@pytest.mark.parametrize("where", TOOLS)
def test_compare_from_the_command_line(where, capsys):
    score, options, means = TOOLS[where]
    log = str(SAMPLES / where)
    assert run(["compare", log, "--score", score, "--by", "mean", "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)["aggregations"]["mean"]["scores"]
    assert found == pytest.approx(means)


@pytest.mark.parametrize("where", TOOLS)
def test_joined_with_labels(where, tmp_path):
    score, options, _ = TOOLS[where]
    select = dict([options[1].split("=")]) if options else {}
    log = load(SAMPLES / where, where=select)
    labels = [(system, item) for system in log.systems for item in log.segments.ids[:3]]
    path = tmp_path / "labels.csv"
    rows = [f'"{system}",{item},{i % 2}' for i, (system, item) in enumerate(labels)]
    path.write_text("\n".join(["system,segment,label", *rows]) + "\n")
    es = load(SAMPLES / where, path, human="label", where=select)
    assert es["label"].kind == "human"
    assert es[score].kind == "metric"
    assert es.n_segments == log.n_segments
    assert (~(es["label"].values != es["label"].values)).sum() == len(labels)


@pytest.mark.parametrize("where", TOOLS)
def test_converted_and_read_again(where, tmp_path, capsys):
    log, table = SAMPLES / where, tmp_path / "table.jsonl"
    assert run(["data", "convert", str(log), str(table), "--to", "long"]) == 0
    capsys.readouterr()
    first = load(log)
    again = load(table, ignore=list(first.segments.metadata))
    assert again.systems == first.systems
    assert again.segments.ids == first.segments.ids
    assert set(again.scores) == set(first.scores)


def test_logs_of_several_tools_in_one_folder(tmp_path, refusal):
    shutil.copytree(SAMPLES / "lm-eval" / "out", tmp_path / "d")
    shutil.copytree(SAMPLES / "inspect" / "logs-eval", tmp_path / "i")
    message = refusal(tmp_path)
    assert "2 of Inspect log, 4 of lm-evaluation-harness samples" in message
    assert load(tmp_path, format="Inspect log").systems == ("mockllm/alpha", "mockllm/beta")


def test_notes_on_several_files_are_said_once():
    notes = load(SAMPLES / "lm-eval" / "out").notes
    assert sum("left out, since they hold no numbers" in note for note in notes) == 1
    assert any("and 1 more file: " in note for note in notes)


@pytest.mark.parametrize("column", ["system", "segment"])
@pytest.mark.parametrize("where", TOOLS)
def test_without_a_column_that_is_needed(where, column, refusal):
    message = refusal(SAMPLES / where, ignore=[column])
    assert message.endswith(f"be read without column {column}")
