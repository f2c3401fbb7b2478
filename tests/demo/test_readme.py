"""Every command of README.md can be pasted as it stands, in the folder that the demo writes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from steelyard.cli.main import run
from steelyard.data.evalset import EvalSet
from steelyard.demo.folder import write_files

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [line for line in lines if line.startswith("steelyard ")]


#: What makes the slowest commands quick: fewer draws.
QUICK = {"meta": ["--bootstrap", "20", "--resamples", "100"],
         "report": ["--bootstrap", "20", "--resamples", "50"]}  # fmt: skip
SHOWN = [command for command in commands() if not command.startswith("steelyard demo")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made: Path = tmp_path_factory.mktemp("readme")
    write_files(made)
    return made


def test_the_readme_starts_with_the_files():
    assert len(SHOWN) > 5
    words = shlex.split(commands()[0], comments=True)
    assert words[:3] == ["steelyard", "demo", "--files"]
    assert f"$ cd {words[3]}\n" in README


@pytest.mark.parametrize("command", SHOWN, ids=[" ".join(c.split()[1:4]) for c in SHOWN])
def test_a_command_of_the_readme(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words = shlex.split(command, comments=True)
    assert run([*words[1:], *QUICK.get(words[1], [])]) == 0
    said = capsys.readouterr()
    assert said.out.strip()
    assert "error:" not in said.err
    if "--out" in words:
        assert Path(words[words.index("--out") + 1]).stat().st_size > 0


def test_the_python_of_the_readme(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    es = names["es"]
    assert isinstance(es, EvalSet)
    assert {name for name, score in es.scores.items() if score.kind == "human"} == {"mqm", "da"}
    assert not es["edit-rate-refA"].higher_is_better
    assert Path("demo.parquet").is_file()
