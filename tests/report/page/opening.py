"""A page in the browser, watched: it must be silent and ask nobody for anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def opened(
    browser: Any, path: Path, width: int = 1440, scheme: str = "light", at: str = ""
) -> Iterator[Any]:
    """Open a page at an address; what it complains about or asks the network for fails the test."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    trouble: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri() + at)
    page.wait_for_selector("html[data-ready=yes]", timeout=300_000)
    yield page
    page.close()
    assert trouble == []
    # A file to save is made in the page, and never leaves it.
    assert [url for url in asked if not url.startswith("blob:")] == [path.as_uri()]
