"""EvalSet: canonical order, immutability, selection, shapes, frames."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import SteelyardError, UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.joining import join
from steelyard.data.judgements import BattleLog, ErrorSpan, Rankings, Ratings
from steelyard.data.segments import Segments, natural_key
from steelyard.stats.permutation.corpus import CorpusStatistics

NAN = float("nan")


def small() -> EvalSet:
    return EvalSet(
        ("C", "A", "B"),
        Segments(
            ("10", "2", "1"),
            documents=("d2", "d1", "d1"),
            domains=("news", "chat", "chat"),
            sources=("s10", "s2", "s1"),
            references={"refA": ("r10", "r2", "r1")},
        ),
        {
            "m": ScoreTable(
                np.array([[30.0, 31, 32], [10, 11, NAN], [20, 21, 22]]),
                system_scores=np.array([3.0, 1, 2]),
                domain_scores=np.array([[31.5, 30], [11, 10], [21.5, 20]]),
                document_scores=np.array([[300.0, 310], [100, 110], [200, 210]]),
            ),
            "h": ScoreTable(np.zeros((3, 3)), kind="human"),
        },
        {"A": ("a10", "a2", None)},
        {"h": Ratings.from_labels(["A", "B"], ["1", "10"], ["x", "y"], np.array([5.0, NAN]))},
    )


def test_canonical_order_moves_everything_together():
    es = small()
    assert es.systems == ("A", "B", "C")
    assert es.segments.ids == ("1", "2", "10")
    np.testing.assert_array_equal(es["m"].values, [[NAN, 11, 10], [22, 21, 20], [32, 31, 30]])
    assert es["m"].system_scores.tolist() == [1, 2, 3]
    assert es.documents == ("d1", "d2")
    assert es.domains == ("chat", "news")
    # Document scores follow the order of documents, domain scores the sorted domains.
    assert es["m"].document_scores.tolist() == [[110, 100], [210, 200], [310, 300]]
    assert es["m"].domain_scores[0].tolist() == [11, 10]
    assert es.outputs["A"] == (None, "a2", "a10")
    assert es.segments.references["refA"] == ("r1", "r2", "r10")


@given(st.permutations(range(4)), st.permutations(range(5)))
def test_order_of_input_does_not_matter(rows, columns):
    systems, ids = ("A", "B", "b", "é"), ("1", "2", "10", "x1", "x02")
    values = np.arange(20.0).reshape(4, 5)
    plain = EvalSet(systems, Segments(ids), {"m": ScoreTable(values)})
    shuffled = EvalSet(
        tuple(systems[i] for i in rows),
        Segments(tuple(ids[j] for j in columns)),
        {"m": ScoreTable(values[np.ix_(rows, columns)])},
    )
    assert plain.identical(shuffled)


def test_documents_that_sorting_tears_apart_are_put_together():
    es = EvalSet((), Segments(("1", "2", "3", "4"), documents=("b", "a", "b", None)))
    assert es.segments.ids == ("1", "3", "2", "4")
    assert es.documents == ("b", "a")


def test_natural_order_of_any_label():
    labels = ["10", "9", "1", "01", "a10", "a9", "d1::2", "d1::10", "²", "9" * 5000, ""]
    assert sorted(labels, key=natural_key)[:6] == ["", "01", "1", "9", "10", "9" * 5000]
    assert sorted(["d1::10", "d1::2"], key=natural_key) == ["d1::2", "d1::10"]


def test_nothing_can_be_changed_and_a_pickle_holds_it_all():
    es = small()
    with pytest.raises(ValueError, match="read-only"):
        es["m"].values[0, 0] = 1
    with pytest.raises(TypeError, match="immutable"):
        es.scores["x"] = es["m"]  # type: ignore[index]
    with pytest.raises(TypeError, match="immutable"):
        es.scores.clear()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        es.systems = ()  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(es)).identical(es)


def test_select_systems_segments_and_scores():
    es = small().select(systems=["C", "A"], segments=["10", "1"], scores=["m"])
    assert es.systems == ("A", "C")
    assert es.segments.ids == ("1", "10")
    np.testing.assert_array_equal(es["m"].values, [[NAN, 10], [32, 30]])
    assert list(es.scores) == ["m"]
    assert es["m"].system_scores is None  # official scores hold for all segments only
    assert es["m"].document_scores is None  # d1 is no longer whole
    assert len(es.ratings["h"]) == 1


def test_select_domain_uses_the_stored_domain_scores():
    es = small().select(domain="chat")
    assert es.segments.ids == ("1", "2")
    assert es["m"].system_scores.tolist() == [11, 21.5, 31.5]
    assert es["m"].document_scores[:, 0].tolist() == [110, 210, 310]
    assert es["h"].system_scores is None


def test_selecting_everything_copies_nothing():
    es = small()
    assert es.select(systems=es.systems, segments=es.segments.ids) is es
    part = es.select(systems=["A", "B"])
    assert np.shares_memory(part["m"].values, es["m"].values)


def test_drop_is_the_complement_of_select():
    es = small()
    assert es.drop(systems=["B"]).identical(es.select(systems=["A", "C"]))
    assert es.drop(scores=["h"]).identical(es.select(scores=["m"]))
    assert es.drop() is es


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"systems": ["a"]}, "unknown system 'a'; did you mean 'A'"),
        ({"segments": ["3"]}, "unknown segment '3'"),
        ({"domain": "News"}, "unknown domain 'News'; did you mean 'news'"),
        ({"scores": ["M"]}, "unknown score 'M'"),
        ({"systems": "A"}, "expected a list of system names"),
    ],
)
def test_unknown_names_are_errors_with_a_hint(call, message):
    with pytest.raises(UsageError, match=message):
        small().select(**call)


def test_with_scores_adds_and_replaces():
    es = small().with_scores("new", [[1, 2, 3]] * 3, higher_is_better=False, uses=("src",))
    assert es["new"].oriented.tolist() == [[-1, -2, -3]] * 3
    again = es.with_scores("new", es["new"], kind="human")
    assert again.human == ("h", "new")
    assert es.metrics == ("m", "new")


def test_identical_tells_zero_from_minus_zero_and_takes_any_nan():
    one = ScoreTable(np.array([[0.0, NAN]]))
    other = ScoreTable(np.array([[-0.0, NAN]]))
    assert one.identical(ScoreTable(np.array([[0.0, -NAN]])))
    assert not one.identical(other)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_out_and_in_again(backend):
    import steelyard as sy

    es = small().select(scores=["m"])
    frame = es.to_frame(backend, texts=True)
    assert list(frame.columns[:2]) == ["system", "segment"]
    back = sy.load(frame)
    np.testing.assert_array_equal(back["m"].values, es["m"].values)
    assert back.segments == es.segments
    assert back.outputs == es.outputs


def test_ratings_are_kept_in_canonical_order():
    ratings = Ratings.from_labels(
        ["B", "A", "A"],
        ["1", "1", "1"],
        ["x", "y", "x"],
        np.array([1.0, 2, 3]),
        errors=((ErrorSpan("c", "major"),), (), None),
        item=("system", "repeat", "system"),
    )
    assert ratings.value.tolist() == [3, 2, 1]
    assert ratings.errors == (None, (), (ErrorSpan("c", "major"),))
    assert ratings.item == ("system", "repeat", "system")
    assert ratings.take(np.array([True, False, True])).raters == ("x",)
    assert ratings.select(systems=["B"]).systems == ("B",)


def test_a_set_does_not_share_the_callers_arrays():
    values, official = np.arange(12.0).reshape(3, 4), np.arange(3.0)
    es = EvalSet(
        ("A", "B", "C"),
        Segments(("1", "2", "3", "4")),
        {"m": ScoreTable(values, system_scores=official), "view": ScoreTable(values[:, ::1])},
    )
    hidden = values.view()
    hidden.flags.writeable = False  # read-only for us, not for the caller
    es = es.with_scores("hidden", hidden).with_scores("added", values)
    values[:], official[:] = 0, 0
    for name in es.scores:
        assert es[name].values.tolist() == np.arange(12.0).reshape(3, 4).tolist()
    assert es["m"].system_means().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        es["m"].values[0, 0] = 1


def test_judgements_do_not_share_the_callers_arrays():
    codes, value = np.zeros(2, np.int32), np.array([1.0, 2.0])
    ratings = Ratings(("A",), ("1",), ("r",), codes, codes, codes, value, seconds=value)
    log = BattleLog(("A", "B"), codes, np.ones(2, np.int32), value / 2, weight=value)
    ranks = Rankings(("A",), ("1",), ("r",), codes, codes, codes[:, None], value[:, None])
    counts = np.ones((1, 1, 2))
    stats = CorpusStatistics(counts, lambda sums: sums[..., 0])
    value[:], codes[:], counts[:] = 9, 9, 9
    assert ratings.value.tolist() == ratings.seconds.tolist() == [1, 2]
    assert log.weight.tolist() == [1, 2]
    assert ranks.rank.ravel().tolist() == [1, 2]
    assert ratings.system.tolist() == log.left.tolist() == ranks.system.ravel().tolist() == [0, 0]
    assert stats.values.ravel().tolist() == [1, 1]


Scores: Any = ScoreTable  # what the types forbid is what is tried
Items: Any = Segments
Set: Any = EvalSet
Rated: Any = Ratings
FOUND: Any = small()
ONE: Any = np.zeros((1, 1))
ZERO = np.zeros(1, np.int32)
RATED_B = Ratings.from_labels(["B"], ["1"], ["r"], np.zeros(1))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Scores(ONE, kind="humann"), "did you mean 'human'"),
        (lambda: Scores(ONE, kind=None), "unknown kind None"),
        (lambda: Scores(np.zeros(3)), "a matrix, got shape (3,)"),
        (lambda: Scores(None), "a matrix, got shape ()"),
        (lambda: Scores([["a"]]), "real numbers, found <U1"),
        (lambda: Scores([["1"]]), "real numbers, found <U1"),
        (lambda: Scores([[1, "b"]]), "real numbers"),
        (lambda: Scores(np.array([[1, "b"]], object)), "found 'b'"),
        (lambda: Scores([[1.0], [1.0, 2.0]]), "different lengths"),
        (lambda: Scores(ONE + 1j), "real numbers, found complex128"),
        (lambda: Scores(ONE + np.inf), "infinite"),
        (lambda: Scores(ONE, uses="src"), "uses: expected a list"),
        (lambda: Scores(ONE, higher_is_better="no"), "True or False"),
        (lambda: Scores(ONE, system_scores=ONE), "one row of numbers"),
        (lambda: Scores(ONE, domain_scores=np.zeros(1)), "domain_scores: expected a matrix"),
        (lambda: Scores(ONE, statistics=ONE), "expected CorpusStatistics"),
        (lambda: Items("abc"), "expected a list of texts"),
        (lambda: Items((1, 2)), "expected texts, found 1"),
        (lambda: Items(None), "expected a list of texts"),
        (lambda: Items(("1", "1")), "segment ids repeat"),
        (lambda: Items(("1",), documents="d"), "documents: expected a list"),
        (lambda: Items(("1",), sources=(3,)), "sources: expected texts"),
        (lambda: Items(("1",), references=("x",)), "got tuple"),
        (lambda: Set((1, 2), Segments(())), "expected texts, found 1"),
        (lambda: Set("AB", Segments(())), "expected a list of texts"),
        (lambda: Set(("A", "A"), Segments(())), "system names repeat"),
        (lambda: Set(("A",), ("1",)), "segments: expected Segments"),
        (lambda: Set(("A",), Segments(("1",)), {"m": ONE}), "expected ScoreTable"),
        (lambda: Set(("A",), Segments(("1",)), {1: ScoreTable(ONE)}), "names of scores"),
        (lambda: Set(("A",), Segments(("1",)), [ONE]), "scores: expected Mapping"),
        (lambda: Set(("A",), Segments(("1",)), outputs={"A": "x"}), "outputs['A']"),
        (lambda: Set(("A",), Segments(("1",)), ratings={"h": 1}), "expected Ratings"),
        (lambda: Set(("A",), Segments(("1",)), language_pair=3), "language_pair"),
        (lambda: Items(("1",), sources=("a", "b")), "1 segments but 2 sources"),
        (lambda: Items(("1",), metadata={"topic": ()}), "metadata topic"),
        (lambda: Segments(("1",)).take(np.array([0, 0])), "segment ids repeat"),
        (lambda: Set(("A",), Segments(("1",)), {"m": ScoreTable(np.zeros((2, 1)))}), "rows must"),
        (lambda: Set(("A",), Segments(("1",)), {" ": ScoreTable(ONE)}), "names of scores"),
        (lambda: Set(("A",), Segments(("1",)), outputs={"B": ("x",)}), "outputs of 'B'"),
        (lambda: Set(("A",), Segments(("1",)), outputs={"A": ("x", "y")}), "not 1 texts"),
        (lambda: Set(("A",), Segments(("1",)), ratings={"h": RATED_B}), "does not have"),
        (lambda: FOUND[5], "no score named '5'"),
        (lambda: FOUND[None], "no score named 'None'"),
        (lambda: FOUND[["m"]], "no score named"),
        (lambda: Rated(("A",), ("1",), ("r",), ZERO + 1, ZERO, ZERO, ONE[0]), "1 names"),
        (lambda: Rated(("A",), ("1",), ("r",), ONE[0], ZERO, ZERO, ONE[0]), "expected codes"),
        (lambda: Rated((1,), ("1",), ("r",), ZERO, ZERO, ZERO, ONE[0]), "names of systems"),
        (lambda: Rated(("A",), ("1",), ("r",), ZERO, ZERO, ZERO, ONE), "value: expected one row"),
        (lambda: BattleLog(("A", "B"), ZERO, ZERO + 2, ONE[0]), "right: codes 2 to 2"),
        (lambda: BattleLog(("A", "B"), ZERO, ZERO + 1, ONE[0], unit=ZERO), "or neither"),
        (lambda: Rankings(("A",), ("1",), ("r",), ZERO, ZERO, ZERO, ONE), "system: expected a mat"),
    ],
)  # fmt: skip
def test_constructors_refuse_what_can_not_be(make, said):
    with pytest.raises(SteelyardError) as caught:
        make()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_masked_cells_and_none_are_missing():
    masked = np.ma.array([[1.0, 99.0]], mask=[[False, True]])
    listed: Any = [[1.0, None]]
    for values in (masked, listed):
        np.testing.assert_array_equal(ScoreTable(values).values, [[1.0, NAN]])
    assert ScoreTable(np.array([[True, False]])).values.tolist() == [[1, 0]]


def torn() -> EvalSet:
    """A set in whose canonical order a document is put together again."""
    return EvalSet(
        ("B", "A"),
        Segments(("1", "2", "3"), documents=("x", "y", "x"), domains=("n", "n", "s")),
        {
            "m": ScoreTable(np.array([[1.0, 2, 3], [4, 5, 6]])),
            "d": ScoreTable(
                np.array([[1.0, 2, 3], [4, 5, np.nan]]),
                "human",
                system_scores=np.array([1.0, 2.0]),
                domain_scores=np.array([[1.0, 2], [3, 4]]),
                document_scores=np.array([[1.0, 2], [3, 4]]),
            ),
        },
        {"A": ("a", "b", "c")},
        notes=("one",),
    )


@given(
    systems=st.none() | st.lists(st.sampled_from("AB"), unique=True),
    segments=st.none() | st.lists(st.sampled_from("123"), unique=True),
    scores=st.none() | st.lists(st.sampled_from("md"), unique=True),
    domain=st.none() | st.just("n"),
)
def test_parts_are_what_a_check_would_give(systems, segments, scores, domain):
    part = torn().select(systems=systems, segments=segments, scores=scores, domain=domain)
    whole = replace(part, scores={name: replace(table) for name, table in part.scores.items()})
    assert part.identical(whole)
    assert (
        part.segments.ids == Segments(part.segments.ids, part.segments.documents).canonical()[0].ids
    )
    for mapping in (part.scores, part.outputs, part.ratings, part.segments.references):
        assert list(mapping) == sorted(mapping)
    for table in part.scores.values():
        for name in ("values", "system_scores", "domain_scores", "document_scores"):
            array = getattr(table, name)
            assert array is None or not array.flags.writeable


def test_further_columns_follow_every_selection_and_join():
    segments = Segments(("1", "2", "3"), metadata={"topic": ("x", "y", None)})
    es = EvalSet(("A",), segments, {"m": ScoreTable(np.zeros((1, 3)))})
    assert es.select(segments=["3", "2"]).segments.metadata == {"topic": ("y", None)}
    other = EvalSet(("A",), Segments(("3", "1"), metadata={"topic": ("z", "x")}))
    assert join([es, other]).segments.metadata == {"topic": ("x", "y", "z")}
    assert es.columns()["topic"] == ["x", "y", None]
