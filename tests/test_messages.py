"""The library speaks of arguments; flags are the command line's."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import steelyard

HOUSE = Path(steelyard.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
#: Rooms whose messages still name flags; the list may only get shorter.
EXEMPT: set[str] = {"metaevaluation"}


def flags(path: Path) -> set[str]:
    """The flags that strings of a module name; docstrings may, and so may the fields of options."""
    text = path.read_text(encoding="utf-8")
    if not FLAG.search(text):
        return set()
    tree = ast.parse(text)
    passed = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) or (isinstance(node, ast.keyword) and node.arg == "flag")
    }
    return {
        flag
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in passed
        for flag in FLAG.findall(node.value)
    }


def test_no_message_of_the_library_names_a_flag():
    paths = [path.relative_to(HOUSE) for path in sorted(HOUSE.rglob("*.py"))]
    told = {path.as_posix(): flags(HOUSE / path) for path in paths if path.parts[0] != "cli"}
    named = {name: found for name, found in told.items() if found}
    assert {name for name in named if name.partition("/")[0] not in EXEMPT} == set()
