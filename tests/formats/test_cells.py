"""One idea of a number and of a gap: the Python rule, the fast one, and the SQL say the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.formats import duck
from steelyard.formats.cells import (
    GAPS,
    fast_numbers,
    label,
    numbers_of,
    parse_number,
    sql_gap,
    sql_number,
)

odd = st.sampled_from(
    ["inf", "-inf", "Infinity", "NAN", "null", "1_000", "+-1", "0x10", "1e", ".", "1.", ".5", "+.5",
     " 1", "1\t", "\u00a01", "１", "1,5", "1e5", "1E-400", "-0", "-0.0", "5e-324", "", " ", "true"]
)  # fmt: skip
texts = st.one_of(
    odd,
    st.sampled_from(sorted(GAPS)),
    st.text("0123456789+-.eE \t_nNaAinfx", max_size=12),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(max_size=6).filter(lambda text: "\0" not in text and text.isprintable()),
)


def said_in_sql(cells: list[str]) -> Any:
    rules = f"{sql_number('t')}, {sql_gap('t')}"
    with duck.connect() as connection:
        sql = f"SELECT {rules} FROM (SELECT unnest(?) AS t)"
        return connection.execute(sql, [cells]).fetchall()


@given(cells=st.lists(texts, min_size=1, max_size=40))
def test_sql_and_python_agree(cells):
    for text, (number, gap) in zip(cells, said_in_sql(cells), strict=True):
        expected = parse_number(text)
        assert gap == (text in GAPS)
        if expected is None or math.isnan(expected):
            assert number is None
            assert gap == (expected is not None)
        elif math.isfinite(expected):
            assert np.float64(number).tobytes() == np.float64(expected).tobytes()
        else:  # which every reader refuses
            assert number is None or math.isinf(number)


@given(cells=st.lists(texts, min_size=1, max_size=8))
def test_the_fast_rule_is_the_careful_one(cells):
    fast = fast_numbers(cells)
    careful = [parse_number(cell) for cell in cells]
    if fast is not None:
        assert None not in careful
        assert fast.tobytes() == np.array(careful, dtype=np.float64).tobytes()
    found = numbers_of(cells)
    assert (found is None) == (None in careful)


@pytest.mark.parametrize(
    ("cell", "name"),
    [("a", "a"), (1, "1"), (1.0, "1"), (1.5, "1.5"), (np.int64(3), "3"), (True, None),
     (float("nan"), None), (None, None), ([1], None)],
)  # fmt: skip
def test_names(cell, name):
    assert label(cell) == name
