"""KoBE of annotations: both variants, as the authors' script computes them, by command."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.formats.entities import EntityAnnotations, EntityMention, Sentence
from steelyard.formats.entities import write as write_lines
from steelyard.kobe.annotations import AnnotatedLinker, read_annotations
from steelyard.kobe.linking import foreign
from steelyard.kobe.metric import kobe_metric
from steelyard.kobe.options import KobeOptions

DEMO = str(files("steelyard.demo") / "entities.jsonl")


def annotated(ids: dict[str, list[str]]) -> EntityAnnotations:
    """Make annotations of a word per sentence: each letter of it is a mention."""
    return EntityAnnotations(
        {
            name: tuple(
                Sentence(
                    f"{number} {word}",
                    tuple(EntityMention(c, 2 + i, 3 + i) for i, c in enumerate(word)),
                )
                for number, word in enumerate(words)
            )
            for name, words in ids.items()
        }
    )


def by_hand(wanted: list[str], own: list[str]) -> float:
    """The score of the authors' script, in the words of the paper."""
    matched = sum(sum((Counter(w) & Counter(o)).values()) for w, o in zip(wanted, own, strict=True))
    s, c = sum(map(len, wanted)), sum(map(len, own))
    penalty = 1.0 if c < 2 * s else math.exp(1 - c / (2 * s))
    return round(100 * matched / s, 2) * penalty


words = st.text("abc", max_size=5)
COUNTED: list[Literal["mentions", "entities"]] = ["mentions", "entities"]


@given(st.data())
def test_both_variants_are_those_of_the_paper(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 4))
    rows = {name: data.draw(st.lists(words, min_size=n, max_size=n)) for name in "AB"}
    sides = {
        side: data.draw(st.lists(words, min_size=n, max_size=n).filter(any))
        for side in ("src", "ref")
    }
    rounded = {"kobe": {"rounded": True}}
    found = sy.score(annotated(rows | sides), "kobe", options=rounded).system_scores()
    for name, own in rows.items():
        assert found[name]["kobe"] == pytest.approx(by_hand(sides["src"], own))
        assert found[name]["kobe-ref"] == pytest.approx(by_hand(sides["ref"], own))


@given(st.data())
def test_precision_f_lost_and_added(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 4))
    source = data.draw(st.lists(words, min_size=n, max_size=n).filter(any))
    output = data.draw(st.lists(words, min_size=n, max_size=n))
    counted: Literal["mentions", "entities"] = data.draw(st.sampled_from(COUNTED))
    made = annotated({"src": source, "A": output})
    options = KobeOptions(links=made, counted=counted, measure="f")
    table, report = kobe_metric(made.evalset(), None, None, options=options)
    bag = Counter if counted == "mentions" else lambda word: Counter(set(word))
    pairs = [(bag(w), bag(o)) for w, o in zip(source, output, strict=True)]
    matched, s, c = (
        sum(sum(one.values()) for one in kind)
        for kind in zip(*((w & o, w, o) for w, o in pairs), strict=True)
    )
    (row,) = report.systems
    assert (row.lost, row.added) == (s - matched, c - matched)
    assert row.recall == pytest.approx(100 * matched / s)
    assert np.isnan(row.precision) if c == 0 else row.precision == pytest.approx(100 * matched / c)
    assert row.f == pytest.approx(200 * matched / (s + c))
    assert table.system_scores == pytest.approx([row.f])
    for at, (w, o) in enumerate(pairs):
        both, either = sum((w & o).values()), sum(w.values()) + sum(o.values())
        value = table.values[0, at]
        assert np.isnan(value) if either == 0 else value == pytest.approx(200 * both / either)
    strange = Counter(c for w, o in pairs for c in o.elements() if c not in w)
    assert {e.id: e.added for e in report.cut_at(0.0).added} == strange


def test_what_nobody_keeps_is_not_listed_as_lost() -> None:
    rows = {"src": ["abc", "a"], "A": ["a", ""], "B": ["", ""]}
    made = annotated(rows | {"ref": ["ac", ""]})
    _, report = kobe_metric(made.evalset(), None, None, options=KobeOptions(links=made))
    # b of the first segment and a of the second are in no output and not in the reference.
    assert report.n_missed == 2
    lost = {e.id: (e.lost, e.wanted) for e in report.cut_at(0.0).lost}
    assert lost == {"a": (1, 2), "c": (2, 2)}
    kinds = {
        (system, at, finding.mention.id): finding.kind for system, at, finding in report.findings()
    }
    assert kinds["A", 0, "b"] == kinds["B", 0, "b"] == kinds["B", 1, "a"] == "missed"
    assert (kinds["A", 0, "c"], kinds["B", 0, "a"]) == ("lost", "lost")
    assert "not listed" in report.lost_table().notes[-1]
    lines = [json.loads(line) for line in report.jsonl()]
    assert lines[0]["counts"] == {"found": 1, "lost": 1, "missed": 1}
    # The score is that of the paper all the same; without a reference, nobody knows.
    assert report.scores["A"] == 25.0
    bare = annotated(rows)
    _, report = kobe_metric(bare.evalset(), None, None, options=KobeOptions(links=bare))
    assert report.n_missed == 0
    assert {e.id for e in report.lost} == {"a", "b", "c"}


def test_summaries_of_one_language(small_kb, tmp_path: Path, capsys) -> None:
    texts = {
        "long.en": "On 3 March the train from Vienna to Paris was late. Vienna waited.",
        "short.en": "A train from Vienna was late on 3 March.",
        "wrong.en": "A train from Rome was late on 3 March.",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text + "\n")
    explained = tmp_path / "explained.jsonl"
    call = ["score", "--src", *(str(tmp_path / name) for name in texts), "--src-lang", "en",
            "--tgt-lang", "en", "--metric", "kobe", "--kb", str(small_kb.path)]  # fmt: skip
    more = ["--set", "kobe.counted=entities", "--set", "kobe.measure=precision"]
    assert run([*call, *more, "--explain", str(explained), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["systems"] == {"short": {"kobe": 100.0}, "wrong": {"kobe": pytest.approx(200 / 3)}}
    report = found["reports"]["kobe"]
    rows = {row["system"]: row for row in report["systems"]}
    assert (rows["short"]["lost"], rows["short"]["added"], rows["short"]["recall"]) == (1, 0, 75.0)
    assert [(e["text"], e["by_system"]) for e in report["added"]] == [("Rome", {"wrong": 1})]
    assert "precision says whether it is true to its source" in report["questions"][1]
    assert report["meaning"].startswith("Of 100 entities in the output")
    lines = {row["system"]: row for row in map(json.loads, explained.read_text().splitlines())}
    assert lines["short"]["counts"] == {"found": 3, "lost": 1}
    assert lines["wrong"]["counts"] == {"found": 2, "lost": 1, "changed": 1}
    assert run(call) == 0  # by mentions, Vienna is lost once more
    assert "most often added" in capsys.readouterr().out.lower()
    assert run([*call, "--set", "kobe.measure=f1"]) == 2
    assert "measure" in capsys.readouterr().err


def test_links_are_those_of_the_place_not_of_the_text() -> None:
    made = EntityAnnotations(
        {
            "src": (Sentence("x", (EntityMention("a", 0, 1),)), Sentence("x", ())),
            "A": (Sentence("y", ()), Sentence("y", (EntityMention("a", 0, 1),))),
        }
    )
    assert sy.score(made, "kobe").system_scores() == {"A": {"kobe": 0.0}}
    # Of texts in another order only the text is known: that is said.
    es = made.evalset().select(segments=["1"])
    _, report = kobe_metric(es, None, None, options=KobeOptions(links=made))
    assert report.warnings[-1].startswith("2 texts with several links")


def test_what_was_found_by_text_and_not_by_name_is_told(tmp_path: Path, capsys) -> None:
    texts, links = tmp_path / "texts.jsonl", tmp_path / "links.jsonl"
    rows = [
        {
            "seg": i,
            "src": f"{i} ab",
            "refs": {"refA": f"{i} b"},
            "out": {"A": f"{i} b", "B": f"{i} a"},
        }
        for i in range(2)
    ]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = annotated({"src": ["ab"] * 2, "ref": ["b"] * 2, "A": ["b"] * 2, "B": ["a"] * 2})
    call = ["score", str(texts), "--metric", "kobe,kobe-ref", "--json", "--links", str(links)]

    def told() -> list[str]:
        assert run(call) == 0
        found = json.loads(capsys.readouterr().out)
        assert [file["path"] for file in found["provenance"]["inputs"]] == [str(texts), str(links)]
        assert {file["file"] for file in found["read"]} == {str(texts), str(links)}
        assert found["systems"]["A"] == {"kobe": 50.0, "kobe-ref": 100.0}
        return [one for one in found["warnings"] if "by text" in one]

    write_lines(made, links)
    assert told() == []  # the reference is ref there, whatever it is called here
    write_lines(EntityAnnotations({n: own for n, own in made.systems.items() if n != "A"}), links)
    (warning,) = told()
    assert warning.startswith("links of 'A' are found by text, not by name: ")
    moved = [
        one._replace(text=one.text + " ") if i else one for i, one in enumerate(made.systems["A"])
    ]
    write_lines(EntityAnnotations({**made.systems, "A": tuple(moved)}), links)
    assert len(told()) == 1
    write_lines(EntityAnnotations({n: own for n, own in made.systems.items() if n != "ref"}), links)
    assert told()[0].startswith("links of 'refA' are found by text")


def test_what_was_left_out_of_links_is_told_once(tmp_path: Path, capsys) -> None:
    links, texts = tmp_path / "links.jsonl", tmp_path / "texts.jsonl"
    write_lines(annotated({"src": ["ab"], "ref": ["ab"], "A": ["ab"]}), links)
    links.write_text(links.read_text().replace('"b"', '""'))
    row = {"seg": 1, "src": "0 ab", "refs": {"ref": "0 ab"}, "out": {"A": "0 ab"}}
    texts.write_text(json.dumps(row) + "\n")
    for inputs in ([str(links)], [str(texts), "--links", str(links)]):
        assert run(["score", *inputs, "--metric", "kobe,kobe-ref", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["warnings"] == [f"{links}: 3 mentions without an id left out"]
        assert found["reports"]["kobe"]["n_source_entities"] == 1


def test_references_that_are_named_like_systems() -> None:
    made = annotated({"src": ["ab"], "A": ["a"]})
    es = made.evalset()
    texts = {"A": ("0 a",), "A (reference)": ("0 ab",), "B": (None,)}
    es = replace(es, segments=replace(es.segments, references=texts))
    _, report = kobe_metric(es, None, None, options=KobeOptions(links=made))
    assert [(row.system, row.wanted) for row in report.systems] == [
        ("A", 2),
        ("A (reference) (reference)", 2),
        ("A (reference)", 2),
        ("B", 0),
    ]


def test_a_file_without_outputs_is_named(tmp_path: Path, capsys) -> None:
    path = tmp_path / "links.jsonl"
    write_lines(annotated({"src": ["a"], "ref": ["a"]}), path)
    assert run(["score", str(path), "--metric", "kobe"]) == 2
    assert f"{path}: no outputs of systems to score" in capsys.readouterr().err
    write_lines(annotated({"src": ["a"], "A": ["a"]}), path)
    assert run(["score", str(path), "--metric", "kobe", "--drop-systems", "A"]) == 2
    assert str(path) in capsys.readouterr().err


def test_a_text_that_nobody_annotated() -> None:
    made = annotated({"src": ["a"], "A": ["a"]})
    other = annotated({"src": ["a"], "A": ["b"]})
    with pytest.raises(
        UsageError, match="text 1 of 'A' is not among the sentences of the links: '0 b'"
    ):
        kobe_metric(other.evalset(), None, None, options=KobeOptions(links=made))
    with pytest.raises(UsageError, match="expected one of them"):
        kobe_metric(
            made.evalset(),
            None,
            None,
            linker=AnnotatedLinker([made]),
            options=KobeOptions(links=made),
        )


def test_outputs_alone_can_not_be_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=r"links of outputs alone \(A\)"):
        sy.score(annotated({"A": ["a"]}), "kobe")
    path = tmp_path / "newstest2019.A.ru-en"
    path.write_text('{"annotated_sentence": [{"sentence": "x", "entities": []}]}')
    assert run(["score", str(path), "--metric", "kobe"]) == 2
    assert "give the folder of the language pair" in capsys.readouterr().err


def test_files_of_single_systems_are_put_together(write_release, tmp_path: Path, capsys) -> None:
    made = annotated({"src": ["ab"], "A": ["a"], "B": ["b"]})
    write_release(EntityAnnotations(made.systems, language_pair="de-en"), tmp_path)
    paths = sorted(str(path) for path in (tmp_path / "de-en").iterdir())
    assert run(["score", *paths, "--metric", "kobe", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == {
        "A": {"kobe": 50.0},
        "B": {"kobe": 50.0},
    }
    assert run(["score", paths[0], paths[0], "--metric", "kobe"]) == 2
    assert "a second time" in capsys.readouterr().err


def test_other_metrics_and_human_scores_beside_annotations(tmp_path: Path, capsys) -> None:
    path, human = tmp_path / "links.jsonl", tmp_path / "human.csv"
    write_lines(annotated({"src": ["ab"], "ref": ["ab"], "A": ["a"], "B": ["ab"]}), path)
    human.write_text("system,segment,people\nA,1,1\nB,1,2\n")
    out = tmp_path / "seg.csv"
    call = ["score", str(path), str(human), "--metric", "kobe,chrf", "--out", str(out), "--json"]
    assert run(call) == 0
    found = json.loads(capsys.readouterr().out)["systems"]
    assert set(found["A"]) == {"kobe", "kobe-ref", "chrf"}
    assert found["B"]["kobe"] == 100
    with out.open() as rows:
        assert [row["kobe"] for row in csv.DictReader(rows)] == ["50.0", "100.0"]
    assert run(["compare", str(path), "--metric", "kobe", "--score", "kobe", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == ["A", "B"]


def test_annotated_texts_score_as_the_texts(
    small_kb, write_release, tmp_path: Path, capsys
) -> None:
    base = ["--kb", str(small_kb.path)]
    texts = [DEMO, "--where", "lp=de-en", "--lp", "de-en"]
    links = str(tmp_path / "links.jsonl")
    assert run(["kb", "annotate", *texts, *base, "--out", links, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["mentions"]["copycat"] < told["mentions"]["careful"]
    write_release(read_annotations(links, "de-en"), tmp_path / "release")
    reports = []
    ways = (
        [*texts, *base],
        [str(tmp_path / "release")],
        [links],
        [*texts, "--links", str(tmp_path / "release")],
        [*texts, "--set", f"kobe.links={links}"],
    )
    for way in ways:
        assert run(["score", *way, "--metric", "kobe", "--all", "--json"]) == 0
        reports.append(json.loads(capsys.readouterr().out)["reports"]["kobe"])
    first = reports[0]
    assert len({row["score"] for row in first["systems"]}) == 3  # two systems keep 17 of 27 each
    for other in reports[1:]:
        counts = (
            "score",
            "recall",
            "precision",
            "f",
            "matched",
            "wanted",
            "found",
            "lost",
            "added",
        )
        for one, two in zip(first["systems"], other["systems"], strict=True):
            assert {name: one[name] for name in counts} == {name: two[name] for name in counts}
        assert [c["wanted"] for c in other["categories"]] == [
            c["wanted"] for c in first["categories"]
        ]
        texts_lost, links_lost = (
            {(e["id"], system): n for e in one["lost"] for system, n in e["by_system"].items() if n}
            for one in (first, other)
        )
        # Files of links name no language, so nobody can tell that the copycat's outputs are German
        # and that digits which stand there as in the source (31,5 Grad) do not count. This is all.
        more = texts_lost.keys() - links_lost.keys()
        assert {system for _, system in more} <= {"copycat"}
        assert {one: n for one, n in texts_lost.items() if one not in more} == links_lost
    assert run(["kb", "annotate", *texts, *base, "--out", links]) == 2
    assert "--force overwrites it" in capsys.readouterr().err


def test_what_can_not_be_annotated(small_kb, tmp_path: Path, capsys) -> None:
    path = tmp_path / "texts.jsonl"
    rows = [
        {"seg": 1, "src": "Wien", "out": {"A": "Vienna", "B": "Vienna"}},
        {"seg": 2, "src": "Prag", "out": {"A": "Prague"}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call = ["kb", "annotate", str(path), "--kb", str(small_kb.path), "--lp", "de-en", "--out"]
    assert run([*call, str(tmp_path / "x.jsonl")]) == 2
    assert "'B' lacks 1 output" in capsys.readouterr().err
    assert run([*call, str(tmp_path / "x.jsonl"), "--drop-systems", "B"]) == 0
    assert run([*call[:5], "--out", str(tmp_path / "y.jsonl")]) == 2
    assert "--src-lang and --tgt-lang" in capsys.readouterr().err
    assert run([*call, str(tmp_path / "z.jsonl"), "--set", "bleu.tokenize=intl"]) == 2
    assert run([*call, ""]) == 2
    assert "--out" in capsys.readouterr().err
    other = ["--src-lang", "fr", "--tgt-lang", "en"]
    for command in ([*call, str(tmp_path / "z.jsonl")], ["score", *call[2:-1], "--metric", "kobe"]):
        assert run([*command, *other]) == 2
        assert "expected the same languages" in capsys.readouterr().err
    assert not (tmp_path / "z.jsonl").exists()


@pytest.mark.parametrize(
    "setting",
    ["measure=f", "rounded=true", "weights=consensus", "penalty=false", "matching=candidates",
     "against=refA", "counted=entities", "links=x"],
)  # fmt: skip
def test_options_that_have_no_part_in_annotations(own_linker, setting, tmp_path, capsys) -> None:
    call = [
        "kb",
        "annotate",
        *own_linker,
        "--out",
        str(tmp_path / "x.jsonl"),
        "--set",
        f"kobe.{setting}",
    ]
    assert run(call) == 2
    error = capsys.readouterr().err
    assert f"option {setting.partition('=')[0]} (" in error
    assert "expected one of link, linker, language_filter" in error


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"src": None}, "the set lacks 1 source"),
        ({"refs": {}}, "reference 'ref' lacks 1 text"),
        ({"out": {"A": "x", "B": None}}, "'B' lacks 1 output"),
        ({"out": {"A\ud800": "x", "A": "x", "B": "x"}}, "texts.jsonl:2: a name of 'out' holds"),
    ],
)
def test_texts_that_annotations_have_no_place_for(own_linker, change, words, tmp_path, capsys):
    row = {"seg": 1, "src": "Wien", "refs": {"ref": "Vienna"}, "out": {"A": "Vienna", "B": "Rome"}}
    rows = [row, {**row, "seg": 2, **change}]
    Path(own_linker[0]).write_text("".join(json.dumps(one) + "\n" for one in rows))
    more = ["--set", "kobe.linker=capitals:ready", "--out", str(tmp_path / "x.jsonl")]
    assert run(["kb", "annotate", *own_linker, *more]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "x.jsonl").exists()


def test_the_reference_that_is_meant_is_written(own_linker, tmp_path: Path, capsys) -> None:
    references = {"ref": "Vienna", "ref (reference)": "Rome"}
    row = {"seg": 1, "src": "Wien", "refs": references, "out": {"A": "Vienna", "B": "Rome"}}
    Path(own_linker[0]).write_text(json.dumps(row) + "\n")
    for name, text in references.items():
        out = tmp_path / f"{text}.jsonl"
        more = ["--set", "kobe.linker=capitals:ready", "--out", str(out), "--ref", name]
        assert run(["kb", "annotate", *own_linker, *more]) == 0
        found = [json.loads(line) for line in out.read_text().splitlines()]
        assert [one["sentence"] for one in found if one["system"] == "ref"] == [text]
    assert (
        run(["kb", "annotate", str(out), "--lp", "de-en", "--out", str(tmp_path / "x.jsonl")]) == 2
    )
    assert f"{out}: holds entity annotations, expected texts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("kobe.link=5", ["kobe.link is a group of options, got 5", "link.min_population"]),
        ("kobe.link.min_popluation=5", ["did you mean 'link.min_population'?"]),
        ("kobe.link.min_population=-1", ["min_population", "-1"]),
        ("kobe.link.min_population=many", ["min_population", "'many'"]),
        ("kobe.link.tiers=nouns", ["tiers", "nouns"]),
        ("kobe.weigths=uniform", ["did you mean 'weights'?"]),
        ("kobe.link.values", ["NAME=VALUE"]),
    ],
)
def test_options_of_the_linker_that_are_wrong(setting: str, words: list[str], capsys) -> None:
    call = ["score", DEMO, "--where", "lp=de-en", "--lp", "de-en", "--metric", "kobe"]
    assert run([*call, "--set", setting]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for word in words:
        assert word in error


def test_options_of_the_linker(small_kb, capsys) -> None:
    call = ["score", DEMO, "--where", "lp=de-en", "--lp", "de-en", "--metric", "kobe", "--json",
            "--kb", str(small_kb.path)]  # fmt: skip
    wanted = []
    for more in (
        [],
        ["kobe.link.values=false"],
        ["kobe.link.tiers=core", "kobe.link.lemmas=false"],
    ):
        assert run([*call, *(part for one in more for part in ("--set", one))]) == 0
        found = json.loads(capsys.readouterr().out)
        wanted.append(found["reports"]["kobe"]["n_source_entities"])
    assert wanted[1] < wanted[0]
    assert "lemmas:False" in found["signatures"]["kobe"]
    assert run([*call, "--set", "kobe.link.values=false", "--set", "kobe.link=1"]) == 2
    assert "options of kobe.link are set, too" in capsys.readouterr().err


LINKER = """
from steelyard.kobe.mention import Mention


class Capitals:
    signature = "capitals:1"

    def link(self, texts, lang, other):
        same = {"Wien": "Vienna", "Rom": "Rome"}
        return [
            tuple(
                Mention(text.index(word), text.index(word) + len(word), word, same.get(word, word))
                for word in text.split()
                if word[0].isupper()
            )
            for text in texts
        ]

    def name(self, entity):
        return str(entity)


ready = Capitals()
number = 5
"""


@pytest.fixture
def own_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "capitals.py").write_text(LINKER)
    monkeypatch.syspath_prepend(str(tmp_path))
    texts = tmp_path / "texts.jsonl"
    rows = [
        {"seg": 1, "src": "von Wien nach Rom", "out": {"A": "from Vienna to Rome", "B": "to Rome"}}
    ]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [str(texts), "--lp", "de-en"]


@pytest.mark.parametrize("name", ["capitals:Capitals", "capitals:ready", "mine"])
def test_a_linker_of_ones_own(own_linker, name, tmp_path: Path, monkeypatch, capsys) -> None:
    point = EntryPoint("mine", "capitals:Capitals", foreign.GROUP)
    points = EntryPoints([point])
    monkeypatch.setattr(foreign, "entry_points", lambda group: points.select(group=group))
    call = ["score", *own_linker, "--metric", "kobe", "--set", f"kobe.linker={name}", "--json"]
    assert run(call) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["systems"] == {"A": {"kobe": 100.0}, "B": {"kobe": 50.0}}
    assert "lid:sentence|weights:uniform|capitals:1" in found["signatures"]["kobe"]
    links = tmp_path / "links.jsonl"
    assert (
        run(["kb", "annotate", *own_linker, "--set", f"kobe.linker={name}", "--out", str(links)])
        == 0
    )
    capsys.readouterr()
    assert run(["score", str(links), "--metric", "kobe", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == found["systems"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["kobe.linker=nobody"], ["no linker 'nobody'", "MODULE:OBJECT"]),
        (["kobe.linker=capitals:nothing"], ["can't be loaded from capitals:nothing"]),
        (["kobe.linker=no_such_module:x"], ["can't be loaded"]),
        (["kobe.linker=capitals:number"], ["can't be loaded"]),
        (["kobe.linker=builtins:dict"], ["a dict has no signature, link and name"]),
        (["kobe.linker=:"], ["linker ':': expected MODULE:OBJECT"]),
        (["kobe.linker=os:"], ["linker 'os:': expected MODULE:OBJECT"]),
        (["kobe.linker=../x:y"], ["linker '../x:y': expected MODULE:OBJECT"]),
        (["kobe.linker=sys:exit"], ["linker 'sys:exit': can't be loaded", "SystemExit"]),
        (["kobe.linker=capitals:ready", "kobe.link.values=false"], ["another linker does"]),
        (["kobe.linker=capitals:ready", "kobe.links=x"], ["expected one of them"]),
    ],
)
def test_linkers_that_are_none(own_linker, settings, words, capsys) -> None:
    call = ["score", *own_linker, "--metric", "kobe"]
    assert run([*call, *(part for one in settings for part in ("--set", one))]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(word in error for word in words)


MISBEHAVING = """
from capitals import Capitals, Mention


def misbehaving(**parts):
    return type("Bad", (Capitals,), parts)


def fail(*given):
    raise RuntimeError("boom\\nand more")


few = misbehaving(link=lambda self, texts, *_: [()])
none = misbehaving(link=lambda self, texts, *_: None)
nones = misbehaving(link=lambda self, texts, *_: [None for _ in texts])
tuples = misbehaving(link=lambda self, texts, *_: [[(0, 1, "x", "Q1")] for _ in texts])
nan = misbehaving(link=lambda self, texts, *_: [[Mention(float("nan"), 1, "", "x")] for _ in texts])
far = misbehaving(link=lambda self, texts, *_: [[Mention(0, 999, "", "x")] for _ in texts])
ids = misbehaving(link=lambda self, texts, *_: [[Mention(0, 1, "", ["x"])] for _ in texts])
number = misbehaving(signature=5)
raising = misbehaving(link=fail)
unmade = misbehaving(__init__=fail)
unnamed = misbehaving(name=fail)
leaving = misbehaving(link=lambda *_: exit(3))
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("few", "link gives 1 list for 2 texts, expected one of each"),
        ("none", "link fails: TypeError"),
        ("nones", "link gives None for a text, expected a list of mentions"),
        ("tuples", "link gives (0, 1, 'x', 'Q1'), expected a Mention"),
        ("nan", "a mention with start nan and end 1 in"),
        ("far", "a mention with start 0 and end 999 in"),
        (
            "ids",
            "(0, 1, '', ['x'], 'entity', 'core', (), '', False), expected a Mention whose ids are",
        ),
        ("number", "signature is 5, expected text"),
        ("raising", "link fails: RuntimeError boom and more"),
        ("unmade", "can't be loaded from bad:unmade: RuntimeError boom and more"),
        ("unnamed", "name fails: RuntimeError"),
        ("leaving", "link fails: SystemExit 3"),
    ],
)
def test_linkers_that_misbehave(own_linker, name, words, tmp_path: Path, capsys) -> None:
    (tmp_path / "bad.py").write_text(MISBEHAVING)
    row = {"src": "Wien", "out": {"A": "Rome", "B": "Paris"}}
    rows = [json.dumps({"seg": i, **row}) for i in range(2)]
    Path(own_linker[0]).write_text("\n".join(rows))
    call = ["score", *own_linker, "--metric", "kobe", "--set", f"kobe.linker=bad:{name}"]
    assert run(call) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: linker 'bad:{name}': {words}")
    assert error.count("\n") == 1


def test_options_that_have_no_part_where_links_are_given(tmp_path: Path, capsys) -> None:
    path = tmp_path / "links.jsonl"
    write_lines(annotated({"src": ["ab"], "A": ["a"]}), path)
    call = ["score", str(path), "--metric", "kobe"]
    assert run([*call, "--kb", "x"]) == 2
    assert "--kb has no part where links are given" in capsys.readouterr().err
    assert run([*call, "--set", "kobe.link.values=false"]) == 2
    assert "options of link (values:False) find names" in capsys.readouterr().err


def test_help_names_the_options(capsys) -> None:
    assert run(["score", "--help"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in ("link.min_population", "counted", "language_filter"))


def test_the_sample_of_the_authors(shared: Path, tmp_path: Path, capsys) -> None:
    """From annotations by two commands to the correlation that their script prints."""
    folder = shared / "wmt19-metrics"
    out = tmp_path / "kobe.csv"
    links = str(folder / "kobe-entities.ru-en.jsonl.gz")
    assert run(["score", links, "--metric", "kobe", "--set", "kobe.rounded=true", "--json",
                "--system-scores", str(out)]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    with (folder / "kobe-expected.ru-en.csv").open() as rows:
        expected = {row["system"]: row for row in csv.DictReader(rows)}
    for row in found["reports"]["kobe-ref"]["systems"]:
        theirs = expected.pop(row["system"])
        assert row["score"] == pytest.approx(float(theirs["score"]), abs=1e-9)
        assert (row["matched"], row["found"]) == (
            int(theirs["matched"]),
            int(theirs["candidate_entities"]),
        )
    assert not expected
    people = str(folder / "sys-scores.csv.gz")
    assert run(["meta", str(out), people, "--where", "lp=ru-en", "--human", "human_z", "--level",
                "sys", "--with", "pearson", "--metrics", "kobe-ref", "--json"]) == 0  # fmt: skip
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert round(row["value"], 3) == 0.914
