"""Reading the page: the contents, charts by hover and keyboard, wide tables, all in a browser."""

from __future__ import annotations

from typing import Any

import pytest
from tests.report.page.opening import opened


def current(page: Any) -> str:
    found: str = page.locator("#contents a[aria-current]").text_content()
    return found


def go(page: Any, name: str) -> None:
    page.evaluate(
        "name => document.getElementById(name).scrollIntoView({behavior: 'instant'})", name
    )


def test_contents_stay_and_mark_the_section_in_view(browser, read_page):
    from playwright.sync_api import expect

    with opened(browser, read_page, 1280) as page:
        assert current(page) == "Answer"
        go(page, "metrics")
        marked = page.locator("#contents a[aria-current]")
        expect(marked).to_have_text("Metrics")
        assert page.locator("nav").bounding_box()["y"] == 0
        assert not page.locator("#menu").is_visible()
        # A heading that is gone to stands below the bar, not under it.
        bar = page.locator("nav").bounding_box()["height"]
        assert page.locator("#metrics-title").bounding_box()["y"] >= bar
        page.locator("#contents a", has_text="Segments").click()
        expect(marked).to_have_text("Segments")


def test_contents_are_a_menu_on_a_phone(browser, read_page):
    from playwright.sync_api import expect

    with opened(browser, read_page, 400) as page:
        menu, links = page.locator("#menu"), page.locator("#contents")
        assert menu.is_visible()
        assert not links.is_visible()
        menu.click()
        assert menu.get_attribute("aria-expanded") == "true"
        links.locator("a", has_text="Systems").click()
        assert not links.is_visible()
        expect(menu).to_have_text("Contents: Systems")
        menu.focus()
        page.keyboard.press("Enter")
        assert links.is_visible()
        page.keyboard.press("Escape")
        assert not links.is_visible()


def test_every_chart_speaks(browser, read_page):
    with opened(browser, read_page, 1280) as page:
        charts = page.evaluate(
            "[...document.querySelectorAll('figure.chart')].map(f => ({id: f.id,"
            " role: f.querySelector('svg').getAttribute('role'),"
            " label: f.querySelector('svg').getAttribute('aria-label'),"
            " tips: [...f.querySelectorAll('[data-tip]')].map(m => m.dataset.tip)}))"
        )
        assert len(charts) >= 4
        for chart in charts:
            assert chart["role"] == "img"
            assert len(chart["label"].split()) >= 3
            assert chart["tips"], chart["id"]
            assert not [tip for tip in chart["tips"] if "undefined" in tip]


def test_a_row_tells_its_values_on_hover(browser, read_page):
    with opened(browser, read_page, 1280) as page:
        cell = page.locator("#chart-forest [data-tip^='Alpha: ']")
        assert "95% CI" in cell.get_attribute("data-tip")
        assert cell.get_attribute("data-tip").endswith(", tier 1")
        cell.hover()
        assert page.locator("#tip").inner_text() == cell.get_attribute("data-tip")
        page.mouse.move(2, 2)
        assert not page.locator("#tip").is_visible()


def test_arrow_keys_reach_every_mark(browser, read_page):
    from playwright.sync_api import expect

    with opened(browser, read_page, 1280) as page:
        page.locator("#places summary").first.click()
        chart = "#chart-disagreement"
        tips = "all => all.map(m => m.dataset.tip)"
        marks = page.eval_on_selector_all(f"{chart} [data-tip]", tips)
        page.locator(f"{chart} .plot").focus()
        page.keyboard.press("Home")
        seen = [page.locator("#tip").inner_text()]
        for _ in marks[1:]:
            page.keyboard.press("ArrowRight")
            seen.append(page.locator("#tip").inner_text())
        assert seen == marks
        assert page.locator("#said").text_content() == marks[-1]
        assert page.locator(f"{chart} .active").count() == 1
        page.keyboard.press("Tab")
        assert not page.locator("#tip").is_visible()
        assert page.locator(".active").count() == 0
        page.locator(f"{chart} .values summary").click()
        expect(page.locator(f"{chart} .values li")).to_have_text(marks)  # made when it unfolds


def test_headings_explain_themselves(browser, read_page):
    with opened(browser, read_page, 1280) as page:
        page.locator("#leaderboard summary").first.click()
        heading = page.locator("[aria-label='Leaderboard of metrics'] th", has_text="spa").first
        heading.hover()
        assert page.locator("#tip").inner_text().startswith("soft pairwise accuracy")
        page.keyboard.press("Tab")  # from the mouse to the keyboard
        heading.locator("button").focus()
        assert page.locator("#tip").inner_text().startswith("soft pairwise accuracy")


def test_matrices_are_closed_and_walked_by_arrow_keys(browser, read_page):
    with opened(browser, read_page, 1280) as page:
        region = page.locator("#significance .scroll").first
        assert not region.is_visible()
        page.locator("#significance summary").first.click()
        region.focus()
        page.keyboard.press("ArrowRight")
        said = page.locator("#said").text_content()
        names = page.locator("#significance .matrix").first.locator("tbody th").all_text_contents()
        assert said.count(names[0]) == 1
        assert said.count(names[2]) == 1
        page.keyboard.press("Enter")
        chosen = page.evaluate(
            "['x-a', 'x-b'].map(id => document.getElementById(id).selectedOptions[0].textContent)"
        )
        assert chosen == [names[0], names[2]]


@pytest.mark.parametrize("width", [1280, 400])
def test_what_is_too_wide_says_so(browser, read_page, width):
    with opened(browser, read_page, width) as page:
        regions = page.evaluate(
            "[...document.querySelectorAll('main .held .scroll')]"
            ".filter(s => s.checkVisibility()).map(s => ({name: s.getAttribute('aria-label'),"
            " over: s.scrollWidth - s.clientWidth, faded: s.classList.contains('more-right')}))"
        )
        assert regions
        for region in regions:
            assert (region["over"] > 2) == region["faded"], region
        if width == 400:
            assert any(region["faded"] for region in regions)
            region = page.locator("[aria-label='Ranking of systems']")
            region.evaluate("s => { s.scrollLeft = 120; }")
            first = region.locator("tbody td").first.bounding_box()["x"]
            assert first == pytest.approx(region.bounding_box()["x"], abs=2)  # the names stay
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 400])
def test_pictures_fit_the_page(browser, read_page, width):
    with opened(browser, read_page, width) as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        wide = page.evaluate(
            "[...document.querySelectorAll('main svg')].filter(s => s.checkVisibility())"
            ".filter(s => s.getBoundingClientRect().right > innerWidth).length"
        )
        assert wide == 0
        main = page.locator("main").bounding_box()["width"]
        assert page.locator("#chart-forest").bounding_box()["width"] > main - 60
