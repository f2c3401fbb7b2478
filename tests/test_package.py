"""The package as strangers meet it: plugins, the action, how it is cited."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

import steelyard

ROOT = Path(__file__).parents[1]


def test_it_is_cited_by_its_version_and_its_four_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == steelyard.__version__
    assert [paper["year"] for paper in citation["references"]] == [2020, 2020, 2021, 2024]


def test_the_metric_that_the_documentation_shows_is_found_by_its_entry_point(tmp_path):
    page = (ROOT / "docs/questions/score.md").read_text(encoding="utf-8")
    shown = page.partition(":caption: shout.py\n")[2].partition("```")[0]
    about = tmp_path / "site/shout-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shout\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[steelyard.metrics]\nshout = shout:Shout\n")
    (tmp_path / "site/shout.py").write_text(shown)
    for name, text in (("a.en", "Yes!\nNo!!\n"), ("b.en", "Yes.\nNo.\n"), ("ref.en", "Ja\nNein\n")):
        (tmp_path / name).write_text(text)
    paths = os.pathsep.join([str(tmp_path / "site"), str(ROOT / "src")])
    command = ["score", "a.en", "b.en", "--ref", "ref.en", "--metrics", "shout", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *command], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": paths}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["systems"] == {"a": {"shout": 1.5}, "b": {"shout": 0.0}}
    assert printed["signatures"] == {"shout": "shout|mark:!"}


@pytest.mark.thorough
def test_the_steps_of_the_action_install_and_run_a_clone(tmp_path):
    """What it depends on is that of this environment; hatchling is fetched, or it is skipped."""
    clone, programs = tmp_path / "clone", tmp_path / "env/bin"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(programs.parent)], check=True)
    fetched = subprocess.run([programs / "pip", "install", "-q", "hatchling"], check=False)
    if fetched.returncode:
        pytest.skip("hatchling can't be fetched")
    install, gate = yaml.safe_load((clone / "action.yml").read_text())["runs"]["steps"]
    for name, shift in (("old.csv", 0.0), ("new.csv", 0.01)):
        rows = [f"{k},{k % 7 + shift * (k % 3)}" for k in range(60)]
        (tmp_path / name).write_text("\n".join(["item,acc", *rows]) + "\n")
    values = dict.fromkeys([*install["env"], *gate["env"]], "")
    values |= {"BASELINE": "old.csv", "CANDIDATE": "new.csv", "INSTALL": str(clone)}
    values |= {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # 0: there is none
    values |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for step, path in ((install, ""), (gate, str(Path(pytest.__file__).parents[1]))):
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=tmp_path, capture_output=True, text=True,
            env=os.environ | values | {"PYTHONPATH": path}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    (site,) = programs.parent.glob("lib/*/site-packages/steelyard")
    assert (site / "schema-1.json").is_file()
    assert "## Gate: pass" in (tmp_path / "steelyard-gate.md").read_text()
