"""``steelyard check`` and ``sy.check``: kinds, confidence, inputs, what is written, exit codes."""

from __future__ import annotations

import csv
import json
import time
import tomllib
from importlib.resources import files

import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.kobe.checks import KINDS, placeholders

LONG = "Dies ist ein ganzer deutscher Satz, den niemand für uns übersetzt hat."


def kinds(source, output, **more):
    result = sy.check([source], [output], src="de", tgt="en", **more)
    return [(f.kind, f.source, f.output, f.expected) for f in result.findings]


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Es kostet 1.234 Euro.", "It costs 1,243 euros.", [("number", "1.234", "1,243", "1.234")]),
        ("Es kostet 1.234 Euro.", "It costs 1,234 euros.", []),
        ("Am 3. März kam er an.", "He arrived on 4 March.", [("date", "3.", "4", "3.")]),
        ("Am 3.4.2021 kam er an.", "He arrived on 3 April 2021.", []),
        ("Er fuhr nach Wien.", "He went to Venice.", [("name", "Wien", "Venice", "Vienna")]),
        ("Er fuhr nach Wien.", "He went to Vienna.", []),
        ("Öffne %s und {name}.", "Open {name} and it.", [("placeholder", "%s", None, "%s")]),
        ("Drück <b>jetzt</b>.", "Press <b>now.", [("placeholder", "</b>", None, "</b>")]),
        ("%s hat %d Punkte.", "%d points for %s.", [("placeholder", "%s %d", "%d %s", "%s %d")]),
        ("Zu 100% sicher.", "100% sure.", []),
        ("Ein Satz.", " ", [("empty", "Ein Satz.", None, None)]),
        (LONG, LONG, [("untranslated", f"{LONG[:59]}…", f"{LONG[:59]}…", None)]),
        ("Berlin", "Berlin", []),
        ("", "", []),
    ],
)
def test_kinds(source, output, expected):
    assert kinds(source, output) == expected


def test_icu_and_tags():
    text = "{n, plural, one {# file in {dir}} other {# files in {dir}}}"
    other = "{n, plural, one {# x in {dir}} few {# y in {dir}} other {# z in {dir}}}"
    assert kinds(text, other) == []
    assert placeholders('<a href="x">%(n)d ${y} {{z}} <br/>') == [
        "<a>", "%(n)d", "${y}", "{{z}}", "<br/>",
    ]  # fmt: skip


def test_terms(tmp_path):
    path = tmp_path / "terms.csv"
    path.write_text("source,target,status\nLaptop,laptop,\nLaptop,portable,forbidden\n")
    assert kinds("Der Laptop", "The laptops", glossary=path) == []
    assert kinds("Der Laptop", "The device", glossary=path) == [("term", "Laptop", None, "laptop")]
    assert kinds("Der Laptop", "A portable", glossary=path) == [
        ("forbidden", "Laptop", "portable", "laptop")
    ]


def test_references_contradict_and_systems_share():
    segments = sy.Segments(("1",), sources=("Öffne %s in Wien.",), references={"r": ("Open it.",)})
    outputs = {"A": ("Open it.",), "B": ("Open.",)}
    es = sy.EvalSet(("A", "B"), segments, outputs=outputs)
    assert sy.check(es, src="de", tgt="en").findings == ()
    bare = sy.EvalSet(("A", "B"), sy.Segments(("1",), sources=("Öffne %s.",)), outputs=outputs)
    assert [(f.system, f.shared) for f in sy.check(bare, src="de", tgt="en").findings] == [
        ("A", 1), ("B", 1),
    ]  # fmt: skip


def test_confidence_is_a_measured_precision():
    table = tomllib.loads(files("steelyard.kobe").joinpath("checks.toml").read_text())
    assert set(table) == {"alone", "compared"}
    for bands in table.values():
        assert set(bands) == set(KINDS)
        assert all(0 <= share <= 1 for rows in bands.values() for _, share in rows)
    result = sy.check(["Am 3. März: %s"] * 2, ["On 4 March", "On 3 March: %s"], src="de", tgt="en")
    shares = [finding.precision for finding in result.findings]
    assert shares == sorted(shares, reverse=True)
    assert {f.confidence for f in result.at_least("high").findings} <= {"high"}
    with pytest.raises(UsageError, match="min confidence 'sure'"):
        sy.check(["a"], ["b"], src="de", tgt="en", min_confidence="sure")


@pytest.fixture
def pair(tmp_path):
    (tmp_path / "a.de").write_text("Öffne %s.\nGut.\nGut.\n")
    (tmp_path / "b.en").write_text("Open.\nGood.\nFine.\n")
    return [str(tmp_path / "a.de"), str(tmp_path / "b.en")]


def test_command(pair, tmp_path, capsys):
    assert run(["check", *pair, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["segments"], result["by_kind"]) == (3, {"placeholder": 1})
    (finding,) = result["findings"]
    wanted = {"segment": "1", "system": "b.en", "kind": "placeholder", "source": "%s",
              "output": None, "expected": "%s", "confidence": "high"}  # fmt: skip
    assert wanted.items() <= finding.items()
    assert result["inconsistent"][0]["targets"] == {"Good.": ["2"], "Fine.": ["3"]}
    assert {"command", "schema", "version", "summary", "warnings", "read", "provenance"} <= {
        *result
    }
    assert run(["check", *pair, "--fail-on", "high"]) == 3
    sarif, table = tmp_path / "x.sarif", tmp_path / "x.csv"
    assert run(["check", *pair, "--out", str(sarif)]) == 0
    log = json.loads(sarif.read_text())
    assert log["version"] == "2.1.0"
    (entry,) = log["runs"][0]["results"]
    assert (entry["ruleId"], entry["level"]) == ("placeholder", "error")
    assert entry["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    assert run(["check", *pair, "--out", str(table)]) == 0
    rows = csv.DictReader(table.read_text().splitlines())
    assert [row["kind"] for row in rows] == ["placeholder"]


PO = 'msgid ""\nmsgstr "Language: en\\n"\n\nmsgid "Öffne %s"\nmsgstr "Open"\n'
TEXTS = '{"seg": 1, "src": "Öffne %s", "out": {"A": "Open", "B": "Open %s"}}\n'


@pytest.mark.parametrize(
    ("name", "text", "systems"),
    [("x.po", PO, ["x.po"]), ("x.csv", "source,target\nÖffne %s,Open\n", ["x.csv"]),
     ("x.jsonl", TEXTS, ["A"])],
)  # fmt: skip
def test_inputs_and_annotated_copies(name, text, systems, tmp_path, capsys):
    path, copy = tmp_path / name, tmp_path / f"copy-{name}"
    path.write_text(text)
    call = ["check", str(path), "--src-lang", "de", "--tgt-lang", "en"]
    assert run([*call, "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [(f["system"], f["kind"]) for f in findings] == [(s, "placeholder") for s in systems]
    code = run([*call, "--annotate", str(copy)])
    assert code == (0 if name == "x.po" else 2)
    if code == 0:
        assert "placeholder: %s" in copy.read_text()


@pytest.mark.parametrize(
    ("name", "text"),
    [("x.xlf", "<xliff"), ("x.tmx", '<!DOCTYPE x [<!ENTITY a "b">]><tmx/>'),
     ("x.csv", "a,b\n1,2\n"), ("x.po", 'msgid "a\n')],
)  # fmt: skip
def test_bad_files_end_with_one_line(name, text, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    assert run(["check", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path / name}")
    assert error.count("\n") == 1


@pytest.mark.thorough
def test_ten_thousand_segments():
    sources = [f"Am {n % 28 + 1}. März {n} kostete {n},5 Euro in Wien." for n in range(10_000)]
    outputs = [f"On {n % 28 + 1} March {n} it cost {n}.5 euros in Vienna." for n in range(10_000)]
    start = time.process_time()
    assert sy.check(sources, outputs, src="de", tgt="en").segments == 10_000
    assert time.process_time() - start < 60  # 20 s on a quiet machine
