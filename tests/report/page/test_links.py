"""Links and files of the page: a segment and a state by address, tables that can be saved."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from tests.report.page.opening import opened
from tests.report.page.sets import HOSTILE, read_set

from steelyard.comparison.run import compare
from steelyard.report.grids import system_grids
from steelyard.report.options import ReportOptions
from steelyard.report.page import make_report


def chosen(page: Any, *names: str) -> list[str]:
    found: list[str] = page.evaluate(
        "names => names.map(n => document.getElementById('x-' + n))"
        ".map(e => e.tagName === 'SELECT' ? e.selectedOptions[0].textContent : e.value)",
        list(names),
    )
    return found


def heads(page: Any) -> list[str]:
    found: list[str] = page.locator("#x-list h3 a").all_text_contents()
    return found


def test_a_link_opens_its_segment(browser, read_page):
    with opened(browser, read_page, at="#segments?segment=s29") as page:
        pinned = page.locator("#x-list article.pinned")
        assert pinned.count() == 1
        assert pinned.locator("h3").inner_text().startswith("Segment s29")
        box = pinned.bounding_box()
        assert 0 <= box["y"] < 900
        assert page.evaluate("document.activeElement.classList.contains('pinned')")


def test_a_link_holds_all_that_is_chosen(browser, read_page):
    asked = {
        "a": "Gamma", "b": "=Delta()", "score": "metric3", "human": "da", "sort": "gap",
        "domain": "news", "reference": "refB", "search": "fox says", "range": "a", "from": "-1",
        "to": "1.5",
    }  # fmt: skip
    with opened(browser, read_page, at=f"#segments?{urlencode(asked)}") as page:
        names = ("a", "b", "score", "human", "sort", "domain", "reference", "search", "range",
                 "low", "high")  # fmt: skip
        assert chosen(page, *names) == [
            "Gamma", "=Delta()", "metric3", "da", "difference of A and B", "news", "refB",
            "fox says", "A, by the score", "-1", "1.5",
        ]  # fmt: skip
        assert "Reference refB" in page.locator("#x-list article").first.inner_text()
        link = page.evaluate("document.querySelector('#x-list h3 a').hash")
    with opened(browser, read_page, at=link) as page:
        assert chosen(page, *names)[:3] == ["Gamma", "=Delta()", "metric3"]
        assert page.locator("#x-list article.pinned").count() == 1


def test_a_segment_that_the_filters_of_a_link_leave_out_is_shown(browser, read_page):
    with opened(browser, read_page, at="#segments?domain=chat&segment=s1") as page:
        assert heads(page)[0] == "Segment s1"
        assert page.locator("#x-list article.pinned").count() == 1


@pytest.mark.parametrize(
    "at",
    ["#segments?a=nobody&sort=nothing&range=x&page=99", "#segments?page=-3", "#segments?page=x",
     "#segments?%E0%A4%A", "#%E0%A4%A", "#segments?segment=nowhere"],
)  # fmt: skip
def test_a_link_that_names_what_is_not_there_shows_the_rest(browser, read_page, at):
    with opened(browser, read_page, at=at) as page:
        assert page.locator("#x-list article").count() > 0
        assert chosen(page, "sort")[0].startswith("human and score")
        if "nowhere" in at:
            assert "not in this page" in page.locator("#x-count").inner_text()


def test_back_and_forward(browser, read_page):
    from playwright.sync_api import expect

    count = "#x-count"
    with opened(browser, read_page) as page:
        assert "#" not in page.url
        page.select_option("#x-domain", label="chat")
        assert page.url.endswith("#segments?domain=chat")
        expect(page.locator(count)).to_have_text("1–3 of 12 segments")
        page.click("#x-next")
        assert page.url.endswith("#segments?domain=chat&page=2")
        page.click("#contents a >> text=Systems")
        page.go_back()
        expect(page.locator(count)).to_have_text("4–6 of 12 segments")
        page.go_back()
        expect(page.locator(count)).to_have_text("1–3 of 12 segments")
        page.go_back()
        expect(page.locator(count)).to_have_text("1–3 of 36 segments")
        assert chosen(page, "domain") == ["all"]
        page.go_forward()
        expect(page.locator(count)).to_have_text("1–3 of 12 segments")
        page.click("#contents a >> text=Segments")  # going there forgets nothing
        assert chosen(page, "domain") == ["chat"]
        page.click("#x-reset")
        expect(page.locator(count)).to_have_text("1–3 of 36 segments")


def test_words_that_are_typed_are_one_step(browser, read_page):
    from playwright.sync_api import expect

    with opened(browser, read_page) as page:
        for part in ("number 3", "number 35"):
            page.fill("#x-search", part)
            expect(page.locator("#x-count")).not_to_have_text("1–3 of 36 segments")
            page.wait_for_url(f"**{quote(part).replace('%20', '+')}")
        page.go_back()
        expect(page.locator("#x-count")).to_have_text("1–3 of 36 segments")
        assert chosen(page, "search") == [""]


def test_links_are_copied(browser, read_page):
    from playwright.sync_api import expect

    with opened(browser, read_page) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.select_option("#x-a", label="Gamma")
        button = page.locator("#x-list article button.small").first
        segment = heads(page)[0].removeprefix("Segment ")
        button.click()
        expect(button).to_have_text("Copied")
        link = page.evaluate("navigator.clipboard.readText()")
        assert link == f"{read_page.as_uri()}#segments?a=Gamma&segment={segment}"


def test_where_copying_is_forbidden_the_link_is_shown(browser, read_page):
    with opened(browser, read_page) as page:
        page.evaluate(
            "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }"
        )
        page.click("#x-link")
        field = page.locator("input.address")
        assert field.input_value() == f"{read_page.as_uri()}#segments"
        assert field.evaluate("f => f.selectionEnd - f.selectionStart") > 20


def test_scores_in_a_range(browser, read_page):
    es = read_set()
    row = es.systems.index("Alpha")
    with opened(browser, read_page) as page:
        page.select_option("#x-a", label="Alpha")
        page.select_option("#x-score", label="metric1")
        page.select_option("#x-range", label="A, by the score")
        page.fill("#x-low", "0.5")
        page.press("#x-low", "Enter")
        page.fill("#x-high", "2")
        page.press("#x-high", "Tab")
        values = es["metric1"].values[row]
        n = int(((values >= 0.5) & (values <= 2)).sum())
        assert 0 < n < 36
        assert page.locator("#x-count").inner_text().endswith(f"of {n} segments")


def test_a_menu_without_a_choice_is_not_shown(browser, read_page, tmp_path):
    es = read_set()
    alone = replace(es, segments=replace(es.segments, references={}), outputs={})
    path = tmp_path / "r.html"
    make_report(alone, "mqm", options=ReportOptions(n_bootstrap=20, n_resamples=20)).save(path)
    with opened(browser, path) as page:
        assert not page.locator("#x-reference").is_visible()
        assert page.locator("#x-domain").is_visible()
    with opened(browser, read_page) as page:
        assert page.locator("#x-reference").is_visible()
        assert page.locator("#x-human option").all_text_contents() == ["mqm", "da"]


def test_all_systems_on_one_segment(browser, read_page):
    with opened(browser, read_page) as page:
        card = page.locator("#x-list article").first
        name = card.locator("h3 a").inner_text()
        card.get_by_text("All 4 systems on this segment").click()
        rows = card.locator(".everybody tbody tr")
        rows.first.wait_for()  # made when it unfolds
        assert rows.count() == 4
        scores = [*map(float, rows.locator("td.number:nth-child(3)").all_text_contents())]
        assert scores == sorted(scores, reverse=True)
        button = rows.locator("button").first
        system = button.evaluate("b => b.closest('tr').cells[0].textContent")
        button.click()
        assert chosen(page, "b") == [system]
        assert page.locator("#x-list article.pinned h3 a").inner_text() == name


def saved(page: Any, button: Any) -> tuple[str, str]:
    with page.expect_download() as found:
        button.click()
    return found.value.suggested_filename, Path(found.value.path()).read_text(encoding="utf-8")


def test_every_table_can_be_saved_exactly(browser, read_page):
    found = compare(read_set(), "mqm", n_bootstrap=50)
    with opened(browser, read_page) as page:
        regions = page.locator("main .held").count()
        assert page.locator("main .held > .download").count() == regions > 4
        held = page.locator(".held", has=page.locator("[aria-label='Ranking of systems']"))
        name, text = saved(page, held.locator(".download"))
        assert name == "ranking-of-systems.csv"
        assert text == found.table().csv()
        assert "'=Delta()" in text  # a spreadsheet shows the name, and runs nothing
        page.locator("#significance summary").first.click()
        name, text = saved(page, page.locator("#significance .download").first)
        assert text == system_grids(found, read_set().systems)[0].table().csv()
        rows = list(csv.DictReader(text.splitlines()))
        assert len(rows) == 6
        i, j = (
            found.systems.index(rows[0][side].removeprefix("'")) for side in ("first", "second")
        )
        assert float(rows[0]["p"]) == found.tests["permutation"].p_adjusted[i, j]


def test_found_segments_can_be_saved(browser, read_page):
    es = read_set()
    with opened(browser, read_page, at="#segments?domain=chat&b=%3DDelta%28%29") as page:
        name, text = saved(page, page.locator("#x-csv"))
    rows = list(csv.reader(text.splitlines()))
    assert name == "segments.csv"
    assert len(rows) == 13
    assert rows[0][6] == "B: =Delta()"
    own = dict(zip(rows[0], rows[1], strict=True))
    k = es.segments.ids.index(own["segment"])
    assert own["source"] == (es.segments.sources or ())[k]
    assert rows[1][6] == f"'=Delta() says {k}"
    value = es["metric2"].values[es.systems.index("=Delta()"), k]
    assert float(own["metric2 B"]) == pytest.approx(value, abs=1e-3)


def test_hostile_names_do_nothing_in_links_files_and_tips(browser, hostile_page):
    asked = {"a": HOSTILE[3], "b": HOSTILE[0], "search": HOSTILE[4], "segment": HOSTILE[3] + "3",
             "domain": "<img src=x onerror=window.hacked=1>"}  # fmt: skip
    with opened(browser, hostile_page, at=f"#segments?{urlencode(asked)}") as page:
        assert chosen(page, "a", "b") == [HOSTILE[3], HOSTILE[0]]
        assert page.locator("#x-list article.pinned").count() == 1
        page.fill("#x-search", "")
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        for index in range(3):
            _, text = saved(page, page.locator(".download:visible").nth(index))
            assert not any(line.startswith(("=", "+", "@", "-")) for line in text.splitlines())
        _, text = saved(page, page.locator("#x-csv"))
        for row in list(csv.reader(text.splitlines(keepends=True)))[1:]:
            assert not any(cell[:1] in ("=", "+", "@") for cell in row)
        for plot in page.locator(".plot").all():
            plot.focus()
            page.keyboard.press("ArrowRight")
        assert page.locator("#tip").inner_text()
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, iframe, object, embed, link, base").count() == 0


def test_csv_of_the_page_is_data(hostile_page):
    text = hostile_page.read_text(encoding="utf-8")
    parts = text.split('class="csv">')[1:]
    assert len(parts) > 3
    for part in parts:
        data = part.partition("</script>")[0]
        assert not set("<>&\u2028\u2029") & set(data)
        assert json.loads(data).count("\n") >= 2
