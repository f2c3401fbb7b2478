"""``--plot`` as a user runs it: figures by name, errors in a line, nothing half-written."""

from __future__ import annotations

import pytest

from steelyard.cli import compare, human, judge, meta
from steelyard.cli.main import run
from steelyard.demo import embedded

pytest.importorskip("vl_convert")
SCORES = str(embedded.SCORES)
COMPARE = ["compare", SCORES, "--score", "learned-refA", "--bootstrap", "10", "--by", "mean"]
META = ["meta", SCORES, "--human", "mqm", "--kind", "human:da", "--metrics",
        "learned-refA,random-src", "--by", "pa", "--intervals", "none"]  # fmt: skip
HUMAN = ["human", str(embedded.RATINGS), "--protocol", "da", "--bootstrap", "0"]


def test_the_names_are_those_of_the_figures():
    from steelyard.report.figures import comparison, judges, pair
    from steelyard.report.figures import human as human_figures
    from steelyard.report.figures import meta as meta_figures

    assert tuple(comparison.FIGURES) == compare.PLOTS
    assert compare.PAIR_PLOTS == pair.PAIR_FIGURES
    assert tuple(meta_figures.FIGURES) == meta.PLOTS
    assert tuple(meta_figures.PROTOCOL_FIGURES) == meta.PROTOCOL_PLOTS
    assert tuple(human_figures.FIGURES) == human.PLOTS
    assert tuple(judges.FIGURES) == judge.PLOTS


def test_the_first_figure_by_default_and_several_with_their_names(tmp_path, capsys):
    assert run([*COMPARE, "--out", str(tmp_path / "f.svg")]) == 0
    assert "wrote" in capsys.readouterr().err
    assert "Systems, best first" in (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert run([*COMPARE, "--plot", "wins,differences", "--out", str(tmp_path / "g.svg")]) == 0
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"f.svg", "g-wins.svg", "g-differences.svg"}


def test_a_pair_has_figures_of_its_own(tmp_path, capsys):
    pair = [*COMPARE[:4], "--pair", "Amber,Cobalt", "--out", str(tmp_path / "f.svg")]
    assert run([*pair, "--plot", "forest"]) == 2
    assert "known: density, differences, wins" in capsys.readouterr().err
    assert run([*pair, "--plot", "differences"]) == 0
    assert "Amber minus Cobalt" in (tmp_path / "f.svg").read_text(encoding="utf-8")


def test_battles_draw_what_needs_no_scores(tmp_path, capsys):
    log = tmp_path / "log.csv"
    log.write_text("left,right,outcome\n" + "A,B,left\nB,C,left\nC,A,left\nA,C,left\n" * 4)
    command = ["compare", "--battles", str(log), "--bootstrap", "10", "--out"]
    assert run([*command, str(tmp_path / "f.svg"), "--plot", "pairwise"]) == 0
    assert "3 systems, 16 battles" in (tmp_path / "f.svg").read_text(encoding="utf-8")
    assert run([*command, str(tmp_path / "g.svg"), "--plot", "density"]) == 2
    assert "needs scores of segments" in capsys.readouterr().err
    assert not (tmp_path / "g.svg").exists()


def test_meta_and_human_draw(tmp_path):
    assert run([*META, "--plot", "scatter", "--out", str(tmp_path / "m.svg")]) == 0
    assert "against people" in (tmp_path / "m.svg").read_text(encoding="utf-8")
    assert run([*HUMAN, "--out", str(tmp_path / "h.svg")]) == 0
    assert "Systems as people rank them" in (tmp_path / "h.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*COMPARE, "--plot", "forrest"], "no figure 'forrest'; did you mean 'forest'?"),
        ([*COMPARE, "--plot", "forest"], "--plot forest: --out FILE is missing"),
        ([*COMPARE, "--plot", "wins", "--out", "f.csv"], "--out FILE is missing"),
        (
            [*COMPARE, "--plot", "wins,disagreement", "--out", "f.png"],
            "needs two rankings of mean, median and bt (--by)",
        ),
        ([*COMPARE[:2], "--score", "mqm,da", "--out", "f.png"], "choose it with --score NAME"),
        ([*META, "--plot", "comparison", "--out", "f.png"], "add --significance"),
        ([*HUMAN, "--plot", "severe", "--out", "f.png"], "no figure 'severe'"),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    shown = capsys.readouterr().err
    lines = [line for line in shown.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1
    assert message in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over_an_input(tmp_path, capsys):
    path = tmp_path / "x.csv"
    text = "system,segment,m\nA,1,1\nB,1,2\n"
    path.write_text(text)
    assert run(["compare", str(path), "--score", "m", "--out", str(path)]) == 2
    assert "is an input of this command, left as it is" in capsys.readouterr().err
    ratings = tmp_path / "r.csv"
    rows = [f"{s},{i},r{i % 3},{50 + i + ord(s)}" for s in "AB" for i in range(9)]
    ratings.write_text("\n".join(["system,segment,rater,raw", *rows]) + "\n")
    before = ratings.read_text()
    human = ["human", str(ratings), "--protocol", "da"]
    assert run([*human, "--ranks", str(ratings)]) == 2
    assert run([*human, "--ranks", "z.csv", "--out", "z.csv"]) == 2
    assert "expected different files" in capsys.readouterr().err
    assert (path.read_text(), ratings.read_text()) == (text, before)


def test_figures_of_judges(tmp_path):
    out = tmp_path / "judges.svg"
    verdicts = ["judge", str(embedded.VERDICTS), "--human", "ann,bo,cy", "--quiet"]
    assert run([*verdicts, "--plot", "agreement,gaps", "--out", str(out)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        "judges-agreement.svg",
        "judges-gaps.svg",
    }
