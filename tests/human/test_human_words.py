"""What human scores say in words: hand-made cases for each sentence, and random ones for all."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from steelyard.core.display import Summary
from steelyard.core.errors import SteelyardError
from steelyard.core.table import Column, Table
from steelyard.human.ordering import Rule
from steelyard.human.results import HumanScores, SystemScore

NAN = float("nan")


def system(name: str, score: float, rank: int | None, **more: Any) -> SystemScore:
    return SystemScore(name, score, score, rank, n_segments=10, n_ratings=20, **more)


def found(*systems: SystemScore, **more: Any) -> HumanScores:
    return HumanScores("da", systems, "da_z", **more)


def raters(n: int) -> dict[str, Table]:
    return {"raters": Table("", (Column("rater"),), tuple((f"r{i}",) for i in range(n)))}


def agreeing(value: float, ci: list[float] | None) -> dict[str, Any]:
    return {"da_z": {"alpha_interval": {"value": value, "ci": ci, "n_units": 5}}}


def checked(told: Summary) -> None:
    assert told.sentences()
    assert 1 <= len(told.brief()) <= 3
    for text in told.sentences():
        assert text.endswith(".")
        assert "nan" not in text.replace("significan", "")


def test_a_system_alone_in_the_first_cluster_is_the_best():
    p = np.array([[1.0, 0.01], [0.99, 1.0]])
    told = found(
        system("A", 0.3, 1, cluster=1), system("B", 0.1, 2, cluster=2), rule=Rule(), p=p
    ).words()
    assert told.settled == (
        (
            "A is the best of 2 systems by da_z: it is alone in the first cluster "
            "(rank-sum test, p < 0.05)."
        ),
    )
    assert told.undecided == ()


def test_a_cluster_of_several_leaves_open_who_is_best():
    p = np.array([[1.0, 0.2, 0.04], [0.8, 1.0, 0.1], [0.96, 0.9, 1.0]])
    rows = [system(name, 0.3, i + 1, cluster=1) for i, name in enumerate("ABC")]
    told = found(*rows, rule=Rule(), p=p).words()
    assert told.settled[0].startswith("A ranks first of 3 systems by da_z, in a first cluster of 3")
    assert told.undecided[0] == "The tests leave open whether A is better than B."
    assert "does not make the systems of a cluster equally good" in told.undecided[1]


def test_a_tie_for_the_first_place_is_named():
    told = found(system("A", 0.3, 1), system("B", 0.3, 1), system("C", 0.1, 3)).words()
    assert told.settled[0] == "A and B share the first place of 3 systems by da_z."
    assert told.undecided[0].startswith("Which of A and B is best is not decided")


def test_without_clusters_nobody_is_called_better():
    told = found(system("A", 0.3, 1), system("B", 0.1, 2)).words()
    assert told.settled[0] == "A ranks first of 2 systems by da_z."
    assert told.undecided[0] == "No pair was tested, so that the lead of A may be chance."
    assert not any("better" in text for text in told.sentences())


def test_one_system_and_no_score_are_said():
    assert found(system("A", 0.3, 1)).words().undecided == (
        "A is the only system: there is nothing to compare.",
    )
    told = found(system("A", NAN, None), system("B", NAN, None)).words()
    assert told.undecided == ("No system has a score by da_z.",)
    assert found().words().undecided == ("No system has a score by da_z.",)


def test_several_sets_have_a_first_system_each():
    told = found(system("x:A", 0.3, 1), system("x:B", 0.1, 2), system("y:A", 0.2, 1)).words()
    assert told.settled[0] == "First in their sets by da_z are x:A and y:A."


def test_what_it_rests_on_and_how_far_raters_agree():
    rows = (system("A", 0.3, 1), system("B", 0.1, 2))
    told = found(*rows, parts=raters(3), agreement=agreeing(0.4512, [0.4, 0.5])).words()
    assert told.sureness == (
        "This rests on 40 ratings by 3 raters, who agree at 0.451 (Krippendorff's alpha).",
        (
            "Krippendorff's alpha is 1 where raters agree fully, and 0 by chance; its 95 % "
            "interval is 0.400 to 0.500."
        ),
    )
    silent = found(*rows, parts=raters(3), agreement=agreeing(NAN, None)).words()
    assert silent.sureness == (
        "This rests on 40 ratings by 3 raters; how far raters agree is not known.",
    )
    gone = found(*rows, removed_raters=("x",)).words()
    assert gone.sureness[-1] == "1 rater failed the checks and is left out."


@settings(max_examples=40)
@given(
    st.lists(st.one_of(st.integers(-2, 2).map(float), st.just(NAN)), max_size=5),
    st.booleans(),
    st.sampled_from([NAN, 0.0, -0.2, 0.9]),
)
def test_words_never_fail_on_made_up_results(scores, tested, alpha):
    known = sorted((x for x in scores if x == x), reverse=True)
    rows = [
        system("ABCDE"[i], x, 1 + known.index(x), cluster=1 + i // 2 if tested else None)
        for i, x in enumerate(known)
    ]
    rows += [system(f"Z{i}", NAN, None) for i in range(len(scores) - len(known))]
    p = np.full((len(rows), len(rows)), np.nan)
    made = found(
        *rows, rule=Rule() if tested else None, p=p if tested else None,
        agreement=agreeing(alpha, [NAN, NAN]), parts=raters(len(rows)),
    )  # fmt: skip
    checked(made.words())
    assert len(repr(made)) < 200


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sampled_from("AB"), st.sampled_from("123"), st.sampled_from("rst"),
                  st.integers(0, 100)),
        min_size=1, max_size=25,
    )
)  # fmt: skip
def test_words_never_fail_on_ratings(rows):
    systems, segments, who, values = zip(*rows, strict=True)
    ratings = sy.Ratings.from_labels(systems, segments, who, np.array(values, dtype=float))
    try:
        made = sy.human_scores(ratings, protocol="da", n_bootstrap=20)
    except SteelyardError:
        return
    checked(made.words())
