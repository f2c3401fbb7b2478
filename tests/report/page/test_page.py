"""The file itself: what stands in it, what can't stand in it, and that it is always the same."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.page.sets import read_set

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.run import compare
from steelyard.core.errors import UsageError
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments
from steelyard.demo import embedded
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.report import explorer, glossary, methods, sections
from steelyard.report.figures import comparison, drawing
from steelyard.report.options import ReportOptions
from steelyard.report.page import make_report
from steelyard.report.sections import segment_link
from steelyard.report.strips import Estimate, forest
from steelyard.report.writer import script_json
from steelyard.stats.arrays import Floats


class Reader(HTMLParser):
    """Collects elements, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.raw:
            self.inside = tag
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.raw[self.inside][-1] += data


QUICK = ReportOptions(n_bootstrap=20, n_resamples=20)


@pytest.fixture(scope="module")
def hostile(hostile_page) -> str:
    text: str = hostile_page.read_text(encoding="utf-8")
    return text


def data_of(text: str, name: str) -> str:
    found = re.search(f'id="explorer-{name}">([^<]*)</script>', text)
    return found[1]


def test_no_markup_of_the_input_stands_in_the_file(hostile):
    codes = ("<script>window", "<img", "</script><", "<!-- -->", "'><b>")
    assert not [code for code in (*codes, "\u2028", "\u202e", "\x1b") if code in hostile]
    assert "{{7*7}}" in hostile  # a name is shown as it is, not run: no 49 is made of it
    facts = data_of(hostile, "facts")
    assert not set("<>&\u2028\u2029") & set(facts)
    assert "<script>window.hacked=1</script>" in json.loads(facts)["systems"]


def test_the_policy_allows_the_inlined_code_alone(hostile):
    reader = Reader(hostile)
    policy = next(a["content"] for t, a in reader.elements if t == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    code = [a for t, a in reader.elements if t == "script"]
    plain = [text for a, text in zip(code, reader.raw["script"], strict=True) if "type" not in a]
    assert len(plain) == 1
    for text in (*plain, *reader.raw["style"]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "innerHTML" not in plain[0]
    assert "eval(" not in plain[0]


def test_nothing_is_fetched_and_nothing_handles_events(hostile):
    for tag, attributes in Reader(hostile).elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form action"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in {"src", "srcset", "style", "action"}
            if name == "href":
                assert (value or "").startswith("#")


def test_tables_and_controls_are_labelled(hostile):
    reader = Reader(hostile)
    counts = Counter(tag for tag, _ in reader.elements)
    assert counts["table"] >= 6
    assert counts["h1"] == counts["main"] == counts["nav"] == 1
    ids = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.elements:
        if tag == "th":
            assert attributes.get("scope") in {"col", "row"}
        assert attributes.get("aria-labelledby", ids[0]) in ids
    assert re.search(r"<html lang=\"en\">", hostile)
    assert len(re.findall(r"<label[^>]*>[^<]+<(?:select|input)", hostile)) == 11


def test_texts_come_back(hostile):
    rows = json.loads(gzip.decompress(base64.b64decode(data_of(hostile, "texts"))))
    facts = json.loads(data_of(hostile, "facts"))
    assert len(rows) == len(facts["segments"]) == 12
    for document, source, references, outputs, _ in rows:
        assert document == source == references[0]
        assert len(outputs) == len(facts["systems"])
    marked = [row[4] for row in rows if row[4]]
    assert len(marked) == 2
    assert marked[0][0][2:4] == [1, 5]


def small(seed: int = 0, systems: tuple[str, ...] = ("A", "B", "C")) -> EvalSet:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, 40)) + np.array([[0.0], [0.5], [0.6]])
    scores = {
        "h": ScoreTable(values, kind="human"),
        "m": ScoreTable(values + rng.normal(size=(3, 40))),
    }
    order = np.argsort(systems)
    kept = {
        name: ScoreTable(table.values[order], kind=table.kind) for name, table in scores.items()
    }
    return EvalSet(tuple(np.array(systems)[order]), Segments(tuple(map(str, range(40)))), kept)


def test_a_chart_is_drawn_alike_each_time():
    pytest.importorskip("vl_convert")
    found = sy.compare(small(), "h", n_bootstrap=20)
    scores = comparison.scores_of(small(), found)
    one, two = (drawing.draw(comparison.draw("density", found, scores), "d") for _ in range(2))
    assert "url(#d-0)" in one.svg  # ids, which Vega counts on from chart to chart
    assert one == two


def test_same_input_same_bytes(no_charts):
    one = make_report(small(), "h", options=QUICK)
    two = make_report(small(), "h", options=QUICK)
    assert one.html == two.html
    other = make_report(small(), "h", rng=1, options=QUICK)
    assert other.html != one.html


def test_without_a_plotting_library_there_are_tables(no_charts):
    text = make_report(small(), "h", options=QUICK).html
    assert '<figure class="chart"' not in text  # rows with pictures need no library
    assert 'id="chart-forest"' in text
    assert "Ranking of systems" in text


def test_one_system(no_charts):
    found = make_report(small().select(systems=["A"]), "h", options=QUICK)
    assert "nothing to compare it with" in found.html
    assert 'aria-label="Decision"' not in found.html


def test_one_score_and_no_human(no_charts):
    es = small().select(scores=["m"])
    found = make_report(es, options=ReportOptions(n_bootstrap=20))
    assert found.meta is None
    assert found.comparison is not None
    assert 'id="metrics"' not in found.html
    assert found.html.count('class="csv"') == found.html.count('class="download"') > 1


def test_system_scores_alone(no_charts):
    empty = np.full((4, 0), np.nan)
    tables = {
        "h": ScoreTable(empty, kind="human", system_scores=np.array([1.0, 2, 3, 4])),
        "m": ScoreTable(empty, system_scores=np.array([1.0, 3, 2, 4])),
    }
    es = EvalSet(("A", "B", "C", "D"), Segments(()), tables)
    found = make_report(es, "h")
    assert found.comparison is None
    assert found.meta is not None
    assert 'id="explorer-facts"' not in found.html


@settings(max_examples=40)
@given(st.recursive(st.none() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_inlined_json_is_json_and_no_markup(value):
    text = script_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


@given(st.lists(st.one_of(st.just(float("nan")), st.floats(-1e6, 1e6)), min_size=1, max_size=40))
def test_packed_scores_come_back_as_far_as_digits_say(values):
    table = ScoreTable(np.array([values]))
    codes, fact = explorer.quantised(table, np.arange(len(values)))
    back = np.where(codes == explorer.MISSING, np.nan, (fact["low"] + codes.astype(float)))
    back /= 10.0 ** fact["digits"]
    wanted: Floats = np.array(values)
    assert np.array_equal(np.isnan(back), np.isnan(wanted))
    known = ~np.isnan(wanted)
    assert np.all(np.abs(back - wanted)[known] <= 0.5001 * 10.0 ** -fact["digits"])
    span = np.ptp(wanted[known]) if known.any() else 0.0
    assert 10.0 ** -fact["digits"] <= max(1.0, span / 6000)


def test_a_large_set_keeps_the_segments_that_differ_most():
    rng = np.random.default_rng(0)
    values = np.zeros((2, 400))
    values[0, ::10] = 5.0
    texts = tuple("".join(map(chr, rng.integers(97, 122, 60))) for _ in range(400))
    es = EvalSet(("A", "B"), Segments(tuple(map(str, range(400)))), {"m": ScoreTable(values)},
                 {"A": texts, "B": texts})  # fmt: skip
    packed = explorer.explore(es, ["m"], most=5000)
    assert len(packed.texts) <= 5000
    kept = packed.facts["segments"]
    assert {str(i) for i in range(0, 400, 10)} <= set(kept)
    assert any("differ most" in note for note in packed.notes)


@pytest.mark.thorough
def test_the_largest_wmt_set_fits(shared):
    """WMT23 zh-en with all metrics: what is not packed is less than half a megabyte."""
    folder = shared / "wmt23-metrics"
    names = ("human.csv.gz", "metrics.seg.csv.gz", "text.jsonl.gz")
    es = sy.load(*(folder / f"zh-en.{name}" for name in names), human="mqm")
    packed = explorer.explore(es, ["mqm", "da_sqm", *es.metrics])
    assert len(packed.facts["segments"]) == 1976
    assert len(packed.facts["scores"]) > 8
    assert len(packed.texts) + len(packed.scores) < 2_100_000


def equal_words(text: str) -> list[str]:
    allowed = text.replace("That does not make them equally good", "")
    return re.findall(r"\b(?:equal\w*|same|identical|no difference|as good as)\b", allowed)


@settings(max_examples=20)
@given(st.integers(0, 30))
def test_not_significant_is_never_worded_as_equal(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(4, 20)) + seed / 20 * np.arange(4)[:, None]
    es = EvalSet(tuple("ABCD"), Segments(tuple(map(str, range(20)))),
                 {"m": ScoreTable(values)})  # fmt: skip
    found = sy.compare(es, "m", n_bootstrap=20)
    text = methods.summarise(found, None).text()
    assert not equal_words(text)
    tiers = found.tiers["mean"]
    top = sum(cluster == 1 for cluster in tiers.clusters)
    best = found.ranking("mean")[0]
    lead = [d for d in found.decisions("mean") if best in (d.leader, d.other)]
    alone = top == 1 and all(d.significant for d in lead)
    assert ("ranks first" in text) != alone


def test_the_methods_name_every_setting(no_charts):
    es = small()
    found = make_report(
        es, "h", rng=7, options=ReportOptions(n_bootstrap=30, n_resamples=40, alpha=0.01)
    )
    paragraph, cited = methods.methods(es, found.comparison, found.meta)
    for part in ("3 systems", "40 segments", "30 resamples", "1%", "seed 7", "Holm", "spa",
                 sy.__version__):  # fmt: skip
        assert part in paragraph
    assert any("Soft Pairwise Accuracy" in work for work in cited)


def report_of(tmp_path: Path, *options: str) -> Any:
    out = tmp_path / "r.html"
    code = run(
        ["report", str(embedded.ENTITIES), "--where", "lp=de-en", *options, "--out", str(out)]
    )
    return code, out


def test_texts_without_scores_can_be_read(no_charts, tmp_path, capsys):
    code, out = report_of(tmp_path)
    assert code == 0
    text = out.read_text(encoding="utf-8")
    assert json.loads(data_of(text, "facts"))["scores"] == []
    shown = capsys.readouterr()
    assert shown.out.startswith("The page shows texts: ")
    assert shown.err.endswith(f"wrote {out}: open it in a browser\n")


def test_explanations_of_kobe_are_read(tmp_path):
    es = small()
    path = tmp_path / "kobe.jsonl"
    entities = [
        {"kind": "found", "category": "city", "source": [0, 4, "Wien"], "output": [0, 6, "Vienna"]},
        {"kind": "lost", "category": "number", "source": [9, 11, "12"], "output": None},
        {"kind": "changed", "category": "date", "source": [1, 2, "x"], "output": [3, 5, "May"]},
    ]
    rows = [{"system": s, "segment": "3", "entities": entities} for s in ("A", "Z")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = explorer.read_mistakes(path, es)
    assert [(m.system, m.kind, m.start, m.end, m.text, m.side) for m in found] == [
        ("A", "lost number", 9, 11, "12", "source"),
        ("A", "changed date", 3, 5, "May", "output"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", "m.jsonl:1: the object has no 'system'"),
        ("[1]", "m.jsonl:1: expected an object"),
        ('{"system": "s", "segment": 1, "kind": "k", "start": 3}', "m.jsonl:1: 'start' and 'end'"),
        (
            '{"system": "s", "segment": 1, "kind": "k", "start": 3, "end": 1}',
            "expected whole numbers",
        ),
        ('{"system": "s", "segment": 1, "kind": "k", "side": "left"}', "expected output or source"),
        ("{", "m.jsonl:1: "),
        ('{"system": "s", "segment": 1, "entities": [1]}', "not a list of objects"),
        ('{"system": "s", "segment": 1, "entities": [{"kind": "lost"}]}', "not [start, end, text]"),
        ('{"segment": 1, "entities": [{"kind": "lost", "source": [0, 1, "x"]}]}', "no 'system'"),
    ],
)
def test_bad_mistakes_name_the_line(tmp_path, capsys, line, message):
    path = tmp_path / "m.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    code, out = report_of(tmp_path, "--entities", str(path))
    assert code == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_raw_judgements_add_raters_and_errors(no_charts, tmp_path, capsys):
    out = tmp_path / "r.html"
    quick = ["--bootstrap", "10", "--resamples", "1", "--metrics", "chars-refA"]
    inputs = [str(embedded.SCORES), "--human", "mqm", "--ratings", str(embedded.RATINGS)]
    assert run(["report", *inputs, *quick, "--out", str(out), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["bytes"] == out.stat().st_size
    assert result["summary"]
    assert all(isinstance(sentence, str) for sentence in result["summary"])
    parts = "bytes comparison judges meta out summary warnings"
    assert set(result) == {*parts.split(), *["command", "provenance", "read", "schema", "version"]}
    assert "Krippendorff" in out.read_text(encoding="utf-8")


def test_results_at_hand_are_shown_as_they_are():
    es = small()
    compared = compare(es, "h", by=["mean"], n_bootstrap=30, rng=5)
    weighed = meta_evaluate(es, "h", n_bootstrap=30, rng=5)
    found = make_report(es, "h", comparison=compared, meta=weighed)
    assert found.comparison is compared
    assert found.meta is weighed
    assert "bootstrap" not in found.provenance.options  # nothing was drawn here
    with pytest.raises(UsageError, match="the comparison is by 'h'"):
        make_report(es, "h", comparison=compared, options=ReportOptions(score=es.metrics[0]))
    with pytest.raises(UsageError, match="systems that the set does not have"):
        make_report(es.select(systems=es.systems[:2]), "h", comparison=compared)


def group(text: str, name: str) -> str:
    """The part of the page under one of its six headings."""
    found = re.search(f'<section id="{name}".*?</section>', text, re.DOTALL)
    return found[0] if found else ""


def test_the_answer_comes_first_with_its_number(no_charts):
    report = make_report(small(), "h", options=ReportOptions(n_bootstrap=30, n_resamples=20))
    answer = group(report.html, "answer").replace("\xa0", " ")
    lead = report.comparison.lead()
    large = re.search(r'<p class="headline">([^<]*)</p>', answer)
    assert large[1] == lead.words()
    assert answer.index("headline") < answer.index("chart-forest") < answer.index("<ul")
    assert answer.count(lead.lead()) == 1  # nothing is said twice
    order = re.findall(r'<section id="(\w+)"', report.html)
    assert order == ["answer", "systems", "metrics", "segments"]


def test_the_headline_says_that_it_is_of_common_segments(no_charts):
    values = np.array(small()["h"].values)
    values[2, :5] = np.nan
    es = small().drop(scores=["h"]).with_scores("h", ScoreTable(values, kind="human"))
    report = make_report(es, "h", options=QUICK)
    assert "), on common segments.</p>" in group(report.html, "answer")


def test_a_human_reference_is_called_one(no_charts):
    es = small(systems=("A", "B", "refA"))
    answer = group(make_report(es, "h", options=QUICK).html, "answer")
    assert "refA <small>human reference</small>" in answer
    assert answer.count("human reference</small>") == 1


def test_two_systems_are_a_decision(no_charts):
    es = small().select(systems=["A", "C"])
    report = make_report(es, "h", options=ReportOptions(n_bootstrap=50, n_resamples=20))
    card = sy.decide(es, ("C", "A"), "h", n_bootstrap=50)
    answer = group(report.html, "answer").replace("\xa0", " ")
    assert 'aria-label="Decision"' in report.html
    assert card.verdict in answer
    assert "C minus A" in answer
    assert f"{card.wins:,}, {card.ties:,}, {card.losses:,}" in answer


def test_tasks_are_shown_with_their_macro_average(no_charts):
    es = small(systems=("A", "B", "C")).select(systems=["A", "C"])
    tasks = {"task": ("sums",) * 20 + ("colours",) * 20}
    es = replace(es, segments=replace(es.segments, metadata=tasks))
    report = make_report(es, "h", options=QUICK)
    suite = report.comparison.suite
    answer = group(report.html, "answer")
    names = re.findall(r'<th scope="row" dir="auto">([^<]*)</th>', answer)
    assert names == [part.name for part in (*suite.ordered(), suite.macro)]
    assert 'aria-label="Systems by task"' in group(report.html, "systems")


def test_findings_of_checks_lead_to_their_segments(no_charts):
    sources = tuple(f"Das sind {k} Katzen aus Wien." for k in range(20, 32))
    right = tuple(f"These are {k} cats from Vienna." for k in range(20, 32))
    wrong = tuple(f"These are {k + 7} cats from Vienna." for k in range(20, 32))
    rng = np.random.default_rng(0)
    es = EvalSet(("A", "B"), Segments(tuple(map(str, range(12))), sources=sources),
                 {"m": ScoreTable(rng.normal(size=(2, 12)))}, {"A": right, "B": wrong},
                 language_pair="de-en")  # fmt: skip
    report = make_report(es, options=ReportOptions(n_bootstrap=20))
    findings = sy.check(es).findings
    assert {finding.system for finding in findings} == {"B"}
    shown = group(report.html, "segments")
    assert "Numbers, names and terms" in shown
    links = re.findall(r'<a href="(#segments[^"]*)">', shown)
    assert links[0] == f"#segments?a=B&amp;segment={findings[0].segment}"
    unchecked = make_report(es, options=ReportOptions(n_bootstrap=20, checked=0))
    assert "Numbers, names" not in unchecked.html


def test_mistakes_are_listed_the_surest_first(no_charts):
    hostile = "</script><img src=x onerror=1>"
    marks = [explorer.Mistake("B", str(k), hostile, 0, 2, hostile) for k in range(30)]
    marks.append(explorer.Mistake("B", "1", "wrong number", confidence=0.9, text="12"))
    page = make_report(small(), "h", mistakes=marks, options=QUICK)
    html = group(page.html, "segments")
    assert "31 mistakes in 30 outputs" in html
    links = re.findall(r'<a href="([^"]*)">([^<]*)</a>', html)
    assert links[0] == ("#segments?a=B&amp;segment=1", "1")
    assert "<img" not in html
    link = segment_link('a"b<c>&d', "x\u202ey z#")
    assert not set('"<> ') & set(link)
    assert link.count("#") == 1


def test_ratings_come_as_objects_or_lists():
    es = small()
    ratings = Ratings.from_labels(
        rater=["x", "y"] * 3, system=["A"] * 6, segment=["1", "1", "2", "2", "3", "3"],
        value=np.array([1.0, 2.0, 3.0, 3.0, 5.0, 4.0]),
    )  # fmt: skip
    assert set(explorer.add_ratings(es, [ratings, ratings]).ratings) == {"ratings 1", "ratings 2"}
    html = make_report(es, "h", ratings=ratings, options=QUICK).html
    assert "2 raters gave 6 judgements" in group(html, "ratings")
    with pytest.raises(UsageError, match="ratings"):
        explorer.add_ratings(es, [3])  # type: ignore[list-item]


@pytest.mark.parametrize("beside", [False, True])
def test_a_wmt26_log_has_both_rankings(tmp_path, beside):
    rng, log, scores = np.random.default_rng(0), tmp_path / "log.jsonl", tmp_path / "scores.csv"
    entries = []
    for k in range(12):
        texts = {"item_id": f"news_###_d{k // 2}_###_{k % 2}", "src": "Yes.",
                 "tgt": dict.fromkeys("ABC", "Ja.")}  # fmt: skip
        marks = {s: {"score": float(np.clip(m + rng.normal(0, 8), 0, 100)), "error_spans": []}
                 for s, m in zip("ABC", (90, 60, 58), strict=True)}  # fmt: skip
        entries.append(
            {"user_id": f"u{k % 3}", "item_i": k, "item": [texts], "annotation": [marks]}
        )
    log.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    es = sy.load(log)
    if beside:
        sy.save(es, scores)
        page = make_report(scores, "human", ratings=log, options=QUICK)
    else:
        page = make_report(log, "human", options=QUICK)
    result = sy.human_scores(log, protocol="esa", preset="wmt26", n_bootstrap=0)
    sentence = result.both_rankings()
    assert sentence is not None
    shown = group(page.html, "ratings")
    assert sentence in shown
    names = re.findall(r"<tr><td[^>]*>([ABC])</td>", shown)
    assert names == [row.system for row in result.systems]
    survives = [line["survives"] for line in result.more["preset"]["lines"]]
    assert shown.count("survives</td>") == sum(survives) > 0
    assert shown.count("falls</td>") == len(survives) - sum(survives)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e3)), min_size=1, max_size=9))
def test_pictures_stay_inside_their_rows(numbers):
    rows = [Estimate(str(k), x, (x - w, x + w)) for k, (x, w) in enumerate(numbers)]
    drawn = forest("f", "label", rows, ("system", "mean"))
    for row in drawn.rows:
        assert 0 <= row.line[0] <= row.dot <= row.line[1] <= 100
    assert all(0 <= place <= 100 for place, _ in drawn.ticks)


# Parts of the page: warnings by kind, words explained, no folders.


def part(text: str, name: str) -> str:
    """A part of the page that folds."""
    found = re.search(f'<details class="folded" id="{name}".*?</details>', text, re.DOTALL)
    return found[0] if found else ""


@pytest.fixture
def made(no_charts) -> str:
    return make_report(read_set(), "mqm", options=QUICK).html


def test_no_folder_of_the_disk_is_in_the_page(no_charts, tmp_path, capsys):
    folder = tmp_path / "secretfolder" / "secretdata"
    folder.mkdir(parents=True)
    inputs = [Path(shutil.copy(own, folder)) for own in (embedded.SCORES, embedded.RATINGS)]
    # Another system than the scores have: the note names both files.
    short = folder / "more.csv"
    short.write_text("system,segment,extra\nAmber,1,0.5\nBasalt,1,0.25\n", encoding="utf-8")
    quick = ["--bootstrap", "10", "--resamples", "1", "--metrics", "chars-refA"]
    out = tmp_path / "r.html"
    arguments = [str(inputs[0]), str(short), "--human", "mqm", "--ratings", str(inputs[1])]
    assert run(["report", *arguments, *quick, "--out", str(out)]) == 0
    assert "secretdata" in capsys.readouterr().err  # the terminal says where the file is
    text = out.read_text(encoding="utf-8")
    packed = re.findall(r'<script type="text/plain"[^>]*>([^<]*)<', text)
    opened = [gzip.decompress(base64.b64decode(own)).decode("utf-8", "replace") for own in packed]
    for content in (text, *opened):
        assert "secretfolder" not in content
        assert "secretdata" not in content
        assert str(Path.home()) not in content
    assert "more.csv" in part(text, "warnings")
    assert re.search(r"more\.csv \([^)]*\) sha256 [0-9a-f]{64}", part(text, "provenance"))


@given(st.lists(st.sampled_from(["data", "my data", "été", "a.b", "x+y"]), min_size=1, max_size=4),
       st.text(alphabet="ab' :/.", max_size=12))  # fmt: skip
def test_folders_go_and_names_stay(folders, around):
    path = "/" + "/".join(["top", *folders, "scores.csv"])
    hide = sections.without_folders([InputFile(path, "table")])
    told = hide(f"{around}{path} is short")
    assert "top/" not in told
    assert told == f"{around}scores.csv is short"


def test_a_relative_path_is_its_name_and_other_names_are_left_alone():
    hide = sections.without_folders([InputFile("wmt/scores.csv", "table")])
    assert hide("wmt/scores.csv lacks 'wmt/comet'") == "scores.csv lacks 'wmt/comet'"


def test_a_warning_is_told_once(no_charts):
    es = read_set()
    lower = ScoreTable(-np.asarray(es["mqm"].values), kind="metric")
    found = make_report(es.with_scores("bad", lower), "mqm", options=QUICK)
    lines = [unescape(line) for line in re.findall(r"<li>([^<]*)</li>", found.html)]
    about = [line for line in lines if line.startswith(("'bad' goes", "warning: 'bad' goes"))]
    assert about
    assert len(about) == len(set(about))


def test_every_meta_metric_and_ranking_has_words():
    from steelyard.comparison.options import RANKINGS
    from steelyard.metaevaluation.options import DEFAULT, SCHEMES

    known = set(glossary.TERMS)
    assert set(RANKINGS) | set(DEFAULT) <= known
    assert set(SCHEMES) == set(glossary.SCHEMES)


def test_what_few_need_is_folded(made):
    folded = "".join(made.split('<details class="folded"')[1:])
    assert folded.count('<table class="matrix') == made.count('<table class="matrix') > 0
    assert "<details open" not in made
    for name in ("warnings", "significance", "places", "leaderboard", "missing", "provenance"):
        assert f'<details class="folded" id="{name}">' in made, name


def test_every_human_score_is_in_the_explorer(no_charts):
    es = read_set()
    packed = explorer.explore(es, ["mqm", "metric1", "metric2", "da"], cells=2 * 4 * 36)
    names = [fact["name"] for fact in packed.facts["scores"]]
    assert names == ["mqm", "metric1", "da"]
    assert "3 of 4 scores" in packed.notes[0]
