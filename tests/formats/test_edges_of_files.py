"""Files at the edges: sets without segments, full disks."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from steelyard.cli.main import run
from steelyard.core.errors import InputError
from steelyard.demo.folder import write_files


@pytest.mark.parametrize("form", ["long", "text"])
def test_scores_of_whole_systems_have_no_segments_to_write(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "systems.csv", tmp_path / "out.jsonl"
    table.write_text("system,BLEU\nA,32\nB,30\n")
    assert run(["data", "convert", str(table), str(out), "--to", form, "--lp", "en-de"]) == 2
    assert capsys.readouterr().err.count("error:") == 1
    assert not out.exists()
    assert run(["data", "convert", str(table), str(out), "--to", "system"]) == 0


def test_a_full_disk_names_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", None)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises((InputError, OSError)) as error:
        write_files(tmp_path / "demo")
    named = str(getattr(error.value, "path", None) or getattr(error.value, "filename", None))
    assert named.startswith(str(tmp_path / "demo"))
