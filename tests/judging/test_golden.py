"""The card through the front door, on real data: every number that notes and papers print."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from steelyard.judging.card import JudgeCard
from steelyard.judging.report import WITH_LABELS, JudgeReport, judge
from steelyard.stats.judged.bias import swapped_position

CORRECT = ("correct_12", "correct_21", "correct_both")  # columns of the authors of LLMBar
SETS = {"wax": 0.1, "mtbench": 0.2, "framing": 0.15, "summeval": 0.2, "10k_prompts": 0.15}


@pytest.fixture(scope="module")
def arena(shared: Path) -> JudgeReport:
    return judge(shared / "judges/arena-judges/battles.csv.gz", human=["human"])


@pytest.fixture(scope="module")
def pandalm(shared: Path) -> JudgeReport:
    return judge(shared / "judges/pandalm/verdicts.csv.gz", human=["annotator*"], unit="row")


def card_of(report: JudgeReport, name: str) -> JudgeCard:
    return next(card for card in report.cards if card.name == name)


@pytest.mark.parametrize(
    ("name", "n", "accuracy", "kappa", "se", "ac1", "ac1_se", "alpha"),
    [
        ("pandalm-7b", 999, 0.6677, 0.435355, 0.024055, 0.529109, 0.021796, 0.435567),
        ("gpt-3.5-turbo", 974, 0.7156, 0.492865, 0.023749, 0.605150, 0.020775, 0.491943),
    ],
)
def test_pandalm(pandalm, name, n, accuracy, kappa, se, ac1, ac1_se, alpha):
    card = card_of(pandalm, name)
    own = card.agreement
    assert card.n == n
    assert own.accuracy.value == pytest.approx(accuracy, abs=5e-5)
    assert (own.kappa.value, own.kappa.se) == pytest.approx((kappa, se), abs=1e-6)
    assert (own.ac1.value, own.ac1.se) == pytest.approx((ac1, ac1_se), abs=1e-6)
    assert own.alpha.value == pytest.approx(alpha, abs=1e-6)
    assert own.unparsed == 0  # empty cells are no verdicts, and are said to be missing


def test_pandalm_counts_and_missing_verdicts(pandalm):
    own = card_of(pandalm, "pandalm-7b").agreement
    order = [2, 0, 1]  # left, right, tie, as the notes have them
    assert own.counts[order][:, order].tolist() == [[298, 84, 40], [100, 337, 35], [35, 38, 32]]
    assert "gpt-3.5-turbo: no verdict on 25 of 999 rows" in pandalm.warnings


def test_clusters_widen_what_rows_share(shared, pandalm):
    by_prompt = judge(shared / "judges/pandalm/verdicts.csv.gz", human=["annotator*"])
    assert len(by_prompt.verdicts.units) == 170
    assert card_of(by_prompt, "pandalm-7b").kappa.se > 1.3 * card_of(pandalm, "pandalm-7b").kappa.se


@pytest.mark.parametrize(
    ("name", "accuracy", "kappa", "se", "bias", "alike"),
    [
        ("gpt-4-0125-preview", 0.5547, 0.3288, 0.0045, 0.074, 0.958),
        ("claude-3-opus", 0.4752, 0.2107, 0.0045, -0.148, 0.974),
        ("gpt-3.5-turbo", 0.4002, 0.0734, 0.0027, 0.724, 0.911),
    ],
)
def test_arena(arena, name, accuracy, kappa, se, bias, alike):
    card = card_of(arena, name)
    assert card.n == 26919
    assert card.accuracy.value == pytest.approx(accuracy, abs=5e-5)
    assert card.kappa.value == pytest.approx(kappa, abs=5e-5)
    assert card.kappa.se == pytest.approx(se, abs=1e-4)
    assert card.position.bias.value == pytest.approx(bias, abs=5e-4)
    assert card.position.people.value == pytest.approx(0.005, abs=5e-4)
    assert card.systems.alike == pytest.approx(alike, abs=5e-4)
    assert card.systems.n_pairs == 190


def test_arena_classes(arena):
    """All three order systems as annotators do, however seldom they agree on single battles."""
    assert [decision.word for decision in arena.decisions] == [WITH_LABELS] * 3


def _expected(shared: Path) -> list[dict[str, str]]:
    with (shared / "judges/alttest/expected.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.thorough if k else ()) for k, name in enumerate(SETS)],
)
def test_alternative_annotators(shared, name):
    folder = shared / "judges/alttest"
    found = judge(
        folder / "humans.csv.gz", folder / "judges.csv.gz", where={"set": name}, unit="row",
        alt_epsilon=SETS[name],
    )  # fmt: skip
    expected = [row for row in _expected(shared) if row["set"] == name]
    assert len(expected) == 6
    for row in expected:
        own = card_of(found, row["judge"]).alt_test
        assert own.winning_rate == pytest.approx(float(row["winning_rate"]), abs=1e-9)
        assert own.advantage.value == pytest.approx(float(row["advantage_prob"]), abs=1e-9)
    if name == "summeval":
        assert found.constant[0] == "5"
        assert found.constant[1].advantage.value == pytest.approx(0.711, abs=0.0005)
    if name == "10k_prompts":
        assert (found.constant[0], round(found.constant[1].winning_rate, 2)) == ("4", 0.77)
        assert [decision.word for decision in found.decisions].count("usable as is") <= 1


def _llmbar(shared: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    folder = shared / "judges/llmbar"
    items, said = (pl.read_csv(folder / f"{name}.csv.gz", infer_schema=False)
                   for name in ("items", "verdicts"))  # fmt: skip
    return items, said.filter(pl.col("prompt") == "Vanilla")


def _judged(items: pl.DataFrame, said: pl.DataFrame, subset: pl.Expr) -> JudgeReport:
    return judge(
        items.filter(subset), said.filter(subset).drop("prompt"), human=["gold"], swapped="column",
        columns={"task": "subset"},
    )  # fmt: skip


def test_llmbar_natural(shared):
    found = _judged(*_llmbar(shared), pl.col("subset") == "Natural")
    for name, accuracy, consistent, first, second in (
        ("GPT-4", 0.955, 0.95, 3, 2), ("ChatGPT", 0.815, 0.71, 25, 4),
        ("Falcon", 0.74, 0.52, 48, 0),
    ):  # fmt: skip
        card = card_of(found, name)
        place = card.position
        assert card.accuracy.value == pytest.approx(accuracy, abs=1e-9)
        assert place.consistent.value == pytest.approx(consistent, abs=1e-9)
        assert (place.first, place.second) == (first, second)


def test_llmbar_adversarial(shared):
    found = _judged(*_llmbar(shared), pl.col("subset") != "Natural")
    assert card_of(found, "GPT-4").accuracy.value == pytest.approx(0.810, abs=5e-4)
    assert card_of(found, "ChatGPT").accuracy.value == pytest.approx(0.270, abs=5e-4)


def test_llmbar_by_prompt_subset_and_order(shared):
    """All 325 rows of the authors' own statistics, through the reader of files."""
    folder = shared / "judges/llmbar"
    expected = pl.read_csv(folder / "expected.csv.gz")
    checked = 0
    for prompt, rows in expected.group_by("prompt"):
        found = judge(
            folder / "items.csv.gz", folder / "verdicts.csv.gz", human=["gold"], swapped="column",
            where={"prompt": str(prompt[0])}, columns={"task": "subset"},
        ).verdicts  # fmt: skip
        gold = found.rater("gold").label
        assert gold is not None
        subset = np.array([found.items[code].rpartition("/")[0] for code in found.item])
        for row in rows.iter_rows(named=True):
            own, here = found.judge(row["judge"]), subset == row["subset"]
            right = [(said == gold)[here] for said in (own.label, own.other_order)]
            for hits, column in zip((*right, right[0] & right[1]), CORRECT, strict=True):
                share = float(row[column].rpartition("=")[2].strip(" %")) / 100
                assert hits.mean() == pytest.approx(share, abs=1e-9)
            place = swapped_position(own.label[here], own.other_order[here]).consistent
            n_equal = int(row["equal"].split(" / ")[0])
            unread = ((own.label < 0) & (own.other_order < 0))[here].sum()
            assert round(place.value * place.n) == n_equal - unread
            checked += 1
    assert checked == 325
