"""Commands that Steelyard prints run as printed: examples of ``--help``, and every ``next:``.

Examples name files that everybody has; here they run on those of the demo. The second example of a
command runs with ``--json --quiet``: stdout has one object of the schema, stderr nothing.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import steelyard
from steelyard.cli.group import Question
from steelyard.cli.main import cli, run
from steelyard.demo.folder import write_files

#: Examples on data that has to be downloaded, or from a shell.
ELSEWHERE = re.compile(
    "data get|wmt2[23]|lbzip2|reproduce|kb link -|tac.csv|systems.csv|eed.csv|"
    "terms.tbx|data convert human|demo$|--human esa"
)
#: Words of examples, and what the demo has in their place.
ON_DEMO = {
    "scores.csv": "scores.csv.gz",
    "human.csv.gz": "human.csv",
    "metrics.csv.gz": "metrics.csv.gz",
    "texts.jsonl": "texts.jsonl.gz",
    "ratings.csv": "ratings.csv.gz",
    "esa.csv": "esa.jsonl",
    "mqm.jsonl": "errors.jsonl.gz",
    "annotations.jsonl": "esa.jsonl",
    **dict.fromkeys(("xcomet.jsonl", "metric-a.jsonl"), "esa.jsonl"),
    **dict.fromkeys(("gemba.jsonl", "metric-b.jsonl"), "errors.jsonl.gz"),
    "arena.jsonl": "battles.csv.gz",
    "verdicts.csv": "verdicts.csv.gz",
    "old.csv": "judged.csv",
    "new.csv": "judged.csv",
    "new.en": "Kaolin.en",
    "old.en": "Basalt.en",
    "ref.en": "reference.en",
    "src.de": "source.de",
    "new,old": "Kaolin,Basalt",
    "A,B": "Kaolin,Basalt",
    "chrF": "chars-refA",
    "chrF,BLEU": "chars-refA,learned-refA",
    "COMET": "learned-refA",
    "COMET,MetricX": "learned-refA,kin-src",
    "refB": "refA",
    "expert": "ann,bo,cy",
    "vote": "ann,bo,cy",
    "rater1,rater2": "ann,bo",
    "gpt": "careful-judge",
    "gpt,claude": "careful-judge,hasty-judge",
    "gpt-4=gpt-*": "careful-judge=K*",
    "comet=comet.json": "comet={system}.comet",
}
#: Options that make an example quick, where its command has them.
QUICK = {"--draws": "10", "--trials": "3", "--repeats": "2", "--resamples": "50",
         "--bootstrap": "20", "--sizes": "5", "--metrics": "chars-refA,kin-src"}  # fmt: skip
#: Examples that take seconds, of commands that have a quicker one.
SLOW = re.compile(
    "study disagreement scores|ranking-rule .*jsonl$|check texts|spans .*texts|report human|"
    "annotate .*refB|study ties texts|human esa|--explain"
)
SCHEMA = Draft202012Validator(
    json.loads((Path(steelyard.__file__).parent / "schema-1.json").read_text(encoding="utf-8"))
)


def commands(group: click.Group = cli, before: str = "") -> Iterator[tuple[str, Question]]:
    context = click.Context(group)
    for name in (*group.list_commands(context), *(["card"] if before == "judge " else [])):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")
        elif isinstance(command, Question):
            yield f"{before}{name}".removesuffix(" card"), command


EXAMPLES = [
    pytest.param(name, example, as_json, id=example,
                 marks=[pytest.mark.thorough] if SLOW.search(example) else [])
    for name, command in commands()
    for k, example in enumerate(e for e in command.examples if not ELSEWHERE.search(e))
    for as_json in [k == 1]
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The demo's files, and a few more that examples name."""
    made: Path = tmp_path_factory.mktemp("examples")
    write_files(made)
    with gzip.open(made / "scores.csv.gz", "rt") as stream:
        rows = [line.rstrip().split(",") for line in stream]
    metrics = "\n".join(",".join([*row[:2], row[6], row[13]]) for row in rows)
    (made / "metrics.csv.gz").write_bytes(gzip.compress(metrics.encode()))
    human = "\n".join(",".join([*row[:2], row[5]]) for row in rows if row[5])
    (made / "human.csv").write_text(human)
    with gzip.open(made / "errors.jsonl.gz", "rt") as stream:
        ratings = [line.replace('"errors"', '"value": 80, "errors"') for line in stream]
    (made / "esa.jsonl").write_text("".join(ratings))
    with gzip.open(made / "verdicts.csv.gz", "rt") as stream:
        verdicts = [line.rstrip().split(",") for line in stream]
    for name, chosen in (("judged.csv", (0, 2, 3, 7, 8)), ("labels.csv", (0, 2, 3, 4, 5, 6)),
                         ("votes.csv", range(9))):  # fmt: skip
        lines = [",".join(row[k] for k in chosen) for row in verdicts]
        languages = ["language", *("de" if k % 2 else "en" for k in range(len(lines) - 1))]
        lines = [f"{line},{one}" for line, one in zip(lines, languages, strict=True)]
        (made / name).write_text("\n".join(lines))
    (made / "names.tsv").write_text("id\tlang\talias\nwd:Q64\tde\tBerlin\nwd:Q64\tpl\tBerlin\n")
    (made / "products.csv").write_text("en,de\ntraffic light,Ampel\n")
    count = len((made / "source.de").read_text(encoding="utf-8").splitlines())
    for system in ("Kaolin", "Basalt"):
        (made / f"{system}.comet").write_text("0.5\n" * count)
    for name, shift in (("before.csv", 0), ("after.csv", 0.01)):
        lines = [f"{k},{k % 7 + shift * (k % 3)}" for k in range(60)]
        (made / name).write_text("\n".join(["item,acc", *lines]) + "\n")
    program = made / "my-metric"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfor x in open(sys.argv[2]): print(len(x))\n"
    )
    program.chmod(0o755)
    return made


@pytest.fixture(autouse=True)
def here(folder, tmp_path, monkeypatch):
    """Run in a folder that has these files, and remove what commands write there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)


@pytest.mark.parametrize(("name", "example", "as_json"), EXAMPLES)
def test_an_example_runs(name, example, as_json, capsys):
    words = [ON_DEMO.get(word, word) for word in shlex.split(example)[1:]]
    if "labels.csv" in words:
        words = [word.replace("verdicts.csv.gz", "judged.csv") for word in words]
    elif "drift" in words:
        words = [word.replace("judged.csv", "verdicts.csv.gz") for word in words]
    elif words[0] == "judge":
        words = [word.replace("battles.csv", "votes.csv") for word in words]
    command = dict(commands())[name]
    flags = {flag for param in command.params for flag in param.opts} - set(words)
    if "simulation" in words:
        words += ["--systems", "3", "--segments", "20"]
    options = (
        QUICK if words[0] == "study" else {k: QUICK[k] for k in ("--resamples", "--bootstrap")}
    )
    if words[0] != "judge":
        words += [word for k, value in options.items() if k in flags for word in (k, value)]
    allowed = (0, 2) if name == "data check" else (0, 3, 4)  # errors, requirements
    assert run([*words, *(["--json", "--quiet"] if as_json else [])]) in allowed, (
        capsys.readouterr().err
    )
    printed = capsys.readouterr()
    if as_json:
        SCHEMA.validate(json.loads(printed.out))
        assert printed.err == ""
    for line in printed.err.replace("\\\n", " ").splitlines():
        if line.startswith("next: "):
            proposed = shlex.split(line.removeprefix("next: "))[1:]
            assert run(proposed) == 0, (proposed, capsys.readouterr().err)
