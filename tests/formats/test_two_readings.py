"""Tables that could be read in two ways: the right numbers, or a question; never the wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import SteelyardError


def file(folder: Path, name: str, header: str, *rows: Any, sep: str = ",") -> Path:
    path = folder / name
    lines = [header, *(row if isinstance(row, str) else sep.join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def means(*sources: Path, score: str | None = None, **options: Any) -> dict[str, float]:
    es = sy.load(*sources, **options)
    table = es[score] if score else next(iter(es.scores.values()))
    return dict(zip(es.systems, table.system_means().tolist(), strict=True))


# Per cent.


def test_percent_in_one_file_is_not_compared_with_plain_numbers(tmp_path: Path) -> None:
    old = file(tmp_path, "old.csv", "id,score", *((k, 0.6) for k in range(9)))
    new = file(tmp_path, "new.csv", "id,score", *((k, "40%") for k in range(9)))
    high = file(tmp_path, "high.csv", "id,score", *((k, 60 + k) for k in range(9)))
    with pytest.raises(SteelyardError, match="% in .*new.csv and without in .*old.csv"):
        sy.gate(old, new)
    with pytest.raises(SteelyardError, match="written with %"):
        sy.load(high, new)
    assert run(["gate", str(old), str(new)]) == 2
    assert means(old, new) == pytest.approx({"old": 0.6, "new": 0.4})
    assert means(new) == {"new": 40}
    assert sy.gate(new, new).passed is None


def test_percent_in_some_columns_and_in_some_cells(tmp_path: Path) -> None:
    wide = file(tmp_path, "x.csv", "id,base,tuned", "a,40%,0.5", "b,50%,0.75")
    assert means(wide) == pytest.approx({"base": 0.45, "tuned": 0.625})
    with pytest.raises(SteelyardError, match="'base' is written with %"):
        sy.load(file(tmp_path, "y.csv", "id,base,tuned", "a,40%,5", "b,50%,7"))
    with pytest.raises(SteelyardError, match="40%.*other cells without"):
        sy.load(file(tmp_path, "z.csv", "model,id,acc,f1", "a,1,40%,1", "a,2,0.4,1", "b,1,1,1"))
