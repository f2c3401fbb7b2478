"""The KoBE paper reproduced, as far as scores and entity links are at hand."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.reproduction.gekhman2020 import PAPER, TABLES, correlations, reproduce_kobe

TITLES = ("Table 1", "Table 2", "Table 3")


def test_correlations_keep_their_sign_and_skip_gaps():
    scores = {
        "human_z": sy.ScoreTable(
            np.empty((4, 0)), kind="human", system_scores=np.array([1, 2, 3, 5.0])
        ),
        "up": sy.ScoreTable(np.empty((4, 0)), system_scores=np.array([2.0, 4, 6, np.nan])),
        "down": sy.ScoreTable(np.empty((4, 0)), system_scores=np.array([5.0, 3, 2, 1])),
    }
    es = EvalSet(tuple("abcd"), Segments(()), scores)
    found = correlations(es)
    assert found["up"] == pytest.approx(1)
    assert found["down"] == pytest.approx(np.corrcoef([1, 2, 3, 5], [5, 3, 2, 1])[0, 1])


@pytest.mark.thorough
def test_all_rows_of_other_metrics(shared):
    found = reproduce_kobe(shared)
    rows = {row.what: row for row in found.rows}
    assert len(rows) == len(found.rows)
    others = [row for name, row in rows.items() if row.part in TITLES
              and not name.endswith("KoBE")]  # fmt: skip
    assert len(others) == 68
    assert all(row.match for row in others)
    assert rows["Table 1, de-en, BLEU"].published == 0.849
    assert rows["Table 1, zh-en, BLEU"].published == 0.899
    assert all(row.match for row in found.rows if row.part in ("Authors' code", "Section 5"))
    kobe = rows["Table 4, ru-en, KoBE"]
    assert (kobe.verdict, round(float(kobe.ours or 0), 3)) == ("not at hand", 0.914)
    assert "earlier run" in str(kobe.note)
    assert kobe.detail == "8 of 14 systems have links"
    assert "none of the source" in str(rows["Table 1, ru-en, KoBE"].note)
    assert "zh-en" in str(rows["Table 1, zh-en, KoBE"].note)
    assert sum(row.part in ("Table 5", "Table 6", "Table 7") for row in found.rows) == 126
    assert rows["Section 5, directions in which YiSi-2 goes against people, of 18"].ours == 6


def scores_at(root: Path, text: str) -> Path:
    path = root / "wmt19-metrics" / "sys-scores.csv"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_what_follows_from_metrics_that_are_not_there_is_undefined(tmp_path):
    """Every direction has BLEU alone, and of one all systems have the same."""
    lines = [f"{lp},{name},{i},{1 if lp == 'de-en' else i * i}" for lp in ALL
             for i, name in enumerate("ABC")]  # fmt: skip
    scores_at(tmp_path, "\n".join(["lp,system,human_z,BLEU", *lines]) + "\n")
    rows = {row.what: row for row in reproduce_kobe(tmp_path).rows}
    assert rows["Table 1, fi-en, BLEU"].ours is not None
    hidden = "Section 5, absolute values change the best metric without references ()"
    against = "Section 5, directions in which YiSi-2 goes against people, of 18"
    for what in ("Table 1, de-en, BLEU", "Table 1, fi-en, YiSi-2", "Table 4, mean, BLEU",
                 against, hidden):  # fmt: skip
        assert rows[what].verdict == "not at hand"
        assert rows[what].note == "undefined on the data at hand"


# A release that is made up, in the authors' layout.

ALL = [lp for key in TABLES for lp in PAPER.figures()[key]["columns"]]
SYSTEMS = ("A.1", "B.2", "online-C.0", "D.4")
Ids = dict[str, list[list[str]]]  # by system, a list of ids per sentence


def made_up(pairs: list[str], seed: int) -> dict[str, Ids]:
    rng = np.random.default_rng(seed)
    names = ("src", "ref", *SYSTEMS)
    return {
        pair: {
            name: [list(rng.choice(list("abcdefgh"), rng.integers(0, 5))) for _ in range(6)]
            for name in names
        }
        for pair in pairs
    }


def write_release(folder: Path, made: dict[str, Ids]) -> None:
    for pair, systems in made.items():
        own = folder / pair
        own.mkdir(parents=True)
        source, target = pair.split("-")
        for name, sentences in systems.items():
            listed = [
                {"sentence": "x" * 9,
                 "entities": [{"begin": k, "end": k + 1, "id": one} for k, one in enumerate(ids)]}
                for ids in sentences
            ]  # fmt: skip
            side = f"newstest2019-{source}{target}-{name}.{source if name == 'src' else target}"
            file = side if name in ("src", "ref") else f"newstest2019.{name}.{pair}"
            (own / file).write_text(json.dumps({"annotated_sentence": listed}))


def write_scores(path: Path, pairs: list[str], seed: int) -> dict[str, dict[str, float]]:
    """Write a table as the authors': an index without a name, columns that are no scores."""
    rng = np.random.default_rng(seed)
    metrics = sorted({m for key in TABLES for m in PAPER.figures()[key]["rows"] if m != "KoBE"})
    people: dict[str, dict[str, float]] = {}
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["", "lp", "DA", "system", *metrics, "segid", "testset"])
        for pair in pairs:
            for system in (*SYSTEMS, "unlinked.5"):
                value = round(float(rng.normal()), 3)
                people.setdefault(pair, {})[system] = value
                own = [round(float(rng.normal()), 4) for _ in metrics]
                rows.writerow([len(people), pair, value, system, *own, 99.5, "newstest2019"])
    return people


def authors_score(wanted: list[list[str]], own: list[list[str]]) -> float:
    """KoBE as the paper defines it, with the rounding of the authors' script."""
    pairs = list(zip(wanted, own, strict=True))
    matched = sum(sum((Counter(w) & Counter(o)).values()) for w, o in pairs)
    s, c = sum(map(len, wanted)), sum(map(len, own))
    return round(100 * matched / s, 2) * (1.0 if c < 2 * s else math.exp(1 - c / (2 * s)))


def correlation(systems: Ids, side: str, people: dict[str, float]) -> float:
    scores = [authors_score(systems[side], systems[name]) for name in SYSTEMS]
    return float(np.corrcoef(scores, [people[name] for name in SYSTEMS])[0, 1])


def test_a_whole_release_fills_all_tables(tmp_path):
    pairs = ALL
    made = made_up(pairs, 1)
    write_release(tmp_path / "annotations" / "wmt19-submitted-data" / "newstest2019", made)
    scores = tmp_path / "wmt19_metric_task_results" / "sys-level_scores_metrics.csv"
    people = write_scores(scores, pairs, 2)
    found = reproduce_kobe(tmp_path)
    rows = {row.what: row for row in found.rows}
    for key, title in zip(TABLES, TITLES, strict=True):
        for pair in PAPER.figures()[key]["columns"]:
            ours = rows[f"{title}, {pair}, KoBE"].ours
            assert ours == pytest.approx(correlation(made[pair], "src", people[pair]))
    with_references = [correlation(made[lp], "ref", people[lp]) for lp in pairs[:7]]
    for pair, value in zip(pairs[:7], with_references, strict=True):
        row = rows[f"Table 4, {pair}, KoBE"]
        assert row.ours == pytest.approx(value)
        assert row.match or row.detail == "4 of 5 systems have links"
    mean = rows["Table 4, mean, KoBE, from our cells"].ours
    assert mean == pytest.approx(np.mean(with_references))
    for title, group in (("Table 5", pairs[:7]), ("Table 6", pairs[7:15]), ("Table 7", pairs[15:])):
        for pair in group:
            source, reference = made[pair]["src"], made[pair]["ref"]
            flat = [one for ids in source for one in ids], [one for ids in reference for one in ids]
            expected = [6, sum(map(bool, source)), len(flat[0]), len(flat[1]), len(set(flat[0])),
                        len(set(flat[1])), len(set(flat[0]) & set(flat[1]))]  # fmt: skip
            own = [row.ours for what, row in rows.items() if what.startswith(f"{title}, {pair},")]
            assert own == expected
    assert rows["Section 4, directions on which KoBE beats BLEU, in our cells"].ours is not None
    absent = [row for row in found.rows if row.match is None]
    assert {row.part for row in absent} == {"Authors' code", "Figure 2", "Figure 3", "Figure 4"}


@pytest.mark.parametrize("where", ["annotations/newstest2019", "."])
def test_directions_that_are_not_there_are_named(tmp_path, where):
    pairs = ["ru-en", "de-cs"]
    made = made_up(pairs, 3)
    release = tmp_path / "release"
    write_release(release / where, made)
    scores = tmp_path / "wmt19_metric_task_results" / "sys-level_scores_metrics.csv"
    people = write_scores(scores, ALL, 4)
    found = reproduce_kobe([release, tmp_path])
    rows = {row.what: row for row in found.rows}
    for title, pair in (("Table 1", "ru-en"), ("Table 3", "de-cs")):
        ours = rows[f"{title}, {pair}, KoBE"].ours
        assert ours == pytest.approx(correlation(made[pair], "src", people[pair]))
    gone = rows["Table 2, en-fi, KoBE"]
    assert gone.match is None
    assert "en-fi" in str(gone.note)
    assert "de-cs" not in str(gone.note)
    assert rows["Table 5, ru-en, sentence count"].ours == 6
    assert rows["Table 4, mean, KoBE, from our cells"].match is None
    # Without scores of people, entities are counted all the same.
    found = reproduce_kobe(release)
    rows = {row.what: row for row in found.rows}
    assert rows["Table 5, ru-en, sentence count"].ours == 6
    assert "sys-scores.csv.gz" in str(rows["Table 1, ru-en, KoBE"].note)
    assert "sys-scores.csv.gz" in str(rows["Table 1, ru-en, BLEU"].note)


def test_a_system_without_scores_is_left_out_as_the_authors_do(tmp_path):
    made = made_up(["gu-en"], 5)
    made["gu-en"]["online-B.0"] = made["gu-en"]["A.1"]
    write_release(tmp_path / "annotations", made)
    path = tmp_path / "wmt19_metric_task_results" / "sys-level_scores_metrics.csv"
    people = write_scores(path, ALL, 6)
    head, *lines = path.read_text().splitlines()
    one = next(line for line in lines if ",gu-en," in line).replace("A.1", "online-B.0")
    path.write_text("\n".join([head, *lines, one]) + "\n")
    rows = {row.what: row for row in reproduce_kobe(tmp_path).rows}
    expected = correlation(made["gu-en"], "src", people["gu-en"])
    assert rows["Table 1, gu-en, KoBE"].ours == pytest.approx(expected)
