"""Figures under ``ulimit -v``, where V8 would abort: none are drawn, and a line says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")
if not Path("/proc/self/statm").exists():
    pytest.skip("address space is known on Linux alone", allow_module_level=True)

TABLE = "segment,new,old\n" + "".join(f"{k},{k * 7 % 10},{k * 3 % 10}\n" for k in range(9))


def limited(gigabytes: int, arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "x.csv").write_text(TABLE, encoding="utf-8")
    command = f"ulimit -v {gigabytes << 20} && {sys.executable} -m steelyard {arguments}"
    shell = ["sh", "-c", command]
    return subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("gigabytes", [4, pytest.param(64, marks=pytest.mark.thorough)])
def test_the_report_has_no_figures(gigabytes, tmp_path):
    ran = limited(gigabytes, "report x.csv --out r.html", tmp_path)
    assert ran.returncode == 0
    (line,) = (line for line in ran.stderr.splitlines() if "figure" in line)
    assert line.startswith("warning:")
    assert f" {gigabytes} GB" in line
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert '<svg role="img"' not in page
    assert "the page has no figures" in page


@pytest.mark.parametrize("arguments", ["", " --plot forest,wins"])
def test_a_figure_is_refused(arguments, tmp_path):
    ran = limited(16, f"compare x.csv --out f.svg{arguments}", tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith("error: a figure needs")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.thorough
def test_enough_address_space(tmp_path):
    ran = limited(80, "report x.csv --out r.html", tmp_path)
    assert ran.returncode == 0
    assert (tmp_path / "r.html").read_text(encoding="utf-8").count('<svg role="img"') >= 1
