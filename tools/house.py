"""Compare the size of every room with its budget in house.toml, and fail where one is above it.

A room passes while it is no larger than its budget or than it was when the budgets were set
(``start``), whichever is more: rooms that wait for their rewrite pass, and none may grow.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
Size = tuple[int, int]  # lines, files


def sizes(root: Path) -> dict[str, Size]:
    """Return lines and files of every room and of the tests; ``__init__.py`` is no file."""
    rooms = [path for path in (root / "src" / "steelyard").iterdir() if path.is_dir()]
    measured = {}
    for folder in [*rooms, root / "tests"]:
        paths = list(folder.rglob("*.py"))
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
        if paths:
            measured[folder.name] = lines, sum(path.name != "__init__.py" for path in paths)
    return measured


def main(root: Path = ROOT) -> int:
    """Print the table of rooms and return the exit code."""
    budgets = tomllib.loads((root / "house.toml").read_text(encoding="utf-8"))["rooms"]
    measured = sizes(root)
    failures = [f"{name}: no budget in house.toml" for name in measured.keys() - budgets.keys()]
    print(f"{'room':<15}{'lines':>8}{'budget':>8}{'files':>7}{'budget':>8}")
    for name, (lines, files) in sorted(measured.items(), key=lambda item: -item[1][0]):
        if name not in budgets:
            continue
        budget = budgets[name]["lines"], budgets[name]["files"]
        most = tuple(map(max, budget, budgets[name].get("start", budget)))
        above = lines > budget[0] or files > budget[1]
        print(
            f"{name:<15}{lines:>8,}{budget[0]:>8,}{files:>7}{budget[1]:>8}"
            f"{'  above budget' if above else ''}"
        )
        if lines > most[0] or files > most[1]:
            failures.append(
                f"{name}: {lines:,} lines in {files} files, at most {most[0]:,} in {most[1]}"
            )
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
