"""Parts of people's names in several scripts, for names that no base knows."""

from __future__ import annotations

from pathlib import Path


def write(_table: Path, _folder: Path) -> None:
    """Write the table."""
