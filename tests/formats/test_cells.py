"""One idea of a number and of a gap: the careful rule and the fast one say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.formats.cells import (
    GAPS,
    fast_numbers,
    label,
    numbers_of,
    parse_number,
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
