"""A small knowledge base that tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard.formats.entityfiles import EntityAnnotations
from steelyard.kobe.annotations import read_annotations
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.base.packaged import embedded

SMALL = frozenset({"cs", "de", "en", "fi", "fr", "he", "ja", "ru", "uk", "zh"})


@pytest.fixture(scope="session")
def ru_en(shared: Path) -> EntityAnnotations:
    """The authors' annotations of WMT19 ru-en: a reference and eight systems."""
    return read_annotations(shared / "wmt19-metrics" / "kobe-entities.ru-en.jsonl.gz")


@pytest.fixture(scope="session")
def small_kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The embedded base in ten languages, without cities below 100,000 people."""
    before = os.environ.get("STEELYARD_CACHE")
    os.environ["STEELYARD_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    try:
        return KnowledgeBase.open(embedded(SMALL, min_people=100_000, progress=lambda *_: None))
    finally:
        if before is None:
            del os.environ["STEELYARD_CACHE"]
        else:
            os.environ["STEELYARD_CACHE"] = before
