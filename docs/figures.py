"""Remake every figure of the documentation by the commands that its pages show.

    python docs/figures.py             # all of them (make docs-figures)
    python docs/figures.py gallery.md  # those of a page

A page shows a figure of ``figures/NAME.svg`` and, in a block above it, the command that ends in
``--out NAME.svg``; it runs in a folder that holds the demo's files and those that the page shows.
``report.png`` and its dark twin are pictures of the demo's report, taken by Chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples import DOCS, FENCE, copy_demo, pages, write_file

FIGURES = DOCS / "figures"
SCREENS = {"report": "light", "report-dark": "dark"}
_COMMAND = re.compile(r"^\$ (steelyard [^\n]* --out (\S+)\.svg(?: --quiet)?)$", re.MULTILINE)
_SHOWN = re.compile(r"figures/([\w-]+)\.svg")


def shown(page: Path) -> list[str]:
    """Name the figures that a page shows."""
    return list(dict.fromkeys(_SHOWN.findall(page.read_text(encoding="utf-8"))))


def commands(page: Path) -> dict[str, str]:
    """Give the command that makes each figure that a page shows."""
    text = page.read_text(encoding="utf-8")
    made = {name: command for command, name in _COMMAND.findall(text)}
    return {name: made[name] for name in shown(page) if name in made}


def remade(page: Path) -> Iterator[Path]:
    """Run the commands of a page; give the file of each figure."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        copy_demo(folder / "steelyard-demo")
        for block in FENCE.finditer(page.read_text(encoding="utf-8")):
            if block[2].startswith("{code-block}"):
                write_file(block[3], folder)
        for name, command in commands(page).items():
            subprocess.run(["bash", "-c", command], cwd=folder, check=True, capture_output=True)
            yield folder / f"{name}.svg"


def take_screens() -> None:
    """Take pictures of the demo's report, in light and in dark."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        subprocess.run(["steelyard", "demo", "--quiet"], cwd=place, check=True, capture_output=True)
        page = (Path(place) / "steelyard-demo.html").as_uri()
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        for name, scheme in SCREENS.items():
            size: Any = {"width": 1280, "height": 900}
            colours: Any = scheme
            view = browser.new_page(viewport=size, color_scheme=colours)
            view.goto(page)
            view.screenshot(path=FIGURES / f"{name}.png")
        browser.close()


def main(names: list[str]) -> None:
    """Remake figures, all of them unless pages are named."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    FIGURES.mkdir(exist_ok=True)
    for page in [DOCS / name for name in names] or pages():
        for file in remade(page):
            shutil.copyfile(file, FIGURES / file.name)
            print(f"{file.name}: {file.stat().st_size:,} bytes")  # noqa: T201
    if not names:
        take_screens()


if __name__ == "__main__":
    main(sys.argv[1:])
