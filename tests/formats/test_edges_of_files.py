"""Files at the edges: sets without segments, names that DuckDB takes, full disks."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
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


def test_a_log_with_a_column_called_file_row_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {"left": list("AABC"), "right": list("BCCA"), "outcome": ["left"] * 4}
    results = []
    for name, more in (("plain", {}), ("named", {"file_row_number": [7, 7, 7, 7]})):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table(columns | more), path)
        assert run(["compare", "--battles", str(path), "--json", "--quiet"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["aggregations"] == results[1]["aggregations"]
    columns["outcome"][2] = "nobody"
    pq.write_table(pa.table(columns | {"file_row_number": [7, 7, 7, 7]}), tmp_path / "bad.parquet")
    assert run(["compare", "--battles", str(tmp_path / "bad.parquet")]) == 2
    bad = capsys.readouterr().err
    pq.write_table(pa.table(columns), tmp_path / "bad.parquet")
    assert run(["compare", "--battles", str(tmp_path / "bad.parquet")]) == 2
    assert capsys.readouterr().err == bad  # the same row is named


def test_a_full_disk_names_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", None)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises((InputError, OSError)) as error:
        write_files(tmp_path / "demo")
    named = str(getattr(error.value, "path", None) or getattr(error.value, "filename", None))
    assert named.startswith(str(tmp_path / "demo"))
