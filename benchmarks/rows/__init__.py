"""The rows, by group; a group is measured in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from harness.row import Row
from harness.setting import Setting

GROUPS = ("meta", "systems", "battles", "judging", "texts", "inputs", "commands")


def rows_of(group: str, setting: Setting) -> Iterator[Row]:
    """Give the rows of a group; beds are made when a row needs them."""
    rows: Callable[[Setting], Iterator[Row]] = import_module(f"rows.{group}").rows
    return rows(setting)
