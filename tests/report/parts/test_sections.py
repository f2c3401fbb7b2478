"""Domains, distributions and lengths in the page: what is said of hand-made sets."""

from __future__ import annotations

import re

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison.results import Comparison
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.report import sections
from steelyard.report.page import make_report
from steelyard.report.parts import bydomain, distributions, lengths
from steelyard.stats.arrays import Floats


@pytest.fixture(autouse=True)
def no_charts(monkeypatch) -> None:
    """As if the plotting libraries were not installed, which saves their time."""
    monkeypatch.setattr(sections, "without_figures", lambda: ["the page has no figures"])


def made(
    values: Floats,
    *,
    topics: tuple[str | None, ...] | None = None,
    sources: tuple[str | None, ...] | None = None,
    higher: bool = True,
) -> EvalSet:
    n = values.shape[1]
    return EvalSet(
        tuple("ABCDE"[: len(values)]),
        Segments(tuple(f"{k:03}" for k in range(n)), domains=topics, sources=sources),
        {"s": ScoreTable(values, kind="human", higher_is_better=higher)},
    )


def compared(es: EvalSet) -> Comparison:
    return sy.compare(es, "s", n_bootstrap=20)


def part(html: str, name: str) -> str:
    found = re.search(f'<section id="{name}".*?</section>', html, re.DOTALL)
    return "" if found is None else found[0]


TOPICS = ("news",) * 30 + ("talks",) * 30


def planted(seed: int = 0) -> Floats:
    """A leads in news, B in talks."""
    values = np.random.default_rng(seed).normal(size=(3, 60))
    values[0, :30] += 4
    values[1, 30:] += 4
    return values


def test_a_domain_that_matters_is_told():
    es = made(planted(), topics=TOPICS)
    html = part(make_report(es, "s", n_bootstrap=20).html, "domains")
    assert "significantly one way here and the other way there" in html
    assert re.search(r"<li>[AB] is significantly better than [AB] in (news|talks)", html)
    assert 'data-tip="news, A: rank 1 of 3, mean' in html


def test_noise_is_not_called_a_domain():
    values = np.random.default_rng(4).normal(size=(3, 60)) + np.array([[0.0], [3.0], [6.0]])
    html = part(make_report(made(values, topics=TOPICS), "s", n_bootstrap=20).html, "domains")
    assert "C ranks first in both domains." in html
    assert "All 3 pairs of systems are in the same order in every domain." in html


@pytest.mark.parametrize(
    "topics",
    [None, ("news",) * 60, ("news",) * 55 + ("talks",) * 5, (None,) * 60],
    ids=["unknown", "one", "one too small", "none"],
)
def test_no_section_without_two_domains(topics):
    assert not part(
        make_report(made(planted(), topics=topics), "s", n_bootstrap=20).html, "domains"
    )


def test_small_domains_are_named_and_gaps_are_no_numbers():
    values = planted()
    values[2, :30] = np.nan
    topics = (*TOPICS[:-4], "rare", "rare", None, None)
    es = made(values, topics=topics)
    found = compared(es)
    groups, left_out = bydomain.domains_of(es, found)
    assert {name: len(own) for name, own in groups.items()} == {"news": 30, "talks": 26}
    assert left_out == ["rare (2 segments)"]
    html = part(make_report(es, "s", n_bootstrap=20).html, "domains")
    assert "news, C: no scores" in html
    assert "nan" not in html.lower()


def test_less_is_better_in_a_domain_too():
    es = made(-planted(), topics=TOPICS, higher=False)
    html = part(make_report(es, "s", n_bootstrap=20).html, "domains")
    assert 'data-tip="news, A: rank 1 of 3, mean' in html
    assert "better is to the left" in html


def test_ties_and_mass_points_are_seen():
    rng = np.random.default_rng(0)
    values = np.where(rng.random((3, 80)) < 0.4, 0.0, -np.round(rng.gamma(2, 3, (3, 80)), 2))
    told = distributions.sentences(values, ["A", "B", "C"], "s", higher=True)
    share = 100 * (values == 0).mean()
    assert told[1].startswith(
        f"{share:.0f} % of the scores are 0, the highest value there is: from"
    )
    strips = distributions.pictures(values, ["A", "B", "C"], "s")
    assert strips.heads[-1] == "at 0"
    for (_, cells), row in zip(strips.rows, values, strict=True):
        assert cells[-1].text == f"{100 * (row == 0).mean():.1f} %"
        assert cells[0].bars.count("M") > 5
        assert "half of them between" in cells[0].tip


def test_few_values_have_a_bar_each():
    values = np.array([[1.0, 2, 2, 5, 5, 5], [1.0, 1, 1, 2, 5, 5]])
    strips = distributions.pictures(values, ["A", "B"], "s")
    assert [cells[0].bars.count("M") for _, cells in strips.rows] == [3, 3]


def test_zero_and_one_are_a_share():
    values = np.array([[1.0, 0, 1, 1], [0.0, 0, np.nan, 1]])
    strips = distributions.pictures(values, ["A", "B"], "ok")
    assert [cells[0].share for _, cells in strips.rows] == [75.0, 33.3]
    assert strips.heads == ("system", "scores", "share of 1")
    assert [cells[1].text for _, cells in strips.rows] == ["75.0 %", "33.3 %"]
    (told,) = distributions.sentences(values, ["A", "B"], "ok", higher=True)
    assert told == "Every ok is 0 or 1; the share of 1 goes from 33.3 % (B) to 75.0 % (A)."
    (same,) = distributions.sentences(values[:, :2], ["A", "A2"], "ok", higher=True)[:1]
    assert "from 0.0 % (A2) to 50.0 % (A)" in same


def test_one_value_tells_nothing():
    ones = np.ones((2, 4))
    (told,) = distributions.sentences(ones, ["A", "B"], "s", higher=True)
    assert told == "Every score is 1: nothing tells the systems apart."
    assert distributions.pictures(ones, ["A", "B"], "s").rows[0][1][0].bars
    assert "Every score is 1" in part(make_report(made(ones), n_bootstrap=10).html, "distributions")


def test_a_system_without_scores_has_none_and_no_number_is_made_up():
    values = np.array([[1.0, 2, 3, 4, 7], [np.nan] * 5])
    strips = distributions.pictures(values, ["A", "B"], "s")
    assert [cell.text for cell in strips.rows[1][1]] == ["no scores", "--", "--", "--"]
    assert distributions.quantiles(values, ["A", "B"], "s").records()[1]["50 %"] is None


def test_where_systems_differ():
    rng = np.random.default_rng(1)
    base = -rng.gamma(1, 1, (2, 200))
    base[1] *= 6
    (told,) = [
        t for t in distributions.sentences(base, ["A", "B"], "s", higher=True) if "worst" in t
    ]
    assert "more on their worst outputs than on their best: the score below which" in told
    (turned,) = [t for t in distributions.sentences(-base, ["A", "B"], "s", higher=False)
                 if "worst" in t]  # fmt: skip
    assert "the score above which a tenth" in turned


def texts(sizes: np.ndarray) -> tuple[str, ...]:
    return tuple("x" * int(n) for n in sizes)


def test_long_segments_are_harder_and_favour_a_system():
    rng = np.random.default_rng(0)
    sizes = rng.permutation(np.arange(1, 151))
    values = rng.normal(size=(3, 150)) - 0.05 * sizes
    values[0] += 0.06 * (sizes - 75)
    html = part(make_report(made(values, sources=texts(sizes)), n_bootstrap=20).html, "length")
    assert "Long segments score lower, that is, they are harder" in html
    assert re.search("From the shortest to the longest fifth, A gains on (B and C|C and B)", html)
    assert "1 to 30 (30 segments)" in html


def test_lower_scores_may_be_better_and_then_long_is_easier():
    rng = np.random.default_rng(0)
    sizes = np.arange(1, 121)
    values = rng.normal(size=(2, 120)) - 0.05 * sizes
    es = made(values, sources=texts(sizes), higher=False)
    told = " ".join(lengths.length_sentences(es, compared(es), *lengths.length_groups(
        np.arange(1.0, 121.0))))  # fmt: skip
    assert "they are easier" in told
    assert "counts errors" not in told


def test_noise_is_not_called_length():
    rng = np.random.default_rng(3)
    es = made(rng.normal(size=(3, 120)), sources=texts(rng.permutation(120) + 1))
    html = part(make_report(es, n_bootstrap=20).html, "length")
    assert "Whether long segments are harder is not decided" in html
    assert "by more than noise explains" in html


def test_how_often_chance_is_called_length():
    harder = gains = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        es = made(rng.normal(size=(4, 100)))
        found = sy.compare(es, "s", intervals=None, by="mean")
        groups, name = lengths.length_groups(rng.permutation(np.arange(1.0, 101.0)))
        told = lengths.length_sentences(es, found, groups, name)
        harder += told[0].startswith("Long")
        gains += "gains on" in told[1]
    assert harder <= 20  # 10 are expected; more than 20 once in a thousand
    assert gains <= 20


def test_no_section_without_texts_or_with_few_segments():
    values = np.random.default_rng(0).normal(size=(2, 60))
    assert not part(make_report(made(values), n_bootstrap=20).html, "length")
    few = made(values[:, :20], sources=texts(np.arange(1, 21)))
    assert not part(make_report(few, n_bootstrap=20).html, "length")
    same = made(values, sources=texts(np.full(60, 5)))
    assert not part(make_report(same, n_bootstrap=20).html, "length")


def test_outputs_stand_in_for_sources_and_gaps_take_no_part():
    values = np.random.default_rng(0).normal(size=(2, 60))
    es = EvalSet(
        ("A", "B"),
        Segments(tuple(f"{k:03}" for k in range(60))),
        {"s": ScoreTable(values)},
        {"A": ("xx", None, *("x" * k for k in range(58))), "B": ("xxxx", *["y"] * 59)},
    )
    known = lengths.text_lengths(es)
    assert known is not None
    assert known[1].startswith("the outputs")
    assert known[0][:4].tolist() == [3.0, 1.0, 0.5, 1.0]
    groups, name = lengths.length_groups(np.array([np.nan, *range(35)]))
    assert name == "third"
    assert sum(len(own) for own in groups.values()) == 35
    assert 0 not in np.concatenate(list(groups.values()))
