"""Commands and files as metrics: what they see, what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import steelyard as sy
from steelyard import EvalSet, Segments
from steelyard.core.errors import InputError, UsageError
from steelyard.scoring.external import Command

JUDGE = """
import json, pathlib, sys
seen = pathlib.Path(sys.argv[1])
rows = [json.loads(line) for line in sys.stdin]
with seen.open("a") as out:
    out.writelines(f"{row['src']}|{row['out']}|{row['refs']}\\n" for row in rows)
for row in rows:
    print(len(row["out"]) - len(row["refs"][0]))
"""


@pytest.fixture
def es():
    segments = Segments(
        ("1", "2"),
        sources=("eins\n", "zwei"),
        references={"refA": ("a", "ä b"), "refB": ("x", "y")},
    )
    outputs = {"A": ("same", "one"), "B": ("same", None), "C": ("", "$(touch x); two")}
    return EvalSet(("A", "B", "C"), segments, outputs=outputs)


@pytest.fixture
def judge(tmp_path):
    script = tmp_path / "judge.py"
    script.write_text(JUDGE)
    return Command("judge", (sys.executable, str(script), str(tmp_path / "seen")))


def test_a_command_sees_every_text_once(es, judge, tmp_path):
    scored = judge.score(es, ["refA"])
    np.testing.assert_array_equal(scored.table.values, [[3, 0], [3, np.nan], [-1, 12]])
    assert scored.table.uses == ("src", "refA")
    assert scored.notes == ()
    seen = (tmp_path / "seen").read_text().splitlines()
    assert len(seen) == 4 + 2  # four different texts; two of the sources end in a line end
    assert "zwei|$(touch x); two|['ä b']" in seen
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("print(1)", "output of m: 1 number, expected 4: one score for each text"),
        ("print('1\\n2\\nx\\n4')", "output of m:3: 'x' is not a number"),
        ("print('1\\nnan\\n3\\n4')", "output of m:2: 'nan' is not a number"),
        ("pass", "output of m: 0 numbers, expected 4"),
    ],
)
def test_what_a_command_prints_is_checked(es, program, message):
    with pytest.raises(InputError, match=message):
        Command("m", (sys.executable, "-c", program)).score(es, ["refA"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("'unclosed", "can't split"),
        ("  ", "no command"),
        ("no-such-program-anywhere", r"can't run 'no-such-program-anywhere' \(No such file"),
        (f"{sys.executable} -c 'import sys; sys.exit(\"no key\")'", "ended with code 1: no key"),
    ],
)
def test_commands_that_fail(es, line, message):
    with pytest.raises(UsageError, match=f"m: .*{message}"):
        Command.parse("m", line).score(es, ["refA"])


def test_metrics_that_are_made_already(es, judge):
    found = sy.score(es, [judge, "chrf"], references=["refA"])
    assert found.metrics == ("judge", "chrf")
    assert found.signatures["judge"].startswith("command:")


#: Stand-ins for programs of others: the same options, files of the same shape, made-up scores.
COMET = """
import argparse, json
p = argparse.ArgumentParser()
p.add_argument("-t", nargs="+")
for name in ("-s", "-r", "--to_json"):
    p.add_argument(name)
a = p.parse_args()
lines = [open(f, encoding="utf-8").read().splitlines() for f in (a.s, a.t[0], a.r)]
rows = [{"src": s, "mt": t, "ref": r, "COMET": len(t) / 100} for s, t, r in zip(*lines)]
with open(a.to_json, "w", encoding="utf-8") as file:
    json.dump({a.t[0]: rows}, file, ensure_ascii=False, indent=4)
for i, row in enumerate(rows):
    print(f"{a.t[0]}\\tSegment {i}\\tscore: {row['COMET']:.4f}")
print(f"{a.t[0]}\\tscore: {sum(row['COMET'] for row in rows) / len(rows):.4f}")
"""
METRICX = """
import argparse, json
p = argparse.ArgumentParser()
for name in ("tokenizer", "model_name_or_path", "max_input_length", "batch_size"):
    p.add_argument("--" + name)
p.add_argument("--input_file"), p.add_argument("--output_file")
p.add_argument("--qe", action="store_true")
a = p.parse_args()
with open(a.input_file, encoding="utf-8") as file, open(a.output_file, "w") as out:
    for line in file:
        row = json.loads(line)
        row["prediction"] = len(row["hypothesis"]) / 10
        out.write(json.dumps(row) + "\\n")
"""


def stand_in(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(text)
    return f"{sys.executable} {path}"


def texts_of(n):
    outputs = {"A": ("Ja.", "Zwei Wörter.")[:n], "B": ("Jawohl.", "Nein.")[:n]}
    references = {"refA": ("Ja.", "Nein.")[:n]}
    segments = Segments(("1", "2")[:n], sources=("Yes.", "No.")[:n], references=references)
    return EvalSet(("A", "B"), segments, outputs=outputs)


@pytest.mark.parametrize("n", [1, 2])
def test_comet_by_its_command_line(tmp_path, n):
    line = f"{stand_in(tmp_path, COMET)} -s {{src}} -t {{out}} -r {{ref}} --to_json {{scores}}"
    es = texts_of(n)
    scored = Command.parse("comet", line).score(es)
    expected = [[len(text) / 100 for text in es.outputs[name]] for name in es.systems]
    assert np.allclose(scored.table.values, expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("qe", ["", " --qe"])
def test_metricx_by_its_command_line(tmp_path, qe, n):
    line = (
        f"{stand_in(tmp_path, METRICX)}{qe} --tokenizer google/mt5-xl --model_name_or_path "
        "google/metricx-24-hybrid-large-v2p6 --max_input_length 1536 --batch_size 1 "
        "--input_file {json} --output_file {scores}"
    )
    es = texts_of(n)
    scored = Command.parse("metricx", line, higher_is_better=False).score(es)
    expected = [[len(text) / 10 for text in es.outputs[name]] for name in es.systems]
    assert scored.table.values.tolist() == expected
    assert not scored.table.higher_is_better
