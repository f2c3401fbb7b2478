"""What tests of KoBE share: the authors' annotations, and the linker of the embedded base."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.formats.entities import EntityAnnotations
from steelyard.kobe.annotations import read_annotations
from steelyard.kobe.linking.linker import DictionaryLinker


class Rows:
    """A source that is a list, which may be interrupted."""

    name, version, licence = "rows", "1", "none"

    def __init__(self, rows, stop_at=None):
        self.data, self.stop_at = rows, stop_at

    def rows(self):
        for number, row in enumerate(self.data, 1):
            if number == self.stop_at:
                raise KeyboardInterrupt
            yield row


@pytest.fixture(scope="session")
def ru_en(shared: Path) -> EntityAnnotations:
    """The authors' annotations of WMT19 ru-en: a reference and eight systems."""
    return read_annotations(shared / "wmt19-metrics" / "kobe-entities.ru-en.jsonl.gz")


@pytest.fixture(scope="session")
def linker() -> DictionaryLinker:
    """The linker that is used unless another is named."""
    return DictionaryLinker()
