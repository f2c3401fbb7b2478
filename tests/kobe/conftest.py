"""A small knowledge base that tests share."""

from __future__ import annotations

import json
from collections.abc import Callable
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


@pytest.fixture(scope="session")
def write_release() -> Callable[[EntityAnnotations, Path], None]:
    """Write annotations into a folder as the authors' release has them."""

    def write(annotations: EntityAnnotations, folder: Path) -> None:
        pair = annotations.language_pair or ""
        (folder / pair).mkdir(parents=True)
        source, _, target = pair.partition("-")
        for system, sentences in annotations.systems.items():
            name = f"newstest2019.{system}.{pair}"
            if system in ("src", "ref"):
                language = source if system == "src" else target
                name = f"newstest2019-{source}{target}-{system}.{language}"
            rows = [
                {"sentence": text, "entities": [mention._asdict() for mention in mentions]}
                for text, mentions in sentences
            ]
            (folder / pair / name).write_text(json.dumps({"annotated_sentence": rows}))

    return write
