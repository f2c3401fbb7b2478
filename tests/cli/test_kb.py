"""``steelyard kb``: what it prints, and what it says about bad input."""

from __future__ import annotations

import json

import pytest

from steelyard.cli.main import run

TABLE = (
    "id\tcategory\tlang\talias\tprior\n"
    "gn:1\tcity\tde\tWien\t1900000\ngn:1\tcity\ten\tVienna\t1900000\n"
    "gn:2\tcity\tde\tLinz\t200000\ngn:2\tcity\tmul\tLinz\t200000\n"
)


@pytest.fixture
def base(tmp_path, capsys):
    (tmp_path / "names.tsv").write_text(TABLE)
    out = str(tmp_path / "kb")
    assert run(["kb", "build", "table", str(tmp_path / "names.tsv"), "--out", out, "--quiet"]) == 0
    capsys.readouterr()
    return out


def answer(capsys, *arguments):
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_build_and_info(tmp_path, capsys):
    (tmp_path / "names.tsv").write_text(TABLE)
    command = ["kb", "build", "table", str(tmp_path / "names.tsv"), "--langs", "de"]
    built = answer(capsys, *command, "--out", str(tmp_path / "kb"))
    assert built["entities"] == 2
    assert built["languages"]["de"] == 2
    assert "en" not in built["languages"]
    info = answer(capsys, "kb", "info", str(tmp_path / "kb"))
    assert info == built | {"command": "kb info"}
    assert info["sources"][0]["version"] == "names.tsv"
    assert info["warnings"] == []


def test_add_in_place_and_again(base, tmp_path, capsys):
    terms = tmp_path / "terms.csv"
    terms.write_text("id,en,de\na:1,Sled,Schlitten\n")
    assert answer(capsys, "kb", "add", str(terms), "--to", base)["entities"] == 3
    terms.write_text("id,en,de\na:1,Sledge,Schlitten\n")
    assert answer(capsys, "kb", "add", str(terms), "--to", base)["entities"] == 3
    linked = answer(capsys, "kb", "link", "A Sled, a Sledge", "--lang", "en", "--kb", base)
    assert [found["text"] for found in linked["mentions"] if found["id"] == "a:1"] == ["Sledge"]
    new = str(tmp_path / "new")
    assert answer(capsys, "kb", "add", str(terms), "--onto", base, "--out", new)["entities"] == 3


def test_what_was_added_is_shown(base, tmp_path, capsys):
    terms, new = tmp_path / "terms.csv", str(tmp_path / "new")
    terms.write_text("source,target,status\nSled|sledge,Schlitten,\n,Rodel,forbidden\n")
    command = ["kb", "add", str(terms), "--lp", "en-de", "--onto", base, "--out", new]
    assert run(command) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Added 1 term of terms.csv: de 1, en 2; 1 forbidden name.\n")
    assert run(command) == 2
    assert "exists already; --force replaces it" in capsys.readouterr().err
    added = answer(capsys, *command, "--force")
    assert added["added"]["languages"] == {"de": 1, "en": 2}
    assert [source["names"] for source in added["sources"]] == [4, 4]
    linked = answer(capsys, "kb", "link", "The Sledge of Linz", "--lang", "en", "--kb", new)
    assert [found["text"] for found in linked["mentions"]] == ["Sledge", "Linz"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "NOWHERE"], "NOWHERE: no such knowledge base"),
        (["build", "wikidat", "x", "--out", "o"], "no 'wikidat'; did you mean 'wikidata'?"),
        (["build", "wikidata", "--out", "o"], "Missing argument 'INPUT'"),
        (["build", "wikidata", "NOWHERE", "--out", "o"], "NOWHERE: no such file"),
        (["build", "table", "NAMES"], "--out is missing"),
        (["build", "table", "NAMES", "--out", "BASE"], "BASE exists already; --force replaces it"),
        (
            ["build", "table", "NAMES", "--out", "o", "--langs", "de,xq"],
            "unknown language code 'xq'",
        ),
        (["build", "table", "NAMES", "--out", "o", "--onto", "NOWHERE"], "no such knowledge base"),
        (["build", "table", "BAD", "--out", "OUT"], "BAD:3: 2 fields, expected 3"),
        (["build", "wikidata", "BAD", "--out", "OUT"], "BAD:1: not valid JSON"),
        (["add", "NAMES"], "expected --to DIR (add in place) or --out DIR"),
        (["add", "NAMES", "--to", "NOWHERE"], "NOWHERE: no such knowledge base; --out "),
        (["add", "BAD", "--to", "BASE"], "BAD:3: 2 cells"),
    ],
)
def test_errors_are_one_line(base, tmp_path, capsys, arguments, message):
    (tmp_path / "BAD").write_text("id\tlang\talias\na:1\ten\tx\na:2\ten\n")
    places = {
        "BASE": base,
        "NOWHERE": str(tmp_path / "NOWHERE"),
        "NAMES": str(tmp_path / "names.tsv"),
        "BAD": str(tmp_path / "BAD"),
        "OUT": str(tmp_path / "OUT"),
    }
    before = sorted(path.name for path in tmp_path.iterdir())
    assert run(["kb", *(places.get(word, word) for word in arguments)]) == 2
    told = capsys.readouterr().err.strip()
    assert told.splitlines()[-1].startswith("error: ")
    assert message.replace("BASE", base) in told.splitlines()[-1]
    assert sorted(path.name for path in tmp_path.iterdir()) == before  # nothing half-written
