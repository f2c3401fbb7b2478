"""Streams that are closed or full: a message that can't be written costs no result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TABLE = "segment,new,old\n" + "".join(f"{k},{k * 7 % 10},{k * 3 % 10}\n" for k in range(9))
COMPARE = f"{sys.executable} -m steelyard compare x.csv"


def in_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "x.csv").write_text(TABLE, encoding="utf-8")
    shell = ["sh", "-c", command]
    return subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("redirection", ["2>/dev/full", "<&- 2>&-"])
def test_lost_messages_cost_no_result(redirection, tmp_path):
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    expected = in_shell(f"{COMPARE} 2>/dev/null", tmp_path)
    ran = in_shell(f"{COMPARE} {redirection}", tmp_path)
    assert (ran.returncode, ran.stdout) == (0, expected.stdout)
    assert "new" in ran.stdout


def test_every_stream_closed(tmp_path):
    ran = in_shell(f"{COMPARE} --out o.csv <&- >&- 2>&-", tmp_path)
    assert ran.returncode == 0
    assert (tmp_path / "x.csv").read_text() == TABLE  # no message went into another file
    assert (tmp_path / "o.csv").read_text().startswith("decision,")
