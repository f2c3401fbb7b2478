"""The registry of formats: what every format has to be."""

from __future__ import annotations

import pytest

from steelyard.formats import columns
from steelyard.formats.format import FileFormat, Format, TableFormat
from steelyard.formats.registry import FORMATS
from steelyard.formats.save import LOSSES, NAMED

TABLES = [form for form in FORMATS if isinstance(form, TableFormat)]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.to or form.name)
def test_a_format_says_what_it_is(form: Format) -> None:
    assert form.name
    assert set(form.drops) <= LOSSES.keys()
    assert isinstance(form, (FileFormat, TableFormat)) or form.to is not None


def test_names_are_taken_once() -> None:
    read = [form.name for form in FORMATS if isinstance(form, (FileFormat, TableFormat))]
    assert len(set(read)) == len(read)
    assert list(NAMED) == [form.to for form in FORMATS if form.to is not None]


@pytest.mark.parametrize("form", TABLES, ids=lambda form: form.name)
def test_marks_are_roles(form: TableFormat) -> None:
    known = {*columns.ASSIGNED, "rating", "places", "texts", "nested"}
    words = {word.removeprefix("-") for mark in form.marks for word in mark.split()}
    assert {word for word in words if not word.startswith(".")} <= known
