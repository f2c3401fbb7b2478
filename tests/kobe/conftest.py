"""What tests of KoBE share: the authors' annotations, and the linker of the embedded base."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.formats.entities import EntityAnnotations
from steelyard.kobe.annotations import read_annotations
from steelyard.kobe.linking.linker import DictionaryLinker


@pytest.fixture(scope="session")
def ru_en(shared: Path) -> EntityAnnotations:
    """The authors' annotations of WMT19 ru-en: a reference and eight systems."""
    return read_annotations(shared / "wmt19-metrics" / "kobe-entities.ru-en.jsonl.gz")


@pytest.fixture(scope="session")
def linker() -> DictionaryLinker:
    """The linker that is used unless another is named."""
    return DictionaryLinker()
