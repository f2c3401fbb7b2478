"""One word per thing: other spellings of options and keywords give the same results."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

import steelyard as sy
from steelyard.cli.helping import RENAMED, WORDS, other_spellings
from steelyard.cli.main import cli, run
from steelyard.core.errors import UsageError
from steelyard.demo import embedded

SCORES = str(embedded.SCORES)
META = ["meta", SCORES, "--human", "mqm", "--intervals", "none"]
COMPARE = ["compare", SCORES, "--score", "chars-refA", "--intervals", "none"]
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def texts(tmp_path, monkeypatch):
    """Plain texts, and scores of a metric from elsewhere."""
    monkeypatch.chdir(tmp_path)
    Path("new.en").write_text("the cat sat\nhello world\n")
    Path("old.en").write_text("a cat sat\nhallo world\n")
    Path("ref.en").write_text("the cat sat\nhello world\n")
    lines = [
        {"seg": 1, "src": "a", "refs": {"refA": "so", "refB": "no"}, "out": {"A": "so", "B": "x"}},
        {"seg": 2, "src": "b", "refs": {"refA": "it", "refB": "is"}, "out": {"A": "it", "B": "y"}},
    ]
    Path("texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("mine.csv").write_text("system,segment,mine\nnew,1,3\nnew,2,4\nold,1,2\nold,2,1\n")


def result(capsys, *arguments: str) -> str:
    assert run([*arguments, "--json", "--quiet"]) == 0, capsys.readouterr().err
    return str(capsys.readouterr().out)


PLAIN = ["score", "new.en", "old.en"]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ([*META, "--by", "pa"], [*META, "--with", "pa"]),
        ([*META, "--metrics", "chars-refA"], [*META, "--metric", "chars-refA"]),
        ([*COMPARE, "--tests", "sign"], [*COMPARE, "--test", "sign"]),
        ([*PLAIN, "--ref", "ref.en", "--metrics", "chrf"],
         [*PLAIN, "--ref", "ref.en", "--metric", "chrf"]),
        ([*PLAIN, "--ref", "ref.en", "--score-file", "mine=mine.csv"],
         [*PLAIN, "--ref", "ref.en", "--scores", "mine=mine.csv"]),
        ([*PLAIN, "--ref", "ref.en", "--metrics", "chrf"],
         [*PLAIN, "--refs", "ref.en", "--metrics", "chrf"]),
        (["score", "texts.jsonl", "--ref", "refA", "--metrics", "chrf"],
         ["score", "texts.jsonl", "--refs", "refA", "--metrics", "chrf"]),
        (["score", "texts.jsonl", "--ref", "refA,refB", "--metrics", "chrf"],
         ["score", "texts.jsonl", "--ref", "refA", "--ref", "refB", "--metrics", "chrf"]),
        (["human", str(embedded.RATINGS), "--protocol", "da", "--test", "t", "--bootstrap", "0"],
         ["human", str(embedded.RATINGS), "--protocol", "da", "--tests", "t", "--bootstrap", "0"]),
        (["study", "simulation", "--repeats", "2", "--systems", "3", "--segments", "20"],
         ["study", "simulation", "--draws", "2", "--systems", "3", "--segments", "20"]),
    ],
)  # fmt: skip
def test_another_spelling_gives_the_same(word, other, capsys):
    assert result(capsys, *word) == result(capsys, *other)


def test_ties_of_meta_were_variants(capsys):
    for flag in ("--variants", "--ties"):
        assert run([*META, flag, "missing.toml", "--by", "pa"]) == 2
        assert "missing.toml" in capsys.readouterr().err
    assert run([*COMPARE, "--variants", "half"]) == 2  # what compare calls ties is another thing
    assert "--variants" in capsys.readouterr().err


def test_raters_of_a_report_are_those_of_verdicts(capsys):
    for flag in ("--verdict-raters", "--raters"):
        assert run(["report", SCORES, flag, "x"]) == 2
        assert "--verdict-raters names columns of --verdicts" in capsys.readouterr().err


def test_a_missing_file_of_references_is_no_name_of_one(capsys):
    assert run(["score", "new.en", "--ref", "missing.en", "--metrics", "chrf"]) == 2
    assert "missing.en" in capsys.readouterr().err
    assert run(["score", "texts.jsonl", "--ref", "refC", "--metrics", "chrf"]) == 2
    assert "no reference named 'refC'; did you mean 'ref" in capsys.readouterr().err


def _commands(group: click.Group):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from _commands(command) if isinstance(command, click.Group) else [command]


def test_no_spelling_takes_the_place_of_an_option():
    seen = set()
    for command in _commands(cli):
        own = {flag for param in command.params for flag in param.opts}
        others = [spelling for _, spelling in other_spellings(command.params)]
        assert not own & set(others)
        assert len(others) == len(set(others))
        seen |= set(others)
    assert {"--with", "--metric", "--test", "--scores", "--ties", "--raters"} <= seen


def test_the_page_lists_the_words():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    table = page.partition("## One word per thing")[2].partition("\n## ")[0]
    for word, *others in (*WORDS, *RENAMED):
        row = next(line for line in table.splitlines() if line.startswith(f"| `{word}`"))
        assert [one for one in others if f"`{one}`" not in row] == []


def test_keywords_of_python_have_the_same_words():
    es = sy.demo_set()
    usual = sy.compare(es, "chars-refA", by=["bt", "elo"], tests="sign",
                       n_bootstrap=20, rng=3)  # fmt: skip
    again = sy.compare(es, "chars-refA", by=["bt", "elo"], test="sign",  # type: ignore[call-arg]
                       bootstrap=20, seed=3)  # fmt: skip
    assert str(usual.to_dict()) == str(again.to_dict())
    weighed = sy.meta_evaluate(es, "mqm", by="pa", metrics=["chars-refA"], n_bootstrap=20, rng=1)
    same = sy.meta_evaluate(es, "mqm", by="pa", metric=["chars-refA"], bootstrap=20, seed=1)  # type: ignore[call-arg]
    assert str(weighed.to_dict()) == str(same.to_dict())
    with pytest.raises(UsageError, match="seed and rng are one option"):
        sy.compare(es, "chars-refA", seed=1, rng=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="bootstraps"):
        sy.compare(es, "chars-refA", bootstraps=1)  # type: ignore[call-arg]
