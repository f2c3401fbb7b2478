"""Formats of installed packages: found by their entry points, asked after ours, lazily."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOG = {"lab_version": 1, "model": "A", "answers": [{"id": "q1", "quality": 0.5, "topic": "law"}]}
Steelyard = Callable[..., subprocess.CompletedProcess[str]]


def _example() -> str:
    """The format that the documentation shows."""
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    return page.partition(":caption: lab_format.py\n")[2].partition("```")[0]


@pytest.fixture
def steelyard(tmp_path: Path) -> Steelyard:
    """Run a command in a process that has packages with formats."""
    site = tmp_path / "site"
    about = site / "lab_package-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "lab_format.py").write_text(_example())
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-package\nVersion: 1.0\n")

    def call(*arguments: str, points: str = "lab-run = lab_format:lab_run") -> object:
        (about / "entry_points.txt").write_text(f"[steelyard.formats]\n{points}\n")
        command = [sys.executable, "-m", "steelyard", *arguments]
        path = os.pathsep.join([str(site), str(ROOT / "src")])
        environment = os.environ | {"PYTHONPATH": path}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return call  # type: ignore[return-value]


@pytest.mark.thorough
def test_the_example_of_the_documentation(steelyard: Steelyard, tmp_path: Path) -> None:
    for name in "AB":
        (tmp_path / f"{name}.lab.json").write_text(json.dumps(LOG | {"model": name}))
    for inputs in (["A.lab.json", "B.lab.json"], ["."], [".", "--format", "lab run"]):
        done = steelyard("data", "info", *inputs, "--json")
        assert done.returncode == 0, done.stderr
        shown = json.loads(done.stdout)
        assert shown["systems"] == ["A", "B"]
        assert {file["format"] for file in shown["read"]} == {"lab run"}
    done = steelyard("compare", ".", "--where", "lab.topic=law", "--json")
    assert json.loads(done.stdout)["n_segments"] == 1
    (tmp_path / "A.lab.json").write_text(json.dumps(LOG | {"answers": [{"quality": 1}]}))
    done = steelyard("data", "info", "A.lab.json")
    assert done.returncode == 2
    assert "A.lab.json" in done.stderr
    assert "'answers[0].id'" in done.stderr


def test_a_broken_package_is_left_out(steelyard: Steelyard, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("system,segment,m\nA,1,2\nB,1,3\n")
    for points in ("bad = nowhere:form", "bad = lab_format:LONG.name"):
        done = steelyard("data", "info", "x.csv", "--json", points=points)
        assert done.returncode == 0
        assert json.loads(done.stdout)["systems"] == ["A", "B"]
        assert "format 'bad' of package lab-package is left out" in done.stderr


def test_formats_of_ours_come_first(steelyard: Steelyard, tmp_path: Path) -> None:
    """Files of ours are recognised without a look at packages."""
    (tmp_path / "x.json").write_text('[{"name": "BLEU", "score": 62.1, "signature": "s"}]')
    done = steelyard("data", "info", "x.json", "--json", points="bad = nowhere:form")
    assert json.loads(done.stdout)["read"][0]["format"] == "sacreBLEU scores"
    assert "left out" not in done.stderr
