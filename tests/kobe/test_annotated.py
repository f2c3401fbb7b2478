"""KoBE of annotations: both variants, as the authors' script computes them, by command."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.formats.entities import EntityAnnotations, EntityMention, Sentence
from steelyard.formats.entities import write as write_lines
from steelyard.kobe.annotations import AnnotatedLinker
from steelyard.kobe.base.knowledge import embedded
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


def test_what_nobody_keeps_is_not_listed_as_lost() -> None:
    rows = {"src": ["abc", "a"], "A": ["a", ""], "B": ["", ""]}
    made = annotated(rows | {"ref": ["ac", ""]})
    _, report = kobe_metric(made.evalset(), None, None, options=KobeOptions(links=made))
    # b of the first segment and a of the second are in no output and not in the reference.
    assert report.n_missed == 2
    kinds = {
        (system, at, finding.mention.id): finding.kind for system, at, finding in report.findings()
    }
    assert kinds["A", 0, "b"] == kinds["B", 0, "b"] == kinds["B", 1, "a"] == "missed"
    assert (kinds["A", 0, "c"], kinds["B", 0, "a"]) == ("lost", "lost")
    lines = [json.loads(line) for line in report.jsonl()]
    assert lines[0]["counts"] == {"found": 1, "lost": 1, "missed": 1}
    # The score is that of the paper all the same; without a reference, nobody knows.
    assert report.scores["A"] == 25.0
    bare = annotated(rows)
    _, report = kobe_metric(bare.evalset(), None, None, options=KobeOptions(links=bare))
    assert report.n_missed == 0
    lost = {finding.mention.id for _, _, finding in report.findings() if finding.kind == "lost"}
    assert lost == {"a", "b", "c"}


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
    assert report.warnings[-1].startswith("links of 'A', 'src' are found by text")


def test_what_was_left_out_of_links_is_told_once(tmp_path: Path, capsys) -> None:
    links, texts = tmp_path / "links.jsonl", tmp_path / "texts.jsonl"
    write_lines(annotated({"src": ["ab"], "ref": ["ab"], "A": ["ab"]}), links)
    links.write_text(links.read_text().replace('"b"', '""'))
    row = {"seg": 1, "src": "0 ab", "refs": {"ref": "0 ab"}, "out": {"A": "0 ab"}}
    texts.write_text(json.dumps(row) + "\n")
    both = [w for name in ("kobe", "kobe-ref") for w in ("--set", f"{name}.links={links}")]
    for inputs in ([str(links)], [str(texts), *both]):
        assert run(["score", *inputs, "--metrics", "kobe,kobe-ref", "--json"]) == 0
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


def refused(call: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that is refused, and return its one line."""
    assert run(call) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_links_that_can_not_be_scored(tmp_path: Path, capsys) -> None:
    made, other = annotated({"src": ["a"], "A": ["a"]}), annotated({"src": ["a"], "A": ["b"]})
    with pytest.raises(UsageError, match=r"text 1 of 'A' is not among .* links: '0 b'"):
        kobe_metric(other.evalset(), None, None, options=KobeOptions(links=made))
    with pytest.raises(UsageError, match="expected one of them"):
        kobe_metric(made.evalset(), None, None, linker=AnnotatedLinker([made]),
                    options=KobeOptions(links=made))  # fmt: skip
    with pytest.raises(InputError, match=r"links of outputs alone \(A\)"):
        sy.score(annotated({"A": ["a"]}), "kobe")
    path = tmp_path / "links.jsonl"
    call = ["score", str(path), "--metrics", "kobe"]
    write_lines(annotated({"src": ["a"], "ref": ["a"]}), path)
    assert f"{path}: no outputs of systems to score" in refused(call, capsys)
    write_lines(made, path)
    assert str(path) in refused([*call, "--drop-systems", "A"], capsys)
    assert "--kb does nothing where links are given" in refused([*call, "--kb", "x"], capsys)
    first, second = (str(tmp_path / f"{name}.jsonl") for name in ("A", "src"))
    for file, name in ((first, "A"), (second, "src")):
        write_lines(EntityAnnotations({name: made.systems[name]}), Path(file))
    assert run(["score", first, second, "--metrics", "kobe", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == {"A": {"kobe": 100.0}}
    assert "a second time" in refused(["score", first, first, "--metrics", "kobe"], capsys)


def test_other_metrics_and_human_scores_beside_annotations(tmp_path: Path, capsys) -> None:
    path, human, out = (tmp_path / name for name in ("links.jsonl", "human.csv", "seg.csv"))
    write_lines(annotated({"src": ["ab"], "ref": ["ab"], "A": ["a"], "B": ["ab"]}), path)
    human.write_text("system,segment,people\nA,1,1\nB,1,2\n")
    call = ["score", str(path), str(human), "--metrics", "kobe,chrf", "--out", str(out), "--json"]
    assert run(call) == 0
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert set(systems["A"]) == {"kobe", "kobe-ref", "chrf"}
    assert systems["B"]["kobe"] == 100
    with out.open() as rows:
        assert [row["kobe"] for row in csv.DictReader(rows)] == ["50.0", "100.0"]


def test_annotated_texts_score_as_the_texts(tmp_path: Path, capsys) -> None:
    base = ["--kb", str(embedded())]
    texts = [DEMO, "--where", "lp=de-en", "--lp", "de-en"]
    links = str(tmp_path / "links.jsonl")
    annotate = ["kb", "annotate", *texts, *base, "--out", links]
    assert run([*annotate, "--json"]) == 0
    mentions = json.loads(capsys.readouterr().out)["mentions"]
    assert mentions["copycat"] < mentions["careful"]
    assert "--force overwrites it" in refused(annotate, capsys)
    reports = []
    ways = ([*texts, *base], [links], [*texts, "--set", f"kobe.links={links}"])
    for way in ways:
        assert run(["score", *way, "--metrics", "kobe", "--json"]) == 0
        reports.append(json.loads(capsys.readouterr().out)["reports"]["kobe"])
    first = reports[0]
    assert len({row["score"] for row in first["systems"]}) == 3  # two systems keep 17 of 27 each
    counts = set(first["systems"][0]) - {"system", "filtered", "is_reference"}
    for other in reports[1:]:
        for a, b in zip(first["systems"], other["systems"], strict=True):
            assert {name: a[name] for name in counts} == {name: b[name] for name in counts}
        wanted, again = ([c["wanted"] for c in r["categories"]] for r in (first, other))
        assert wanted == again


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    path = tmp_path / "texts.jsonl"
    rows = [
        {"seg": 1, "src": "von Wien nach Rom", "out": {"A": "from Vienna to Rome", "B": "to Rome"}}
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [str(path), "--lp", "de-en"]


ROW = {"seg": 1, "src": "Wien", "refs": {"ref": "Vienna"}, "out": {"A": "Vienna", "B": "Rome"}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"src": None}, "the source lacks 1 text"),
        ({"refs": {}}, "reference 'ref' lacks 1 text"),
        ({"out": {"A": "x", "B": None}}, "'B' lacks 1 text"),
        ({"out": {"A\ud800": "x", "A": "x", "B": "x"}}, "texts.jsonl:2: a name of 'out'"),
    ],
)  # fmt: skip
def test_what_can_not_be_annotated(texts, change, words, tmp_path, capsys) -> None:
    rows = [ROW, {**ROW, "seg": 2, **change}]
    Path(texts[0]).write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "x.jsonl"
    assert words in refused(["kb", "annotate", *texts, "--out", str(out)], capsys)
    assert not out.exists()


def test_annotations_need_languages_and_one_reference(texts, tmp_path: Path, capsys) -> None:
    references = {"ref": "Vienna", "ref (reference)": "Rome"}
    Path(texts[0]).write_text(json.dumps(ROW | {"refs": references}) + "\n")
    call = ["kb", "annotate", *texts]
    for name, text in references.items():
        out = tmp_path / f"{text}.jsonl"
        assert run([*call, "--out", str(out), "--ref", name]) == 0
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert [line["sentence"] for line in lines if line["system"] == "ref"] == [text]
    capsys.readouterr()
    target = ["--out", str(tmp_path / "x.jsonl")]
    error = refused(["kb", "annotate", str(out), "--lp", "de-en", *target], capsys)
    assert f"{out}: holds raw judgements (entity annotations)" in error
    error = refused(["kb", "annotate", texts[0], *target], capsys)
    assert "--src-lang and --tgt-lang" in error
    error = refused([*call, *target, "--src-lang", "fr", "--tgt-lang", "en"], capsys)
    assert "expected the same languages" in error


def test_the_sample_of_the_authors(shared: Path, tmp_path: Path, capsys) -> None:
    """From annotations by two commands to the correlation that their script prints."""
    folder = shared / "wmt19-metrics"
    out = tmp_path / "kobe.csv"
    links = str(folder / "kobe-entities.ru-en.jsonl.gz")
    assert run(["score", links, "--metrics", "kobe", "--set", "kobe.rounded=true", "--json",
                "--system-scores", str(out)]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    with (folder / "kobe-expected.ru-en.csv").open() as rows:
        expected = {row["system"]: row for row in csv.DictReader(rows)}
    for row in found["reports"]["kobe-ref"]["systems"]:
        theirs = expected.pop(row["system"])
        assert row["score"] == pytest.approx(float(theirs["score"]), abs=1e-9)
        counts = [row["matched"], row["found"], row["wanted"]]
        columns = ("matched", "candidate_entities", "reference_entities")
        assert counts == [int(theirs[name]) for name in columns]
        assert round(row["recall"], 2) == float(theirs["recall_pct"])
        assert row["penalty"] == float(theirs["penalty"])
    assert not expected
    people = str(folder / "sys-scores.csv.gz")
    assert run(["meta", str(out), people, "--where", "lp=ru-en", "--human", "human_z", "--level",
                "sys", "--by", "pearson", "--metrics", "kobe-ref", "--json"]) == 0  # fmt: skip
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert round(row["value"], 3) == 0.914
