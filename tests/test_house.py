"""The house: what each room may import, and how large it may be."""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

import steelyard
from house import main, sizes

HOUSE = Path(steelyard.__file__).parent
ROOT = Path(__file__).parents[1]


def test_the_root_holds_the_public_names_alone():
    files = {path.name for path in HOUSE.iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "py.typed", "pytest_plugin.py", "schema-1.json"}


def test_every_room_has_its_layer():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (contract,) = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    rooms = {path.name for path in HOUSE.iterdir() if (path / "__init__.py").is_file()}
    assert contract["exhaustive"]
    assert len(contract["layers"]) == 12
    assert {room for layer in contract["layers"] for room in layer.split(" | ")} == rooms


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


def test_every_room_has_a_budget():
    budgets = tomllib.loads((ROOT / "house.toml").read_text(encoding="utf-8"))["rooms"]
    assert set(budgets) == set(sizes(ROOT))


def test_a_room_above_its_budget_fails(tmp_path, capsys):
    room = tmp_path / "src" / "steelyard" / "attic"
    room.mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (room / "things.py").write_text("a = 1\nb = 2\n", encoding="utf-8")
    toml = tmp_path / "house.toml"
    for budget, start, code in [(2, 0, 0), (1, 0, 1), (1, 2, 0)]:
        toml.write_text(
            f"[rooms]\nattic = {{ lines = {budget}, files = 1, start = [{start}, 1] }}\n"
        )
        assert main(tmp_path) == code
    assert "attic: 2 lines in 1 files, at most 1 in 1" in capsys.readouterr().err
