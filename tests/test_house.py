"""The house: what stands where, and what a file may be called."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path

import steelyard

HOUSE = Path(steelyard.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))
#: Words that mean the same in every room.
SHARED = {"__init__", "__main__", "run", "results", "options", "words", "summary"}
ROOT = Path(__file__).parents[1]


def test_the_root_holds_the_public_names_alone():
    files = {path.name for path in HOUSE.iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "py.typed"}


def test_every_room_has_its_layer():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (contract,) = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    rooms = {path.name for path in HOUSE.iterdir() if (path / "__init__.py").is_file()}
    assert contract["exhaustive"]
    assert len(contract["layers"]) == 11
    assert {room for layer in contract["layers"] for room in layer.split(" | ")} == rooms


def test_a_name_of_a_file_is_taken_once():
    counted = Counter(path.stem for path in FILES if path.stem not in SHARED)
    assert [name for name, times in counted.items() if times > 1] == []


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports name the whole path"
            found.add(node.module or "")
    return found


def test_statistics_need_numpy_and_scipy_alone():
    known = {"numpy", "scipy", "steelyard"} | sys.stdlib_module_names
    for path in (HOUSE / "stats").rglob("*.py"):
        assert {name.partition(".")[0] for name in imported(path)} <= known, path
