"""``steelyard demo``: the terminal, the page and the commands it shows say the same."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from steelyard.cli.main import run
from steelyard.demo import folder


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    made: Path = tmp_path_factory.mktemp("demo") / "steelyard-demo"
    folder.write_files(made)
    return made


@pytest.fixture(scope="module")
def printed() -> str:
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout):
        assert run(["demo", "--no-report", "--quiet"]) == 0
    return stdout.getvalue()


def commands(text: str) -> list[list[str]]:
    """Take the commands out of what is printed, those over several lines as one."""
    lines = text.replace("\\\n", " ").splitlines()
    shown = [line for line in lines if line.startswith("  steelyard ") and "FILE" not in line]
    return [shlex.split(line) for line in shown if "   which" not in line]


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
    assert "<h1>Demo: twelve simulated systems, German to English</h1>" in html
    tables = re.findall(r"<table>.*?</table>", html, re.DOTALL)
    rows = [[re.sub("<[^>]*>", "", row) for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]
            for table in tables]  # fmt: skip
    for question in ("Which system is best?\n", "Which metric can you trust?\n"):
        table = printed[printed.index(question) :].split("\n\n")[1]
        names = [line.split("  ")[0] for line in table.splitlines()[2:]]
        assert any([n for n in names if any(n in row for row in page)] == names for page in rows)
    assert '"outputs":true' in html.replace(" ", "")
    assert '"mistakes":true' in html.replace(" ", "")
    assert "careful-judge" in html


def test_the_commands_can_be_pasted(printed, written, monkeypatch, capsys):
    monkeypatch.chdir(written)
    shown = commands(printed)
    assert [words[1] for words in shown] == ["data", "human", "compare", "meta", "judge", "score",
                                             "check", "report"]  # fmt: skip
    for words in shown:
        assert run([*words[1:], "--quiet"]) == 0
        text = capsys.readouterr()
        assert text.err == ""
        if words[1] in ("compare", "meta"):  # its part shows the first rows
            rows = [re.split("  +", line) for line in text.out.splitlines()]
            part = printed[printed.index(f"steelyard {words[1]}") :].split("\n\n")[1]
            for line in part.splitlines()[2:5]:
                assert re.split("  +", line)[:3] in [row[:3] for row in rows]
    page = (written / "report.html").read_text(encoding="utf-8")
    assert '"mistakes":true' in page.replace(" ", "")


def test_findings_of_check_stand_in_the_file(printed, written):
    rows = re.findall(r"line +(\d+), (\w+): .*?([^>(]+?)(?: \(expected .+\))? \[(\w+)\]", printed)
    assert len({kind for _, kind, *_ in rows}) == 3
    lines = (written / "Basalt.en").read_text(encoding="utf-8").splitlines()
    for number, _, output, _ in rows:
        assert output.strip().rstrip("…") in lines[int(number) - 1]


def test_a_file_in_the_way_is_an_error(tmp_path, capsys):
    (tmp_path / "d").write_text("")
    assert run(["demo", "--files", str(tmp_path / "d"), "--no-report"]) == 2
    assert "error:" in capsys.readouterr().err
