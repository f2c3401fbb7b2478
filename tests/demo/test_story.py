"""``steelyard demo``: the terminal, the page and the commands it shows say the same."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from steelyard.cli import demostory as story
from steelyard.cli.main import run
from steelyard.core.table import Table
from steelyard.demo import embedded, folder
from steelyard.report.explorer import rated_mistakes, with_ratings

_KINDS = {"data": 0, "human": 1, "compare": 2, "meta": 3, "judge": 4, "score": 5}


@pytest.fixture(scope="module")
def told() -> story.Story:
    es = with_ratings(embedded.demo_set(texts=True), embedded.ERRORS)
    return story.tell_story(es, next(iter(es.ratings.values())))


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    made: Path = tmp_path_factory.mktemp("demo") / "steelyard-demo"
    folder.write_files(made)
    return made


def cells(table: Table) -> list[str]:
    return [cell for row in table.shown() for cell in row]


def test_the_demo_says_the_same_in_the_terminal_on_the_page_and_in_json(tmp_path, capsys):
    page, out = tmp_path / "demo.html", tmp_path / "demo.json"
    arguments = ["demo", "--files", str(tmp_path / "d"), "--report", str(page), "--quiet"]
    assert run([*arguments, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["report"] == str(page)
    assert (result["data"]["n_systems"], result["data"]["n_segments"]) == (12, 500)
    assert tuple(len(result["data"][kind]) for kind in ("human", "metrics")) == (2, 12)
    assert sum(result["sentences"].values()) == 40
    assert {"data", "compare", "meta", "judge", "kobe", "warnings"} <= set(result)
    html = page.read_text(encoding="utf-8")
    assert len(html) < 3_000_000
    assert "<h1>Demo: twelve invented systems, German to English</h1>" in html
    tables = re.findall(r"<table>.*?</table>", html, re.DOTALL)
    rows = [[re.sub("<[^>]*>", "", row) for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]
            for table in tables]  # fmt: skip
    for question in ("Which system is better", "Which metric agrees"):
        table = printed[printed.index(question) :].split("\n\n")[2]
        names = [line.split("  ")[0] for line in table.splitlines()[2:] if line[:3] != "---"]
        assert any([n for n in names if any(n in row for row in page)] == names for page in rows)
    assert "The input holds no outputs" not in html
    assert '"outputs":true' in html.replace(" ", "")
    assert '"mistakes":true' in html.replace(" ", "")
    assert "careful-judge" in html


def test_a_part_is_a_question_a_command_and_words(told):
    assert [part.command.split()[1] for part in told.parts] == list(_KINDS)
    for part in told.parts:
        assert part.question.endswith("?")
        assert part.words
        assert all(word.rstrip() == word for word in part.words)


def test_alarms_on_names_are_errors_that_experts_marked(told):
    named = re.findall(r"(\w+) writes (.+?) for .+?[;.]", told.parts[5].words[-1])
    assert len(named) == 4
    place = {name: k for k, name in enumerate(told.es.segments.ids)}
    marked = [
        (one.system, told.es.outputs[one.system][place[one.segment]][one.start : one.end])
        for one in rated_mistakes(told.es)
        if one.side == "output"
    ]
    for system, output in named:
        assert any(system == who and output in text for who, text in marked)


def test_the_example_shows_both_kinds_of_errors(told):
    shown = told.parts[1].words[-1]
    assert re.search(r"\[\[[^]]+\]\]", shown)
    assert re.search(r"(?<!\[)\[[^][]+\](?!\])", shown)


@pytest.mark.parametrize("kind", ["data", "compare", "meta", "score"])
def test_a_command_prints_the_table_of_its_part(kind, told, written, monkeypatch, capsys):
    part = told.parts[_KINDS[kind]]
    monkeypatch.chdir(written)
    assert run([*shlex.split(part.command)[1:], "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    printed = [re.split(r"  +", line.strip()) for line in lines]
    assert part.table is not None
    for row in part.table.shown():
        assert row[:3] in [line[:3] for line in printed]


@pytest.mark.parametrize("kind", ["human", "judge"])
def test_the_other_commands_run(kind, told, written, monkeypatch, capsys):
    monkeypatch.chdir(written)
    assert run([*shlex.split(told.parts[_KINDS[kind]].command)[1:], "--quiet"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for name in ("Kaolin",) if kind == "human" else ("careful-judge", "hasty-judge"):
        assert name in printed


def test_the_report_of_the_demo_can_be_made_by_its_command(written, monkeypatch):
    monkeypatch.chdir(written)
    assert run([*shlex.split(story.REPORT)[1:], "--bootstrap", "50", "--quiet"]) == 0
    assert '"mistakes":true' in (written / "report.html").read_text(encoding="utf-8").replace(
        " ", "")  # fmt: skip


def test_commands_are_printed_as_they_can_be_pasted(told, capsys):
    assert run(["demo", "--no-report", "--quiet"]) == 0
    printed = capsys.readouterr().out
    commands = re.findall(r"^  \$ ((?:.*\\\n)*.*)$", printed, re.MULTILINE)
    assert [shlex.split(command.replace("\\\n", " ")) for command in commands] == [
        shlex.split(part.command) for part in told.parts
    ]
    assert printed.rstrip().endswith("steelyard demo --files DIR, then cd DIR")


def test_the_folder_says_what_its_files_are(written):
    names = {path.name for path in written.iterdir()} - {"README.txt", "report.html"}
    assert names == set(folder.CONTENTS)
    note = (written / "README.txt").read_text(encoding="utf-8")
    for name, what in folder.CONTENTS.items():
        assert re.search(rf"^{re.escape(name)} +{re.escape(what)}$", note, re.MULTILINE)
    for path in embedded.FILES:
        assert (written / path.name).read_bytes() == path.read_bytes()


def test_plain_files_have_a_line_for_each_source(written):
    counts = {
        name: (written / name).read_text(encoding="utf-8").count("\n")
        for name in ("source.de", "reference.en", "Kaolin.en", "Basalt.en")
    }
    assert set(counts.values()) == {166}


def test_answers_are_right_where_there_is_no_major_error(written):
    es = embedded.demo_set()
    mqm = es.select(systems=["Kaolin"])["mqm"].values[0]
    lines = (written / "answers.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "model,id,correct"
    own = [line.split(",") for line in lines if line.startswith("Kaolin,")]
    expected = {i: int(v > -5) for i, v in zip(es.segments.ids, mqm, strict=True) if v == v}
    assert {segment: int(right) for _, segment, right in own} == expected


def test_a_file_in_the_way_is_an_error(tmp_path, capsys):
    (tmp_path / "d").write_text("")
    assert run(["demo", "--files", str(tmp_path / "d"), "--no-report"]) == 2
    assert "error:" in capsys.readouterr().err


def test_errors_that_several_raters_marked_are_one(told):
    marks: dict[tuple[str, str], set[str]] = {}
    for one in rated_mistakes(told.es):
        marks.setdefault((one.system, one.segment), set()).add(one.kind)
    kinds = marks["Basalt", "6"]
    assert "major accuracy/mistranslation (3 of 3 raters)" in kinds
    assert {kind.rpartition(" (")[2] for kind in kinds} <= {f"{n} of 3 raters)" for n in (1, 2, 3)}
    assert not any("raters" in kind for kind in marks["Basalt", "38"])
