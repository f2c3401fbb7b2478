"""Bases that earlier versions built on first use, and that nothing reads any more."""

from __future__ import annotations

import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from steelyard.core.download import cache_dir

_NAME = re.compile(r"embedded-[0-9a-f]{16}")


def remove_leftovers() -> int:
    """Remove the embedded bases in the cache; give how many bytes that freed.

    It says so in one line on stderr. Where there are none, all it does is to look for a folder.
    Other processes may do the same meanwhile, and a cache may be read only: neither is an error.
    """
    folder = cache_dir() / "kb"
    try:
        found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
    except OSError:  # there is no such folder
        return 0
    freed = n = 0
    for path in found:
        size = _size(path)
        shutil.rmtree(path, ignore_errors=True)
        if size and not path.exists():
            freed += size
            n += 1
    if n:
        what = f"removed {n} knowledge base(s) of earlier versions from {folder}"
        print(f"{what}: {freed / 1e6:,.0f} MB", file=sys.stderr)  # noqa: T201
    if found:
        with suppress(OSError):  # bases of the user's own may be there
            folder.rmdir()
    return freed


def _size(folder: Path) -> int:
    try:
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    except OSError:  # somebody else is removing it
        return 0
