"""A small knowledge base that tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.formats.entities import EntityAnnotations
from steelyard.kobe.annotations import read_annotations
from steelyard.kobe.base.build import Limits, build
from steelyard.kobe.base.knowledge import Base, KnowledgeBase, embedded

SMALL = frozenset({"cs", "de", "en", "fi", "fr", "he", "ja", "ru", "uk", "zh"})


@pytest.fixture(scope="session")
def ru_en(shared: Path) -> EntityAnnotations:
    """The authors' annotations of WMT19 ru-en: a reference and eight systems."""
    return read_annotations(shared / "wmt19-metrics" / "kobe-entities.ru-en.jsonl.gz")


@pytest.fixture(scope="session")
def small_kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The embedded base in ten languages, without what concerns few people."""
    folder = tmp_path_factory.mktemp("small") / "kb"
    build([Base(embedded())], folder, limits=Limits(SMALL, min_prior=4.9))
    return KnowledgeBase.open(folder)
