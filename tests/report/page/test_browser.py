"""The report in a real browser: drawn, sorted, searched, read; silent, offline and safe.

Screenshots are written to STEELYARD_SCREENSHOTS, or to a temporary folder. axe-core (Deque's checks
of accessibility) is no part of this repository: ``npm install axe-core`` in the folder the tests
run from, or STEELYARD_AXE with the path of its axe.min.js.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.report.page.opening import opened


def test_charts_are_drawn(browser, wmt_page):
    with opened(browser, wmt_page) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        marks = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('figure.chart')].map("
            "f => [f.id, [...f.querySelectorAll('[data-tip]')].filter("
            "m => m.getBBox().width + m.getBBox().height > 0).length]))"
        )
        assert set(marks) >= {"chart-density", "chart-ranks", "chart-systems"}
        assert min(marks.values()) > 0
        rows = page.locator("#chart-forest tbody tr")
        assert rows.count() == 13
        assert " wins, " in page.locator("#chart-wins [data-tip]").first.get_attribute("data-tip")


def first_column(page: Any, region: str) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        f"[aria-label='{region}'] tbody tr", "rows => rows.map(r => r.cells[0].textContent)"
    )
    return found


def test_tables_are_sorted(browser, wmt_page):
    with opened(browser, wmt_page) as page:
        page.locator("#leaderboard summary").first.click()
        region = "Leaderboard of metrics"
        before = first_column(page, region)
        heading = page.locator(f"[aria-label='{region}'] thead button").first
        heading.focus()
        page.keyboard.press("Enter")
        assert first_column(page, region) == sorted(before, key=str.lower)
        page.keyboard.press("Enter")
        assert first_column(page, region) == sorted(before, key=str.lower, reverse=True)
        cell = page.locator(f"[aria-label='{region}'] thead th").first
        assert cell.get_attribute("aria-sort") == "descending"


def test_the_explorer(browser, wmt_page):
    from playwright.sync_api import expect

    with opened(browser, wmt_page) as page:
        cards = page.locator("#x-list article")
        count = page.locator("#x-count")
        assert cards.count() == 3
        assert count.inner_text() == "1–3 of 557 segments"
        assert page.locator("#x-list mark.diff-a").count() > 0
        assert page.locator("#x-list mark.diff-b").count() > 0
        page.select_option("#x-sort", label="difference of A and B")
        gaps = page.eval_on_selector_all(
            "#x-list article",
            "all => all.map(a => [...a.querySelectorAll('tr')].at(-1).cells[3].textContent)"
            ".map(text => Math.abs(Number(text)))",
        )
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[0] > 0
        page.click("#x-next")
        assert count.inner_text() == "4–6 of 557 segments"
        page.select_option("#x-domain", label="news")
        news = int(count.inner_text().split()[-2])
        assert 0 < news < 557
        assert "news" in cards.first.locator("h3").inner_text()
        page.select_option("#x-domain", label="all")
        page.fill("#x-search", "zzzz no such words")
        expect(count).to_have_text("No segment matches.")
        page.fill("#x-search", "")
        expect(count).to_have_text("1–3 of 557 segments")  # a search waits for the last letter
        page.select_option("#x-sort", label="order of the set")
        page.select_option("#x-a", label="ONLINE-B")
        expect(count).to_have_text("1–3 of 557 segments")
        page.click("#x-next")
        fourth = cards.first
        assert "missing number" in fourth.inner_text()
        assert fourth.locator("mark.wrong").count() > 0


@pytest.mark.parametrize(
    ("width", "scheme"), [(400, "light"), (900, "dark"), (1280, "light"), (1280, "dark")]
)
def test_readable_at_every_width(browser, wmt_page, pictures, width, scheme):
    with opened(browser, wmt_page, width, scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=pictures / f"wmt23-en-de-{width}-{scheme}.png")
        assert page.evaluate("document.documentElement.scrollHeight") < (
            15_000 if width < 500 else 9_000
        )
        if width == 1280:
            page.set_viewport_size({"width": 1280, "height": 800})
            box = page.locator("#chart-forest").bounding_box()
            assert box["y"] + box["height"] <= 800  # the first screen holds the answer
        for name in ("systems", "metrics", "segments"):
            page.evaluate(
                "name => document.getElementById(name).scrollIntoView({behavior: 'instant'})", name
            )
            page.screenshot(path=pictures / f"wmt23-en-de-{width}-{scheme}-{name}.png")


def test_hostile_names_are_inert(browser, hostile_page, pictures):
    with opened(browser, hostile_page, 900) as page:
        assert page.evaluate("window.hacked") is None
        for select in ("#x-a", "#x-b", "#x-score", "#x-sort", "#x-domain", "#x-reference"):
            page.select_option(select, index=1)
        page.select_option("#x-domain", label="all")
        page.select_option("#x-sort", label="order of the set")
        page.locator("#x-list details summary").first.click()
        page.locator("#x-list mark.wrong").first.wait_for(state="attached")
        page.locator("#significance summary").first.click()
        page.locator("#significance td[data-pair]").first.hover()
        page.locator("main th button").first.click()
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, iframe, object, embed, link, base").count() == 0
        assert page.locator("script:not([type])").count() == 1
        page.screenshot(path=pictures / "hostile.png")


def test_nothing_runs_but_the_inlined_code(browser, hostile_page):
    """The policy is not a mere line in the file: it refuses code that is put into the page."""
    page = browser.new_page()
    page.goto(hostile_page.as_uri())
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.hacked") is None
    page.close()


def test_a_mistake_leads_to_its_segment(browser, wmt_page):
    with opened(browser, wmt_page) as page:
        page.locator("#segments .linked a[href*='a=ONLINE-B']").last.click()
        page.wait_for_selector("#x-list article.pinned")
        assert page.locator("#x-a option:checked").inner_text() == "ONLINE-B"
        assert page.locator("article.pinned mark.wrong").count() > 0


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
