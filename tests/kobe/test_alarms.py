"""Alarms: which are raised, what speaks for them, how sure they are, and which are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.cli.main import run
from steelyard.kobe.alarms import Explained, explain_all
from steelyard.kobe.confidence import SITUATIONS, Around, features, model
from steelyard.kobe.explaining import ALARMS, KINDS, Evidence, Finding, explain
from steelyard.kobe.findings import KobeReport
from steelyard.kobe.forms import Forms
from steelyard.kobe.matching import match, pair_all
from steelyard.kobe.mention import LinkedTexts, Mention, Mentions
from steelyard.kobe.options import KobeOptions
from steelyard.kobe.run import kobe_metric

NOBODY = Forms(None, None)


def mention(text: str, id_: str | None = None, category: str = "city", **more: Any) -> Mention:
    return Mention(0, len(text), text, id_ or text, category, **more)


def placed(*mentions: Mention) -> tuple[str, Mentions]:
    """Write mentions one after the other, with a text that holds them."""
    text, found = "", []
    for one in mentions:
        found.append(one._replace(start=len(text), end=len(text) + len(one.text)))
        text += one.text + " | "
    return text, tuple(found)


def linked(source: Mentions, outputs: dict[str, tuple[str, Mentions] | None], *references: str):
    return LinkedTexts(
        ids=("1",),
        sources=("",),
        source_mentions=(source,),
        outputs={n: (None if own is None else own[0],) for n, own in outputs.items()},
        output_mentions={n: (None if own is None else own[1],) for n, own in outputs.items()},
        foreign={},
        references=references,
    )


def explained(source: Mentions, outputs: dict[str, tuple[str, Mentions] | None], *references: str):
    texts = linked(source, outputs, *references)
    pairs = pair_all(texts.source_mentions, texts.output_mentions)
    return explain_all(texts, (NOBODY, NOBODY), pairs, [()])


# -- doubtful mentions


def test_a_doubtful_mention_is_never_wanted_and_what_it_finds_is_not_added():
    sure, doubtful = mention("a"), mention("b", doubtful=True)
    outputs: dict[str, list[Mentions | None]] = {
        "X": [(mention("a"), mention("b"), mention("c"))],
        "Y": [(mention("b"),)],
        "Z": [(mention("c", doubtful=True),)],
        "W": [None],
    }
    for matching in ("strict", "candidates"):
        found = match([(doubtful, sure)], outputs, matching)
        assert found.wanted.tolist() == [1.0]
        assert found.mention == (sure,)
        assert found.place == (1,)
        assert found.kept.tolist() == [[True], [False], [False], [False]]
        # c of X is added; b is what the doubtful one asks for, and a doubtful c says nothing.
        assert found.found.tolist() == [[2.0], [0.0], [0.0], [0.0]]


def test_a_sure_mention_is_paired_before_a_doubtful_one():
    both = (mention("a", doubtful=True), mention("a"))
    for matching in ("strict", "candidates"):
        assert match([both], {"X": [(mention("a"),)]}, matching).kept.tolist() == [[True]]
    kinds = [f.kind for f in explain(both, "a", (mention("a"),))]
    assert kinds == ["undecided", "found"]
    twice = placed(mention("a"), mention("a"))
    assert [f.kind for f in explain(both, *twice)] == ["found", "found"]


def test_doubtful_mentions_of_an_output_help_and_are_never_added():
    a, perhaps = mention("a"), mention("a", doubtful=True)
    assert [f.kind for f in explain((a,), "a", (perhaps,))] == ["found"]
    assert explain((), "a", (perhaps,)) == []


@given(st.data())
def test_without_doubt_nothing_changes(data: st.DataObject):
    """Dropping doubtful mentions beforehand gives the same matches of the sure ones."""
    letters = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=5)
    source = tuple(mention(c, doubtful=d) for c, d in data.draw(letters))
    there = tuple(mention(c) for c, _ in data.draw(letters))
    sure = tuple(m for m in source if not m.doubtful)
    for matching in ("strict", "candidates"):
        found = match([source], {"X": [there]}, matching)
        expected = match([sure], {"X": [there]}, matching)
        assert found.kept.tolist() == expected.kept.tolist()
        assert found.wanted.tolist() == expected.wanted.tolist()
        left = sum(
            min(sum(m.id == c for m in there), sum(m.id == c for m in source)) for c in "abc"
        )
        taken = left - int(expected.kept.sum())
        # What is doubtful may be there by another name.
        renamed = min(len(there) - left, len(source) - len(sure) - taken)
        assert found.found.tolist() == [[len(there) - taken - renamed]]


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
def test_digits_that_stand_in_the_output_are_kept(text, output, kind, category):
    if (text, category) == ("24th", "ordinal"):
        kind = "found"  # written otherwise, and the same; 24m, a number, may be 24 million
    found = explain((mention(text, f"num:{text}", category),), output, ())
    assert [f.kind for f in found] == [kind]
    if found[0].output is not None:
        start, end, own, *_ = found[0].output
        assert output[start:end] == own


def test_a_surname_stands_for_a_person():
    merkel = mention("Angela Merkel", category="person")
    assert [f.kind for f in explain((merkel,), "Merkel left.", ())] == ["found"]
    assert [f.kind for f in explain((merkel,), "Merkels left.", ())] == ["lost"]
    york = mention("New York")
    assert [f.kind for f in explain((york,), "York is cold.", ())] == ["lost"]


def test_names_of_the_base_decide_on_copies_and_on_what_stands_there(small_kb, tmp_path):
    report = sy.kobe.score(
        ["Wien liegt nicht in Libyen.", "NATO und Berlin", "Wien", "40 £ in Peking", "Niger"],
        {
            "A": ["Wien is not Libyan.", "NATO and Berlin", "Wien", "GBP 40, beijing", "Nigeria"],
            "B": ["Vienna is not in Libya.", "NATO and Berlin", "Vienna", "£40, Beijing", "Niger"],
        },
        src="de",
        tgt="en",
        kb=small_kb,
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
    five, six = mention("5", "num:5", "number"), mention("6", "num:6", "number")
    once = explain((five, five), "5", (five,))
    assert [(f.kind, f.repeated) for f in once] == [("found", False), ("lost", True)]
    more = explain((five,), *placed(five, five))
    assert [(f.kind, f.repeated) for f in more] == [("found", False), ("added", True)]
    both = explain((five, five), *placed(five, six))
    assert [(f.kind, f.repeated) for f in both] == [("found", False), ("changed", True)]
    # What the source has as well is no rival of what is lost.
    seven = mention("7", "num:7", "number")
    found = explain((five, seven), *placed(five, five))
    assert [f.kind for f in found] == ["found", "lost", "added"]


# -- evidence


def naive_evidence(
    source: Mentions, outputs: dict[str, tuple[str, Mentions] | None], people: set[str],
    name: str, alarm: Finding, place: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Ask every other output in turn, in plain words, by explaining it anew."""
    kept = {True: 0, False: 0}
    there = {True: 0, False: 0}
    for other, own in outputs.items():
        if other == name or own is None or not own[0].strip():
            continue
        there[other in people] += 1
        finding = explain(source, own[0], own[1])[place] if alarm.source is not None else None
        if finding is None:
            good = all(m.id != alarm.mention.id for m in own[1])
        elif finding.kind == "found":
            good = True
        elif finding.kind == "copied":
            good = alarm.kind != "copied"
        else:
            good = finding.repeated and not alarm.repeated
        kept[other in people] += good
    return kept[False], there[False], kept[True], there[True]


SYSTEMS = ("A", "B", "C", "D", "ref", "ref2")


@given(st.data())
def test_evidence_is_that_of_the_formula(data: st.DataObject):
    words = st.lists(st.sampled_from("abcd"), max_size=4)
    source = placed(*(mention(f"{c}src", c) for c in data.draw(words)))[1]
    names = data.draw(st.lists(st.sampled_from(SYSTEMS), min_size=1, unique=True))
    outputs: dict[str, tuple[str, Mentions] | None] = {}
    for name in names:
        own = data.draw(st.none() | words)
        outputs[name] = None if own is None else placed(*(mention(f"{c}out", c) for c in own))
    people = [name for name in names if name.startswith("ref")]
    found = explained(source, outputs, *people)
    for name, _, _, row in found.texts():
        for place, finding in enumerate(row):
            if finding.is_alarm:
                expected = naive_evidence(source, outputs, set(people), name, finding, place)
                assert finding.evidence is not None
                assert finding.evidence[:4] == expected
                assert finding.confidence is not None
                assert 0 <= finding.confidence <= 1
                kept, others, kept_people, n_people = expected
                if (n_people and not kept_people) or (others > 2 and kept < others / 2):
                    assert finding.confidence <= 0.05
            else:
                assert finding.confidence is None


def test_more_who_keep_it_make_an_alarm_surer():
    wien = mention("Wien", category="country")

    def sure(*counts: int) -> float:
        finding = Finding("lost", wien, None, evidence=Evidence(*counts))
        return model()(finding, features(finding, Around(1, 0, empty=False), NOBODY, NOBODY))

    assert sure(0, 0) < sure(1, 1) < sure(4, 4) < sure(8, 8) < sure(8, 8, 1, 1)
    assert sure(5, 8) < sure(6, 8) < sure(8, 8)
    assert sure(3, 8) <= 0.05
    assert sure(8, 8, 0, 1) <= 0.05
    assert sure(0, 1) > 0.05  # one other system is no majority
    term = wien._replace(category="term")
    finding = Finding("lost", term, None, evidence=Evidence(0, 8, 0, 1))
    told = features(finding, Around(1, 0, empty=False), NOBODY, NOBODY)
    assert model()(finding, told) > 0.05  # a glossary is the user's word


def test_the_file_of_weights_is_whole():
    told = model()
    assert set(told.cut) == set(SITUATIONS)
    known = {"bias", "others", "reference", *(k for k in ALARMS if k != "lost")}
    assert known <= set(told.weights)
    for where, found in told.measured.items():
        assert where in SITUATIONS
        assert 0 <= found["real"] <= found["judged"]


def test_every_feature_has_a_weight(small_kb):
    sources = ["Wien, 3. März, 1.234,5 km und 5 €", "Paris ist groß", "New York"]
    outputs = {"A": ["Venice, 4 May, 12 miles and $5", "", "x London"], "B": ["", "Paris", "y"]}
    report = sy.kobe.score(sources, outputs, src="de", tgt="en", kb=small_kb)
    assert report.explained is not None
    seen = set()
    for system, at, alarm in report.explained.alarms():
        told = report.explained.features(system, at, alarm)
        seen |= set(told)
        assert alarm.confidence == report.explained.model(alarm, told)
    assert seen <= set(model().weights)
    assert {"changed", "same_category", "money", "place", "date", "empty"} <= seen


# -- what is shown


def report_of(outputs: dict[str, list[str]], small_kb, references=None, sources=None) -> KobeReport:
    return sy.kobe.score(
        sources or ["Am 3. März 2019 fuhr er für 1.234 Euro nach Wien."],
        outputs,
        src="de",
        tgt="en",
        references=references,
        kb=small_kb,
    )


GOOD = "On 3 March 2019 he went to Vienna for 1,234 euros."


def test_one_system_and_no_reference(small_kb):
    bad = ["On 3 May 2019 he went to Rome for 1,324 dollars."]
    report = report_of({"A": bad}, small_kb)
    assert report.explained is not None
    assert report.cut == model().cut["alone"]
    shown = {alarm.source for alarm in report.alarms}
    assert {"März", "1.234", "Euro", "Wien"} <= shown
    assert report.alarms[0].confidence == max(alarm.confidence for alarm in report.alarms)
    assert "without a reference or other systems" in report.cut_note()
    assert all(alarm.why.startswith("another") for alarm in report.alarms)
    assert report_of({"A": [GOOD]}, small_kb).alarms == ()


def test_what_the_reference_loses_is_not_shown_and_all_shows_it(small_kb):
    bad = "On 3 March 2019 he went to Vienna for little."
    report = report_of({"A": [bad], "B": [GOOD]}, small_kb, {"ref": [bad]})
    assert report.n_missed == 0
    assert report.alarms == ()
    assert report.lost == ()
    assert report.n_alarms == report.n_below == 2
    everything = report.cut_at(0.0)
    assert {alarm.source for alarm in everything.alarms} == {"1.234", "Euro"}
    assert everything.n_below == 0
    assert report.scores == everything.scores
    reference = report_of({"A": [bad], "B": [GOOD]}, small_kb, {"ref": [GOOD]})
    assert {e.text for e in reference.lost} == {"1.234", "Euro"}
    assert reference.alarms[0].why == "kept by 1 of 1 others and the reference"


@pytest.mark.parametrize("output", ["", "Am 3. März 2019 fuhr er für 1.234 Euro nach Wien."])
def test_an_empty_output_or_one_in_another_language_is_one_alarm(output, small_kb):
    sources = ["Am 3. März 2019 fuhr er für 1.234 Euro nach Wien.", "Prag"]
    systems = {"A": [output, "Prague"], "B": [GOOD, "Prague"]}
    report = report_of(systems, small_kb, {"ref": [GOOD, "Prague"]}, sources)
    (alarm,) = [one for one in report.alarms if one.system == "A"]
    assert len(alarm.findings) > 3
    assert alarm.what.endswith("lost")
    assert report.to_dict()["alarms"][0]["segment"] == "1"


def test_undecided_ones_are_counted_and_never_listed():
    class Doubtful:
        signature = "doubtful"

        def link(self, texts, lang, other):
            own = {"London Grammar": (Mention(0, 6, "London", "Q84", "city", doubtful=True),),
                   "Rome": (Mention(0, 4, "Rome", "Q220", "city"),)}  # fmt: skip
            return [own.get(text, ()) for text in texts]

        def name(self, entity):
            return str(entity)

    report = sy.kobe.score(["London Grammar", "Rome"], {"A": ["they", "Rome"], "B": ["x", "y"]},
                           src="de", tgt="en", linker=Doubtful())  # fmt: skip
    assert report.n_source_entities == 1
    assert report.scores == {"A": 100.0, "B": 0.0}
    assert report.n_undecided == 2
    assert [e.text for e in report.cut_at(0.0).lost] == ["Rome"]
    assert "undecided" in report.look_table().text()
    rows = [json.loads(line) for line in report.jsonl()]
    assert rows[0]["counts"] == {"undecided": 1}
    assert rows[0]["entities"][0]["confidence"] is None


def test_lines_are_sorted_cut_and_say_so(small_kb):
    bad = "On 3 May 2019 he went to Vienna for 1,324 dollars and London."
    report = report_of({"A": [bad], "B": [GOOD]}, small_kb, {"ref": [GOOD]})
    row = next(json.loads(line) for line in report.jsonl())
    sure = [e["confidence"] for e in row["entities"] if e["kind"] in ALARMS]
    assert sure == sorted(sure, reverse=True)
    assert min(sure) >= row["cut"]
    assert row["below"] == sum(row["counts"].get(kind, 0) for kind in ALARMS) - len(sure)
    assert all(e["confidence"] is None for e in row["entities"] if e["kind"] not in ALARMS)
    assert {e["kept_by"] for e in row["entities"] if e["kind"] in ALARMS} == {1.0}
    everything = next(json.loads(line) for line in report.cut_at(0.0).jsonl())
    assert everything["below"] == 0
    assert len(everything["entities"]) == len(row["entities"]) + row["below"]
    assert set(everything["counts"]) <= set(KINDS)


def test_the_command_cuts_and_the_page_says_how_many_are_left_out(small_kb, tmp_path, capsys):
    texts = tmp_path / "texts.jsonl"
    rows = [
        {"seg": "1", "src": "Am 3. März nach Wien", "refs": {"r": "To Vienna on March 3"},
         "out": {"A": "To Rome on May 3, London", "B": "To Vienna on March 3"}},
        {"seg": "2", "src": "12 Euro", "refs": {"r": "little"},
         "out": {"A": "nothing", "B": "12 euros"}},
    ]  # fmt: skip
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call = ["score", str(texts), "--lp", "de-en", "--metrics", "kobe", "--kb", str(small_kb.path)]
    found: dict[str, Any] = {}
    ways = {"cut": [], "all": ["--all"], "sure": ["--min-confidence", "0.999"]}
    for name, more in ways.items():
        path = tmp_path / f"{name}.jsonl"
        assert run([*call, *more, "--explain", str(path), "--json"]) == 0
        out = capsys.readouterr()
        found[name] = json.loads(out.out)["reports"]["kobe"]
        assert ("below it" in out.err) == (name != "all")
    assert found["all"]["n_below"] == 0
    assert 0 < found["cut"]["n_below"] < found["sure"]["n_below"] == found["all"]["n_alarms"]
    assert found["sure"]["alarms"] == []
    assert run([*call, *ways["all"], *ways["sure"]]) == 2
    assert "expected one of them" in capsys.readouterr().err
    for name in ways:
        page = tmp_path / f"{name}.html"
        arguments = [str(texts), "--lp", "de-en", "--entities", str(tmp_path / f"{name}.jsonl")]
        assert run(["report", *arguments, "--out", str(page)]) == 0
        html = page.read_text(encoding="utf-8")
        assert ("below a confidence of" in html) == (name != "all")
        assert ("Mistakes to look at" in html) == (name != "sure")
    capsys.readouterr()


# -- terms of a glossary


def test_terms_that_are_not_used(small_kb, tmp_path: Path, capsys):
    (tmp_path / "terms.csv").write_text("de,en\nDrehteller,turntable|rotary plate\n")
    base = tmp_path / "kb"
    assert run(["kb", "add", str(tmp_path / "terms.csv"), "--onto", str(small_kb.path), "--out",
                str(base), "--quiet"]) == 0  # fmt: skip
    capsys.readouterr()
    sources = ["Der Drehteller fehlt.", "Den Drehteller reinigen.", "Wien"]
    outputs = {
        "A": ["The turntable is missing.", "Clean the plate.", "Vienna"],
        "B": ["The disc is missing.", "Clean the disc.", "Vienna"],
    }
    people = {"ref": ["The disc is missing.", "Clean the disc.", "Vienna"]}
    report = sy.kobe.score(sources, outputs, src="de", tgt="en", references=people, kb=str(base))
    (term,) = report.to_dict()["terms"]
    assert (term["source"], term["used"], term["missed"]) == ("Drehteller", 1, 3)
    assert set(term["expected"]) == {"turntable", "rotary plate"}
    assert {"system": "A", "segment": "2"} in term["segments"]
    assert "Terms not used" in [table.title for table in report.details()]
    # Whoever else ignores it, a term is wanted.
    assert sum(alarm.findings[0].mention.group == "term" for alarm in report.alarms) == 3


# -- groups


def test_recall_by_group_has_a_ceiling_and_a_warning():
    class Numbers:
        signature = "numbers"

        def link(self, texts, lang, other):
            return [(mention(t, f"num:{t}", "percent" if t > "5" else "number"),) if t else ()
                    for t in texts]  # fmt: skip

        def name(self, entity):
            return str(entity)

    sources = [str(i % 10) for i in range(30)]
    half = [s if i % 2 else "" for i, s in enumerate(sources)]
    report = sy.kobe.score(sources, {"A": sources}, src="de", tgt="en", references={"ref": half},
                           linker=Numbers())  # fmt: skip
    (group,) = report.groups
    assert (group.category, group.wanted) == ("number", 30)
    assert group.recall == {"A": 100.0, "ref": 50.0}
    assert sum(c.wanted for c in report.categories) == 30
    assert "the human translation ref keeps 50 of 100 in the group 'number'" in report.warnings[-1]
    assert report.category_table().rows == (("number", 30, 100.0, 50.0),)


def test_findings_of_a_set_without_texts_of_some_systems(small_kb):
    segments = sy.Segments(("1", "2"), sources=("Wien", "Prag und 7 Uhr"))
    es = sy.EvalSet(("A", "B"), segments, outputs={"A": ("Vienna", None), "B": (None, "x")})
    _, report = kobe_metric(es, "de", "en", small_kb)
    found = [(system, at, f.kind) for system, at, f in report.findings()]
    assert ("A", 0, "found") in found
    assert not [one for one in found if one[:2] in (("A", 1), ("B", 0))]
    for _, _, finding in report.findings():
        if finding.evidence is not None:
            assert finding.evidence.others == 0
    assert isinstance(report.explained, Explained)
    assert np.isfinite(report.cut)


def test_of_several_rivals_the_likeliest_stands_in_the_place_of_what_is_lost():
    numbers = [mention(n, f"num:{n}", "number") for n in ("1984", "30", "1948", "20")]
    found = explain(placed(*numbers[:2])[1], *placed(numbers[3], numbers[2]))
    pairs = {f.source.text: f.output.text for f in found if f.source and f.output}
    assert pairs == {"1984": "1948", "30": "20"}
    weber, wien = Mention(5, 10, "Weber", "Q1", "entity"), Mention(20, 24, "Wien", "Q2", "entity")
    venice = Mention(20, 26, "Venice", "Q3", "entity")
    found = explain((weber, wien), "Ms Weaver flew from Venice.", (venice,))
    assert [f.kind for f in found] == ["lost", "changed"]


def test_scores_alone_explain_nothing(small_kb):
    bad = "On 3 May 2019 he went to Rome for 1,324 dollars."
    report = report_of({"A": [GOOD], "B": [bad]}, small_kb)
    asked = report.shown.what
    assert report.scores["A"] > report.scores["B"]
    assert "explained" not in vars(asked)
    assert report.cut_at(0.0).n_alarms > 0
    assert "explained" in vars(asked)  # and the report that it came from need not look again
    assert report.explained is report.cut_at(0.0).explained
