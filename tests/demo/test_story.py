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
from steelyard.core.errors import SteelyardError
from steelyard.demo.folder import write_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made: Path = tmp_path_factory.mktemp("demo")
    return made


@pytest.fixture(scope="module")
def printed(folder) -> str:
    """What the demo prints; its files, the page and the JSON file are in the folder."""
    stdout = io.StringIO()
    page, out = str(folder / "demo.html"), str(folder / "demo.json")
    asked = ["demo", "--files", str(folder / "demo"), "--report", page, "--out", out, "--quiet"]
    with contextlib.redirect_stdout(stdout):
        assert run(asked) == 0
    return stdout.getvalue()


def commands(text: str) -> list[list[str]]:
    """Take the commands out of what is printed, those over several lines as one."""
    lines = text.replace("\\\n", " ").splitlines()
    shown = [line for line in lines if line.startswith("  steelyard ") and "FILE" not in line]
    return [shlex.split(line) for line in shown if "   which" not in line]


def test_the_demo_says_the_same_in_the_terminal_on_the_page_and_in_json(printed, folder):
    page = folder / "demo.html"
    result = json.loads((folder / "demo.json").read_text(encoding="utf-8"))
    assert result["report"] == str(page)
    assert (result["data"]["n_systems"], result["data"]["n_segments"]) == (12, 500)
    assert tuple(len(result["data"][kind]) for kind in ("human", "metrics")) == (2, 12)
    assert {"data", "compare", "meta", "judge", "warnings"} <= set(result)
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


#: What makes the slowest commands quick: fewer draws, for intervals and groups of metrics.
QUICK = {"compare": ["--bootstrap", "20"], "meta": ["--bootstrap", "20", "--resamples", "100"],
         "report": ["--bootstrap", "20", "--resamples", "50"]}  # fmt: skip


def test_the_commands_can_be_pasted(printed, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder / "demo")
    shown = commands(printed)
    assert [words[1] for words in shown] == ["data", "human", "compare", "meta", "judge", "check",
                                             "report"]  # fmt: skip
    for words in shown:
        assert run([*words[1:], *QUICK.get(words[1], []), "--quiet"]) == 0
        text = capsys.readouterr()
        assert text.err == ""
        if words[1] in ("compare", "meta"):  # its part shows the first rows
            rows = [re.split("  +", line) for line in text.out.splitlines()]
            part = printed[printed.index(f"steelyard {words[1]}") :].split("\n\n")[1]
            for line in part.splitlines()[2:5]:
                assert re.split("  +", line)[:3:2] in [row[:3:2] for row in rows]
    page = Path("report.html").read_text(encoding="utf-8")
    assert '"mistakes":true' in page.replace(" ", "")


def test_findings_of_check_stand_in_the_file(printed, folder):
    rows = re.findall(r"line +(\d+), (\w+): .*?([^>(]+?)(?: \(expected .+\))? \[(\w+)\]", printed)
    assert len({kind for _, kind, *_ in rows}) == 3
    lines = (folder / "demo" / "Basalt.en").read_text(encoding="utf-8").splitlines()
    for number, _, output, _ in rows:
        assert output.strip().rstrip("…") in lines[int(number) - 1]


def test_a_file_in_the_way_is_an_error(tmp_path):
    (tmp_path / "d").write_text("")
    with pytest.raises(SteelyardError):
        write_files(tmp_path / "d")
