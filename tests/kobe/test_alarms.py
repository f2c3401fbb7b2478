"""Alarms: which are raised, what speaks for them, how sure they are, and which are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.cli.main import run
from steelyard.kobe.alarms import SITUATIONS, Around, Explanation, features, model
from steelyard.kobe.annotations import AnnotatedLinker
from steelyard.kobe.base.knowledge import embedded
from steelyard.kobe.explaining import ALARMS, KINDS, EntityNames, Evidence, Finding, explain
from steelyard.kobe.matching import match, pair_all, pair_candidates, pair_strictly
from steelyard.kobe.mention import LinkedTexts, Mention, Mentions
from steelyard.kobe.metric import kobe_metric
from steelyard.kobe.options import KobeOptions
from steelyard.kobe.report import KobeReport


def mention(text: str, id_: str | None = None, category: str = "city", **more: Any) -> Mention:
    return Mention(0, len(text), text, id_ or text, category, **more)


def placed(*mentions: Mention) -> tuple[str, Mentions]:
    """Write mentions one after the other, with a text that holds them."""
    text, moved = "", []
    for m in mentions:
        moved.append(m._replace(start=len(text), end=len(text) + len(m.text)))
        text += m.text + " | "
    return text, tuple(moved)


def kinds(source: Mentions, output: str, mentions: Mentions = ()) -> list[str]:
    return [f.kind for f in explain(source, output, mentions)]


def sureness(finding: Finding) -> float:
    around, nothing = Around(1, 0, empty=False), EntityNames()
    return model()(finding, features(finding, around, nothing, nothing))


# -- doubtful mentions


def paired(sources, outputs, pair):
    return match(sources, outputs, pair_all(sources, outputs, pair))


def test_a_doubtful_mention_is_never_wanted_and_what_it_finds_is_not_added():
    sure, doubtful = mention("a"), mention("b", doubtful=True)
    outputs: dict[str, list[Mentions | None]] = {
        "X": [(mention("a"), mention("b"), mention("c"))],
        "Y": [(mention("b"),)],
        "Z": [(mention("c", doubtful=True),)],
        "W": [None],
    }
    for pair in (pair_strictly, pair_candidates):
        matches = paired([(doubtful, sure)], outputs, pair)
        assert matches.wanted.tolist() == [1.0]
        assert matches.mention == (sure,)
        assert matches.place == (1,)
        assert matches.kept.tolist() == [[True], [False], [False], [False]]
        # c of X is added; b is what the doubtful one asks for, and a doubtful c says nothing.
        assert matches.mentioned.tolist() == [[2.0], [0.0], [0.0], [0.0]]


def test_a_sure_mention_is_paired_before_a_doubtful_one():
    both = (mention("a", doubtful=True), mention("a"))
    for pair in (pair_strictly, pair_candidates):
        assert paired([both], {"X": [(mention("a"),)]}, pair).kept.tolist() == [[True]]
    assert kinds(both, "a", (mention("a"),)) == ["undecided", "found"]
    assert kinds(both, *placed(mention("a"), mention("a"))) == ["found", "found"]
    assert kinds((mention("a"),), "a", (mention("a", doubtful=True),)) == ["found"]
    assert kinds((), "a", (mention("a", doubtful=True),)) == []


@given(st.data())
def test_without_doubt_nothing_changes(data: st.DataObject):
    """Dropping doubtful mentions beforehand gives the same matches of the sure ones."""
    letters = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=5)
    source = tuple(mention(c, doubtful=d) for c, d in data.draw(letters))
    output = tuple(mention(c) for c, _ in data.draw(letters))
    sure = tuple(m for m in source if not m.doubtful)
    for pair in (pair_strictly, pair_candidates):
        matches = paired([source], {"X": [output]}, pair)
        expected = paired([sure], {"X": [output]}, pair)
        assert matches.kept.tolist() == expected.kept.tolist()
        assert matches.wanted.tolist() == expected.wanted.tolist()
        left = sum(
            min(sum(m.id == c for m in output), sum(m.id == c for m in source)) for c in "abc"
        )
        taken = left - int(expected.kept.sum())
        # What is doubtful may be there by another name.
        renamed = min(len(output) - left, len(source) - len(sure) - taken)
        assert matches.mentioned.tolist() == [[len(output) - taken - renamed]]


# -- what is an alarm


@pytest.mark.parametrize(
    ("text", "output", "kind"),
    [
        ("320", "the A320 landed", "found"),
        ("5", "5-6 of them", "found"),
        ("٣٢٠", "the A320", "found"),
        ("5", "5.6 of them", "lost"),
        ("5", "55 of them", "lost"),
        ("12", "12:30 h", "lost"),
        ("24th", "on January 24.", "lost"),
    ],
)
@pytest.mark.parametrize("category", ["number", "ordinal"])
def test_digits_in_the_output_are_kept(text, output, kind, category):
    if (text, category) == ("24th", "ordinal"):
        kind = "found"  # written otherwise, and the same; 24m, a number, may be 24 million
    (finding,) = explain((mention(text, f"num:{text}", category),), output, ())
    assert finding.kind == kind
    if finding.output is not None:
        assert output[finding.output.start : finding.output.end] == finding.output.text


def test_a_score_is_no_time():
    mention = Mention(5, 10, "16:32", "time:16:32", "time")
    kinds = [f.kind for f in explain((mention,), "lost 16-32", ())]
    assert kinds == ["found"]
    assert [f.kind for f in explain((mention,), "lost 16-33", ())] == ["lost"]


def test_another_word_for_a_currency_keeps_it():
    source, output = "až o stovky korun", "by hundreds of crowns"
    report = sy.kobe.score([source], [output], src="cs", tgt="en")
    assert [f.kind for *_, f in report.findings() if f.mention.category == "currency"] == ["found"]


def test_a_surname_stands_for_a_person():
    merkel = (mention("Angela Merkel", category="person"),)
    assert kinds(merkel, "Merkel left.") == ["found"]
    assert kinds(merkel, "Merkels left.") == ["lost"]
    assert kinds((mention("New York"),), "York is cold.") == ["lost"]


def test_a_copied_form_is_right_in_the_same_language():
    bonn = (mention("Bonns", "Q586"),)
    assert explain(bonn, "Bonns Rathaus", (), same_language=True)[0].kind == "found"
    assert explain(bonn, "Bonns Rathaus", ())[0].kind == "copied"


def test_names_of_the_base_decide_on_copies_and_derived_words():
    report = sy.kobe.score(
        ["Wien liegt nicht in Libyen.", "NATO und Berlin", "Wien", "40 £ in Peking", "Niger"],
        {
            "A": ["Wien is not Libyan.", "NATO and Berlin", "Wien", "GBP 40, beijing", "Nigeria"],
            "B": ["Vienna is not in Libya.", "NATO and Berlin", "Vienna", "£40, Beijing", "Niger"],
        },
        src="de",
        tgt="en",
        options=KobeOptions(language_filter="off"),
    )
    kinds = {
        (system, at, f.mention.text): f.kind
        for system, at, f in report.findings()
        if f.source is not None
    }
    assert kinds["A", 0, "Wien"] == "copied"  # English has a name of its own
    assert kinds["A", 0, "Libyen"] == "found"  # a word that is made of the name
    assert kinds["A", 1, "Berlin"] == "found"
    assert kinds["A", 3, "£"] == kinds["A", 3, "Peking"] == "found"
    assert kinds["A", 4, "Niger"] != "found"  # Nigeria is another country
    assert not any(k in ALARMS for (system, _, _), k in kinds.items() if system == "B")


def test_a_repeated_entity_is_not_simply_lost():
    five, six, seven = (mention(n, f"num:{n}", "number") for n in "567")

    def both(source: Mentions, *output: Mention) -> list[tuple[str, bool]]:
        return [(f.kind, f.repeated) for f in explain(source, *placed(*output))]

    assert both((five, five), five) == [("found", False), ("lost", True)]
    assert both((five,), five, five) == [("found", False), ("added", True)]
    assert both((five, five), five, six) == [("found", False), ("changed", True)]
    # What the source has as well does not replace what is lost.
    assert kinds((five, seven), *placed(five, five)) == ["found", "lost", "added"]


# -- what replaces an entity


def test_the_likeliest_entity_replaces_what_is_lost():
    numbers = [mention(n, f"num:{n}", "number") for n in ("1984", "30", "1948", "20")]
    findings = explain(placed(*numbers[:2])[1], *placed(numbers[3], numbers[2]))
    pairs = {f.source.text: f.output.text for f in findings if f.source and f.output}
    assert pairs == {"1984": "1948", "30": "20"}
    weber, wien = Mention(5, 10, "Weber", "Q1", "entity"), Mention(20, 24, "Wien", "Q2", "entity")
    venice = Mention(20, 26, "Venice", "Q3", "entity")
    assert kinds((weber, wien), "Ms Weaver flew from Venice.", (venice,)) == ["lost", "changed"]


def unit(text: str) -> Mention:
    return mention(text, category="unit", doubtful=True)


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ([unit("days")], [], ["undecided"]),
        ([unit("days")], [unit("weeks")], ["changed"]),
        ([unit("days"), unit("hours")], [unit("weeks")], ["undecided", "undecided"]),
        ([unit("days")], [unit("weeks"), unit("hours")], ["undecided"]),
        ([mention("Oulu", doubtful=True)], [unit("weeks")], ["undecided"]),
        ([mention("thousand", category="number", doubtful=True)],
         [mention("चारों", category="number", doubtful=True)], ["undecided"]),
        ([mention("thousand", category="number", doubtful=True)],
         [mention("4", category="number")], ["changed"]),
    ],
)  # fmt: skip
def test_doubtful_mentions_change_only_one_for_one(source, output, expected):
    assert kinds(placed(*source)[1], *placed(*output)) == expected


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Wien: sie traf Claudia Muntschick.", "Vienna: she met Claudia Muntschick.", set()),
        ("Wien: sie traf das Amt.", "Vienna: she met the Foreign Office.", set()),
        ("Wien: sie traf ihn.", "Vienna: she met Olaf Tschentscher.", set()),
        ("Sie fuhr nach Potsdam.", "She went to Olaf Tschentscher.",
         {("changed", "Olaf Tschentscher")}),
        ("Sie fuhr nach Frankreich, Wien.", "She went to Olaf Tschentscher, Vienna.",
         {("lost", None)}),
    ],
)  # fmt: skip
def test_names_unlike_anything_in_the_source(source, output, expected):
    report = sy.kobe.score([source, "Wien"], {"A": [output, "Vienna"]}, src="de", tgt="en",
                           options=KobeOptions(language_filter="off"))  # fmt: skip
    found = {(f.kind, f.output and f.output.text) for _, _, f in report.findings() if f.is_alarm}
    assert found == expected


# -- evidence and confidence

SYSTEMS = ("A", "B", "C", "D", "ref", "ref2")


def naive_evidence(
    source: Mentions, outputs: dict[str, tuple[str, Mentions] | None], name: str, alarm: Finding,
    place: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Ask every other output in turn, in plain words, by explaining it anew."""
    kept = {True: 0, False: 0}
    present = {True: 0, False: 0}
    for other, output in outputs.items():
        if other == name or output is None or not output[0].strip():
            continue
        human = other.startswith("ref")
        present[human] += 1
        finding = explain(source, *output)[place] if alarm.source is not None else None
        if finding is None:
            good = all(m.id != alarm.mention.id for m in output[1])
        elif finding.kind in ("found", "copied"):
            good = finding.kind == "found" or alarm.kind != "copied"
        else:
            good = finding.repeated and not alarm.repeated
        kept[human] += good
    return kept[False], present[False], kept[True], present[True]


@given(st.data())
def test_evidence_is_that_of_the_formula(data: st.DataObject):
    words = st.lists(st.sampled_from("abcd"), max_size=4)
    source = placed(*(mention(f"{c}src", c) for c in data.draw(words)))[1]
    names = data.draw(st.lists(st.sampled_from(SYSTEMS), min_size=1, unique=True))
    outputs: dict[str, tuple[str, Mentions] | None] = {}
    for name in names:
        letters = data.draw(st.none() | words)
        made = None if letters is None else placed(*(mention(f"{c}out", c) for c in letters))
        outputs[name] = made
    texts = LinkedTexts(
        ids=("1",),
        sources=("",),
        source_mentions=(source,),
        outputs={n: (None if out is None else out[0],) for n, out in outputs.items()},
        output_mentions={n: (None if out is None else out[1],) for n, out in outputs.items()},
        foreign={},
        references=tuple(name for name in names if name.startswith("ref")),
    )
    pairs = pair_all(texts.source_mentions, texts.output_mentions)
    explanation = Explanation(texts, AnnotatedLinker([]), (None, None), pairs, [()])
    for name, _, _, row in explanation.texts():
        for place, finding in enumerate(row):
            if not finding.is_alarm:
                assert finding.confidence is None
                continue
            expected = naive_evidence(source, outputs, name, finding, place)
            assert finding.evidence[:4] == expected
            assert 0 <= finding.confidence <= 1
            kept, others, kept_people, n_people = expected
            if (n_people and not kept_people) or (others > 2 and kept < others / 2):
                assert finding.confidence <= 0.05


def test_more_who_keep_it_make_an_alarm_surer():
    wien = mention("Wien", category="country")

    def sure(*counts: int, of: Mention = wien) -> float:
        return sureness(Finding("lost", of, None, evidence=Evidence(*counts)))

    assert sure(0, 0) < sure(1, 1) < sure(4, 4) < sure(8, 8) < sure(8, 8, 1, 1)
    assert sure(5, 8) < sure(6, 8) < sure(8, 8)
    assert sure(3, 8) <= 0.05
    assert sure(8, 8, 0, 1) <= 0.05
    assert sure(0, 1) > 0.05  # one other system is no majority
    assert sure(0, 8, 0, 1, of=wien._replace(category="term")) > 0.05  # a glossary decides


def test_what_makes_an_alarm_sure():
    cut = model().cut["alone"]
    dollar, euro = mention("$", category="currency"), mention("€", category="currency")
    half, number = (Mention(0, 7, t, "num:1.5", "number") for t in ("полтора", "1,5"))
    changed = Finding("changed", dollar, euro, repeated=True)
    assert sureness(changed) > cut > sureness(Finding("lost", dollar, None, repeated=True))
    assert sureness(Finding("lost", half, None)) < cut < sureness(Finding("lost", number, None))
    assert sureness(Finding("changed", unit("days"), unit("weeks"))) > cut
    for category in ("organisation", "city"):
        name = mention("Blackrock", category=category)
        assert sureness(Finding("copied", name, name)) < sureness(Finding("lost", name, None))


def test_the_file_of_weights_is_whole():
    weights = model()
    assert set(weights.cut) == set(SITUATIONS)
    sources = ["Wien, 3. März, 1.234,5 km und 5 €", "Paris ist groß", "New York"]
    outputs = {"A": ["Venice, 4 May, 12 miles and $5", "", "x London"], "B": ["", "Paris", "y"]}
    report = sy.kobe.score(sources, outputs, src="de", tgt="en")
    seen = set()
    for system, at, alarm in report.findings():
        if alarm.is_alarm:
            values = report.explanation.features(system, at, alarm)
            seen |= set(values)
            assert alarm.confidence == weights(alarm, values)
    assert seen <= set(weights.weights)
    assert {"changed", "same_category", "money", "place", "date", "empty"} <= seen


# -- what is shown


def report_of(outputs: dict[str, list[str]], **references: list[str]) -> KobeReport:
    sources = ["Am 3. März 2019 fuhr er für 1.234 Euro nach Wien."]
    return sy.kobe.score(sources, outputs, src="de", tgt="en", references=references or None)


GOOD = "On 3 March 2019 he went to Vienna for 1,234 euros."


def shown(report: KobeReport) -> list[Finding]:
    findings = report.findings(report.explanation.systems)
    return [f for _, _, f in findings if f.is_alarm and f.sureness >= report.cut]


def test_one_system_and_no_reference():
    report = report_of({"A": ["On 3 May 2019 he went to Rome for 1,324 dollars."]})
    assert report.cut == model().cut["alone"]
    assert {"März", "1.234", "Euro", "Wien"} <= {f.mention.text for f in shown(report)}
    assert {f.kind for f in shown(report)} == {"changed"}
    assert shown(report_of({"A": [GOOD]})) == []


def test_what_the_reference_loses_is_not_shown_and_all_shows_it():
    bad = "On 3 March 2019 he went to Vienna for little."
    report = report_of({"A": [bad], "B": [GOOD]}, ref=[bad])
    assert report.n_missed == 0
    assert shown(report) == []
    assert sum(f.is_alarm for _, _, f in report.findings(["A", "B"])) == 2
    reference = report_of({"A": [bad], "B": [GOOD]}, ref=[GOOD])
    assert {f.mention.text for f in shown(reference)} == {"1.234", "Euro"}
    assert shown(reference)[0].evidence == (1, 1, 1, 1, 0)


def test_undecided_mentions_are_counted_and_never_listed():
    class Doubtful:
        signature = "doubtful"

        def link(self, texts, lang, other):
            mentions = {"London Grammar": (Mention(0, 6, "London", "Q84", "city", doubtful=True),),
                        "Rome": (Mention(0, 4, "Rome", "Q220", "city"),)}  # fmt: skip
            return [mentions.get(text, ()) for text in texts]

        def name(self, entity):
            return str(entity)

    report = sy.kobe.score(["London Grammar", "Rome"], {"A": ["they", "Rome"], "B": ["x", "y"]},
                           src="de", tgt="en", linker=Doubtful())  # fmt: skip
    assert report.n_source_entities == 1
    assert report.scores == {"A": 100.0, "B": 0.0}
    assert [f.mention.text for _, _, f in report.findings() if f.is_alarm] == ["Rome"]
    rows = [json.loads(line) for line in report.jsonl()]
    assert rows[0]["counts"] == {"undecided": 1}
    assert rows[0]["entities"][0]["confidence"] is None


def test_lines_are_sorted_and_cut():
    bad = "On 3 May 2019 he went to Vienna for 1,324 dollars and London."
    report = report_of({"A": [bad], "B": [GOOD]}, ref=[GOOD])
    row = next(json.loads(line) for line in report.jsonl())
    sure = [e["confidence"] for e in row["entities"] if e["kind"] in ALARMS]
    assert sure == sorted(sure, reverse=True)
    assert min(sure) >= row["cut"]
    assert row["below"] == sum(row["counts"].get(kind, 0) for kind in ALARMS) - len(sure)
    assert all(e["confidence"] is None for e in row["entities"] if e["kind"] not in ALARMS)
    assert {e["kept_by"] for e in row["entities"] if e["kind"] in ALARMS} == {1.0}
    assert set(row["counts"]) <= set(KINDS)


def test_terms_that_are_not_used(tmp_path: Path, capsys):
    (tmp_path / "terms.csv").write_text("de,en\nDrehteller,turntable|rotary plate\n")
    base = tmp_path / "kb"
    assert run(["kb", "add", str(tmp_path / "terms.csv"), "--onto", str(embedded()), "--out",
                str(base), "--quiet"]) == 0  # fmt: skip
    capsys.readouterr()
    sources = ["Der Drehteller fehlt.", "Den Drehteller reinigen.", "Wien"]
    outputs = {
        "A": ["The turntable is missing.", "Clean the plate.", "Vienna"],
        "B": ["The disc is missing.", "Clean the disc.", "Vienna"],
    }
    people = {"ref": ["The disc is missing.", "Clean the disc.", "Vienna"]}
    report = sy.kobe.score(sources, outputs, src="de", tgt="en", references=people, kb=str(base))
    # A term has to be used whoever else ignores it.
    assert sum(f.mention.group == "term" for f in shown(report)) == 3


def test_findings_of_a_set_without_texts_of_some_systems():
    segments = sy.Segments(("1", "2"), sources=("Wien", "Prag und 7 Uhr"))
    es = sy.EvalSet(("A", "B"), segments, outputs={"A": ("Vienna", None), "B": (None, "x")})
    findings = list(kobe_metric(es, "de", "en")[1].findings())
    assert {(system, at) for system, at, _ in findings} == {("A", 0), ("B", 1)}
    assert all(f.evidence is None or f.evidence.others == 0 for _, _, f in findings)
