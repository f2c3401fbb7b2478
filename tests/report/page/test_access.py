"""The page for everybody: what axe-core (Deque's checks of accessibility) finds in a browser.

axe-core is no part of this repository: ``npm install axe-core`` in the folder the tests run from,
or STEELYARD_AXE with the path of its axe.min.js.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.report.page.opening import opened


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, or a skip that says how to get it."""
    named = os.environ.get("STEELYARD_AXE")
    path = Path(named) if named else Path("node_modules/axe-core/axe.min.js")
    if not path.is_file():
        pytest.skip("no axe-core (npm install axe-core, or set STEELYARD_AXE)")
    return path.read_text(encoding="utf-8")


def violations(page: Any, axe: str) -> list[tuple[str, str, str]]:
    """Run all checks; what is folded away is opened, since a reader can open it."""
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (one["impact"], one["id"], node["html"][:200])
        for one in found["violations"]
        for node in one["nodes"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["read_page", "hostile_page"])
def test_no_serious_violation(browser, request, axe, name, width, scheme):
    with opened(browser, request.getfixturevalue(name), width, scheme) as page:
        assert violations(page, axe) == []


def test_the_checks_see_what_is_wrong(browser, read_page, axe):
    """A label that is taken away is found: the checks do run."""
    with opened(browser, read_page) as page:
        page.evaluate("document.querySelector('.chart svg').removeAttribute('aria-label')")
        assert any(rule == "svg-img-alt" for _, rule, _ in violations(page, axe))
