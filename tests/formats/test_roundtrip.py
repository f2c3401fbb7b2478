"""An EvalSet written as a folder or as a native file comes back bit for bit, or is refused."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mtme_folders import write_mtme
from steelyard import EvalSet, Ratings, ScoreTable, Segments, load, save
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.data.judgements import ErrorSpan
from steelyard.demo.folder import write_files
from steelyard.formats.folders import native

Fresh = Callable[[], Path]
nan = float("nan")
PHASES = (Phase.generate, Phase.shrink)  # to explain a failure takes minutes here

SYSTEMS = ["A", "B", "a b", "v1.0", "GPT-4-5shot", "Sys.", "模型", " x ", "A-src", "NA", "1"]
IDS = ["0", "1", "2", "10", "d1::2", "seg 3", "007", "a.b", "ä"]
ODD_TEXTS = [
    "", " ", "trailing ", " leading", "\ufeffmark", "a\rb", "a\r", "a\nb", "a\u2028b", "a\tb",
    "[No translation supplied]", "None", "{}", '"quoted"', "a\x85", "\x0b", "a\\nb", "🦀", "null",
    "[No translation supplied] ", "a\xa0", "\u3000", "a\0b", "\x1c",
]  # fmt: skip
some_text = st.sampled_from(ODD_TEXTS) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=6
)
number = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 0.0, 5e-324])
cell = st.just(nan) | number


def _column(draw: st.DrawFn, n: int, of: st.SearchStrategy[Any]) -> tuple[Any, ...]:
    return tuple(draw(st.lists(of, min_size=n, max_size=n)))


def _array(draw: st.DrawFn, *shape: int, of: st.SearchStrategy[float] = cell) -> Any:
    size = int(np.prod(shape))
    return np.array(_column(draw, size, of), dtype=np.float64).reshape(shape)


@st.composite
def segments(draw: st.DrawFn) -> Segments:
    plain = draw(st.booleans())
    ids = (
        tuple(str(i) for i in range(draw(st.integers(1, 4))))
        if plain
        else tuple(draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True)))
    )
    n = len(ids)
    documents = st.sampled_from(["d1", "d 2", "ä", "unknown", "", None])
    domains = st.sampled_from(["news", "user talk", "x", "unknown", None])
    texts = st.none() | some_text
    references = draw(st.lists(st.sampled_from(["refA", "refB", "gold"]), max_size=2, unique=True))
    return Segments(
        ids,
        _column(draw, n, documents) if draw(st.booleans()) else None,
        _column(draw, n, domains) if draw(st.booleans()) else None,
        _column(draw, n, texts) if draw(st.booleans()) else None,
        {name: _column(draw, n, texts) for name in references},
    )


@st.composite
def score(draw: st.DrawFn, n: int, seg: Segments, name: str) -> ScoreTable:
    kind: Any = draw(st.sampled_from(["human", "metric"]))
    uses = draw(st.sampled_from([(), ("refA",), ("src",)]))
    told = {"x-src": ("src",), "x-refA": ("refA",), "x-all": ("all",)}
    domains = len({d for d in seg.domains or () if d is not None})
    documents = len({d for d in seg.documents or () if d is not None})
    return ScoreTable(
        _array(draw, n, len(seg)),
        kind,
        draw(st.booleans()),
        told.get(name, uses) if kind == "metric" else (),
        _array(draw, n) if draw(st.booleans()) else None,
        _array(draw, n, domains) if domains and draw(st.booleans()) else None,
        _array(draw, n, documents) if documents and draw(st.booleans()) else None,
    )  # fmt: skip


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
spans = st.builds(
    ErrorSpan,
    names,
    names,
    st.none() | st.integers(0, 99),
    st.none() | st.integers(0, 99),
    st.none() | number,
    st.booleans(),
)


@st.composite
def ratings(draw: st.DrawFn, systems: tuple[str, ...], ids: tuple[str, ...]) -> Ratings:
    n = draw(st.integers(1, 8))
    raters = st.sampled_from(["r1", "r2", "rater 3", "ä"])
    listed = st.none() | st.lists(spans, max_size=2).map(tuple)
    errors = _column(draw, n, listed)
    items = _column(draw, n, st.sampled_from(["system", "repeat", "ref", "bad-ref"]))
    units = _column(draw, n, st.sampled_from(["", "u1", "hit 2"]))
    return Ratings.from_labels(
        _column(draw, n, st.sampled_from(systems)),
        _column(draw, n, st.sampled_from(ids)),
        _column(draw, n, raters),
        _array(draw, n),
        errors=None if all(e is None for e in errors) else errors,
        item=items if draw(st.booleans()) and set(items) != {"system"} else None,
        unit=units if draw(st.booleans()) and any(units) else None,
    )


@st.composite
def sets(draw: st.DrawFn) -> EvalSet:
    seg = draw(segments())
    systems = tuple(draw(st.lists(st.sampled_from(SYSTEMS), min_size=1, max_size=4, unique=True)))
    scores = draw(
        st.lists(
            st.sampled_from(["mqm", "chrF", "x-src", "x-refA", "x-all", "a b", "v1.0", "da.z"]),
            max_size=3,
            unique=True,
        )
    )
    rated = draw(st.lists(st.sampled_from(["mqm", "da.z", "esa"]), max_size=2, unique=True))
    written = draw(st.lists(st.sampled_from(systems), unique=True))
    outputs = {name: _column(draw, len(seg), st.none() | some_text) for name in written}
    return EvalSet(
        systems,
        seg,
        {name: draw(score(len(systems), seg, name)) for name in scores},
        {name: texts for name, texts in outputs.items() if any(t is not None for t in texts)},
        {name: draw(ratings(systems, seg.ids)) for name in rated},
        language_pair="en-de",
    )


@pytest.mark.thorough
@settings(max_examples=100, phases=PHASES, report_multiple_bugs=False)
@given(sets())
def test_any_set_comes_back_from_a_native_file(fresh: Fresh, es: EvalSet) -> None:
    path = fresh() / "set.parquet"
    save(es, path)
    assert_same(native.read(path), es)


def assert_same(found: EvalSet, es: EvalSet) -> None:
    """Compare part by part, so that a failure says which part differs."""
    assert found.systems == es.systems
    assert found.segments == es.segments
    assert found.outputs == es.outputs
    assert found.scores.keys() == es.scores.keys()
    for name, table in es.scores.items():
        other = found.scores[name]
        assert (other.kind, other.higher_is_better, other.uses) == (
            table.kind,
            table.higher_is_better,
            table.uses,
        )
        assert other.identical(table), name
    assert found.ratings.keys() == es.ratings.keys()
    for name, rows in es.ratings.items():
        for part in ("systems", "segments", "raters", "errors", "item", "unit"):
            assert getattr(found.ratings[name], part) == getattr(rows, part), part
        value = found.ratings[name].value
        assert np.array_equal(value, rows.value, equal_nan=True)
        known = ~np.isnan(value)
        assert np.array_equal(np.signbit(value[known]), np.signbit(rows.value[known]))
        assert found.ratings[name].identical(rows), name
    assert found.identical(es)


# Cases that a random set hardly ever is.

VALUES = np.array([[1.0, 2.0], [3.0, 4.0]])


def base(**changes: Any) -> EvalSet:
    plain = Segments(("0", "1"), ("d", "d"), ("n", "n"))
    es = EvalSet(
        ("A", "B"),
        plain,
        {"mqm": ScoreTable(VALUES, "human"), "x-src": ScoreTable(VALUES, uses=("src",))},
        language_pair="en-de",
    )
    return replace(es, **changes)


def rated(*raters: str, **more: Any) -> Ratings:
    n = len(raters)
    return Ratings.from_labels(["A"] * n, ["0"] * n, raters, np.arange(float(n)), **more)


def described(**columns: Any) -> Segments:
    known = {"documents": ("d", "e"), "domains": ("n", "m")} | columns
    return Segments(("0", "1"), **known)


CASES: dict[str, EvalSet] = {
    "plain": base(),
    "a score without any value": base().with_scores("y-src", VALUES * nan, uses=("src",)),
    "system scores without any value": base().with_scores(
        "y-src", VALUES, uses=("src",), system_scores=np.array([nan, nan])
    ),
    "a system without any score": base(
        scores={"x-src": ScoreTable(np.array([[1.0, 2.0], [nan, nan]]), uses=("src",))}
    ),
    "systems and nothing else": base(scores={}),
    "segments and nothing else": EvalSet((), described(), language_pair="en-de"),
    "no segments": EvalSet(
        ("A", "B"),
        Segments(()),
        {"x-src": ScoreTable(np.empty((2, 0)), uses=("src",), system_scores=np.array([1.0, nan]))},
        language_pair="en-de",
    ),
    "raters with odd names": base(ratings={"mqm": rated("r\r", "\r", " ", "None", "\ufeffr", "")}),
    "errors of some ratings only": base(
        ratings={"mqm": rated("r1", "r2", errors=(None, (ErrorSpan("c", "major", 0, 3, 5.0),)))}
    ),
    "ratings of minus zero": base(
        ratings={"mqm": Ratings.from_labels(["A"], ["0"], ["r"], np.array([-0.0]))}
    ),
    "outputs without any text": base(outputs={"A": (None, None)}),
    "names with marks": base(systems=("\ufeffa", "\ufeffb")),
    "names with carriage returns": base(systems=("a\rb", "b\r")),
    "torn documents": EvalSet(
        ("A",),
        Segments(("0", "1", "2"), ("d", "e", "d")),
        {
            "x-src": ScoreTable(
                np.array([[1.0, 2.0, 3.0]]), uses=("src",), document_scores=np.array([[5.0, 6.0]])
            )
        },
        language_pair="en-de",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_odd_set_comes_back(tmp_path: Path, case: str) -> None:
    es = CASES[case]
    path = tmp_path / "set.parquet"
    try:
        save(es, path)
    except UsageError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        assert case == "segments and nothing else"
        assert not list(tmp_path.iterdir())
    else:
        assert_same(native.read(path), es)


@pytest.mark.parametrize("change", ["plain", "texts", "levels"])
def test_folder_gives_what_was_written(tmp_path: Path, change: str) -> None:
    es = base(segments=described(sources=("a", "b"), references={"refA": ("a", None)}))
    if change == "texts":
        es = replace(es, outputs={"A": ("a", None), "B": ("b", "c")})
    if change == "levels":
        es = es.with_scores("y-refA", VALUES, uses=("refA",), system_scores=np.array([1.0, nan]))
    assert_same(load(write_mtme(es, tmp_path / "set")), es)


def test_load_gives_what_the_reader_gives(tmp_path: Path) -> None:
    es = base(ratings={"mqm": rated("r1")}, outputs={"A": ("a", None)})
    save(es, tmp_path / "set.parquet")
    assert_same(load(tmp_path / "set.parquet"), es)
    assert_same(load(tmp_path / "set.parquet", tmp_path / "set.parquet"), es)


def test_native_file_is_a_long_table_for_others(tmp_path: Path) -> None:
    import polars as pl

    save(base(), tmp_path / "set.parquet")
    frame = pl.read_parquet(tmp_path / "set.parquet")
    assert frame.select("system", "segment", "mqm").rows() == [
        ("A", "0", 1.0),
        ("A", "1", 2.0),
        ("B", "0", 3.0),
        ("B", "1", 4.0),
    ]


def test_ratings_tell_minus_zero_from_zero() -> None:
    plus, minus = (Ratings.from_labels(["A"], ["0"], ["r"], np.array([x])) for x in (0.0, -0.0))
    assert not plus.identical(minus)
    assert plus.identical(plus)


@pytest.mark.parametrize("form", ["long", "text"])
def test_scores_of_whole_systems_have_no_segments_to_write(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "systems.csv", tmp_path / "out.jsonl"
    table.write_text("system,BLEU\nA,32\nB,30\n")
    assert run(["data", "convert", str(table), str(out), "--to", form, "--lp", "en-de"]) == 2
    assert capsys.readouterr().err.count("error:") == 1
    assert not out.exists()
    assert run(["data", "convert", str(table), str(out), "--to", "system"]) == 0


def test_a_full_disk_names_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", None)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises((InputError, OSError)) as error:
        write_files(tmp_path / "demo")
    named = str(getattr(error.value, "path", None) or getattr(error.value, "filename", None))
    assert named.startswith(str(tmp_path / "demo"))
