"""Tables that stand beside this file, written by hand or found in the public domain."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def table(name: str) -> list[list[str]]:
    """Read a table of this folder, without its header.

    Examples
    --------
    >>> ["DE", "Q183"] in table("countries.tsv")
    True
    """
    text = (HERE / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()[1:]]
