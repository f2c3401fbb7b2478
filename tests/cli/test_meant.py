"""What may have been meant: other names of commands, rankings, tests, metrics, figures, formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.cli.main import COMMANDS, OTHER_NAMES, run
from steelyard.comparison import options as comparison
from steelyard.core.errors import hint, plain_word
from steelyard.demo import embedded
from steelyard.scoring import metric
from steelyard.stats.metametrics import registry as metametrics

SCORES = str(embedded.SCORES)
COMPARE = ["compare", SCORES, "--score", "chars-refA"]
META = ["meta", SCORES, "--human", "mqm"]

#: Every table of other names, and what it may lead to.
TABLES = {
    "commands": (OTHER_NAMES, COMMANDS),
    "rankings": (comparison.OTHER_RANKINGS, (*comparison.RANKINGS, comparison.AUTORANK)),
    "tests": (comparison.OTHER_TESTS, comparison.TESTS),
    "meta-metrics": (metametrics.OTHER_NAMES, metametrics.METAMETRICS),
    "metrics": (metric.OTHER_NAMES, metric.BUILT_IN),
}


@pytest.mark.parametrize("what", TABLES)
def test_other_names_lead_to_known_ones(what):
    others, known = TABLES[what]
    assert set(others.values()) <= set(known)
    assert not set(others) & set(known)
    for word, means in others.items():
        assert word == plain_word(word), word  # as they are looked up
        assert f"did you mean '{means}'?" in hint(word.upper().replace("-", "_"), known, others)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["comparee", "x.csv"], "no command 'comparee'; did you mean 'compare'?"),
        (["rank", "x.csv"], "no command 'rank'; did you mean 'compare'?"),
        ([*COMPARE, "--by", "bradley-terry"], "no ranking 'bradley-terry'; did you mean 'bt'?"),
        ([*COMPARE, "--by", "Mean rank"], "no ranking 'Mean rank'; did you mean 'bt'?"),
        ([*COMPARE, "--tests", "paired_t"], "no test 'paired_t'; did you mean 't'?"),
        ([*COMPARE, "--correction", "bonferonni"], "did you mean 'bonferroni'?"),
        ([*COMPARE, "--plot", "forrest", "--out", "x.png"], "did you mean 'forest'?"),
        ([*META, "--by", "soft-pairwise-accuracy"], "did you mean 'spa'?"),
        ([*META, "--by", "kendall"], "did you mean 'kendall-b'?"),
        ([*META, "--preset", "wmt2023"], "did you mean 'wmt23'?"),
        ([*META, "--bye", "spa"], "'--by'"),
        (["reproduce", "pairs"], "did you mean 'paired'?"),
        (["study", "disagreement", SCORES, "--by", "btl"], "did you mean 'bt'?"),
    ],
)
def test_one_line_says_what_may_have_been_meant(arguments, expected, capsys):
    assert run([*arguments, "--quiet"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert expected in said.err
    assert said.err.count("\n") == 1


LOG = "left,right,outcome\nA,B,left\nB,A,tie\nA,B,left\nB,A,left\n"


def test_battles_are_taken_or_sent_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("arena.csv").write_text(LOG)
    assert run(["compare", "arena.csv", "--quiet"]) == 0
    capsys.readouterr()
    for arguments, expected in (
        (["report", "arena.csv"], "not scores; steelyard compare takes them"),
        (["compare", "arena.csv", "--pair", "A,B"], "--pairwise shows every pair of a log"),
        (["meta", str(embedded.RATINGS)], "not scores; steelyard human takes them"),
    ):
        assert run([*arguments, "--quiet"]) == 2
        assert expected in capsys.readouterr().err
    assert run(["compare", "arena.csv", "--pairwise", "--quiet"]) == 0
