"""Bases that earlier versions built on first use, and that nothing reads any more."""

from __future__ import annotations

import re
import shutil
import sys

from steelyard.core.download import cache_dir

_NAME = re.compile(r"embedded-[0-9a-f]{16}")


def remove_leftovers() -> int:
    """Remove the embedded bases in the cache; give how many bytes that freed.

    It says so in one line on stderr. Where there are none, all it does is to look for a folder.
    """
    folder = cache_dir() / "kb"
    if not folder.is_dir():
        return 0
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
    freed = 0
    for path in found:
        freed += sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        shutil.rmtree(path, ignore_errors=True)
    if found:
        what = f"removed {len(found)} knowledge base(s) of earlier versions from {folder}"
        print(f"{what}: {freed / 1e6:,.0f} MB", file=sys.stderr)  # noqa: T201
    if not any(folder.iterdir()):
        folder.rmdir()
    return freed
