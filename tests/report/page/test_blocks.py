"""Parts of the page as they stand in the file: warnings by kind, words explained, no folders."""

from __future__ import annotations

import base64
import gzip
import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.page.sets import read_set

from steelyard.cli.main import run
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.demo import embedded
from steelyard.report import explorer, glossary, sections
from steelyard.report.figures import vega
from steelyard.report.options import ReportOptions
from steelyard.report.page import make_report


def part(text: str, name: str) -> str:
    """A part of the page that folds."""
    found = re.search(f'<details class="folded" id="{name}".*?</details>', text, re.DOTALL)
    return found[0] if found else ""


@pytest.fixture
def made(no_charts) -> str:
    return make_report(
        read_set(), "mqm", options=ReportOptions(n_bootstrap=20, n_resamples=20)
    ).html


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
    found = make_report(
        es.with_scores("bad", lower), "mqm", options=ReportOptions(n_bootstrap=20, n_resamples=20)
    )
    lines = [unescape(line) for line in re.findall(r"<li>([^<]*)</li>", found.html)]
    about = [line for line in lines if line.startswith(("'bad' goes", "warning: 'bad' goes"))]
    assert about
    assert len(about) == len(set(about))


def test_short_words_are_explained(made):
    assert "<dt>bt</dt><dd>Bradley-Terry strength" in made
    assert "<dt>spa</dt><dd>soft pairwise accuracy" in made
    heading = r'<th scope="col" class="number" data-tip="soft pairwise accuracy[^"]*">spa'
    assert re.search(heading, made)


def test_every_meta_metric_and_ranking_has_words():
    from steelyard.comparison.options import RANKINGS
    from steelyard.metaevaluation.options import DEFAULT, SCHEMES

    known = set(glossary.TERMS)
    assert {name for name in RANKINGS if name != "sentence-mean"} | set(DEFAULT) <= known
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


def test_marks_without_a_tip_are_silent():
    silent = vega.mark("rule", [{"x": 1}], x=vega.amount("x"))
    speaking = vega.mark("point", [{"x": 1, "tip": "A: 3"}], tip=True, x=vega.amount("x"))
    assert silent["mark"]["aria"] is False
    assert "description" not in silent["encoding"]
    assert speaking["encoding"]["description"]["field"] == "tip"


def test_a_set_without_names_to_explain(no_charts):
    values = np.random.default_rng(0).normal(size=(2, 20))
    es = EvalSet(("A", "B"), Segments(tuple(map(str, range(20)))), {"m": ScoreTable(values)})
    text = make_report(es, options=ReportOptions(n_bootstrap=20)).html
    assert 'id="metrics"' not in text
    assert text.count('class="csv"') == text.count('class="download"') > 1
