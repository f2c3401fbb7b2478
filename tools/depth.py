"""Measure the longest path of calls of a command: how many functions of Steelyard stand on a stack.

    python tools/depth.py meta --demo --significance

Frames of other libraries between them do not count, nor do comprehensions and module bodies.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import steelyard
from steelyard.cli.main import main

ROOT = str(Path(steelyard.__file__).parent)


def own(frame: FrameType) -> str | None:
    """Name a function of Steelyard; None for all others."""
    code = frame.f_code
    if not code.co_filename.startswith(ROOT) or code.co_name.startswith("<"):
        return None
    place = Path(code.co_filename).relative_to(ROOT).with_suffix("")
    return f"{'.'.join(place.parts)}:{code.co_qualname}"


class Depth:
    """The deepest stack so far."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.deepest: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Follow calls and returns."""
        if event not in ("call", "return"):
            return
        name = own(frame)
        if name is None:
            return
        if event == "return":
            if self.stack:
                self.stack.pop()
            return
        self.stack.append(name)
        if len(self.stack) > len(self.deepest):
            self.deepest = self.stack.copy()


if __name__ == "__main__":
    depth = Depth()
    sys.setprofile(depth)
    try:
        main()
    finally:
        sys.setprofile(None)
        lines = [f"{len(depth.deepest)} deep", *depth.deepest]
        sys.stderr.write("\n".join(lines) + "\n")
