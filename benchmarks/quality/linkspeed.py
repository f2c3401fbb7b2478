"""How fast mentions are found: what benchmarks/kobe.py and kobe_quality.py both time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.linking.detection import detect
from steelyard.kobe.linking.lexicon import Lexicon
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.linking.wordforms import fold_text, tokenise

#: Texts by their language, and the language that they are compared in.
Texts = dict[tuple[str, str], list[str]]
#: Pairs of WMT22 whose sources and first outputs are linked.
TIMED = ("de-en", "cs-en", "ru-en", "zh-en")


class Rates(NamedTuple):
    """Sentences per CPU second: found in a text, linked, and linked where nothing was read yet."""

    detection: float
    linking: float
    first: float


def texts_of(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Texts:
    """Give the sources of text files by pair, and the outputs of their first systems."""
    texts: Texts = {}
    for pair, own in rows.items():
        src, tgt = pair.split("-")
        texts[src, tgt] = [row["src"] for row in own]
        texts[tgt, src] = [next(iter(row["out"].values())) for row in own]
    return texts


def detected(text: str, lexicon: Lexicon) -> list[Any]:
    """Find the names of one text."""
    folded, places = fold_text(text, lexicon.lang)
    aligned = text if places is None else "".join([text[p] for p in places[:-1]])
    return detect(folded, aligned, tokenise(folded, lexicon.lang), lexicon)


def link_rates(texts: Texts, kb: KnowledgeBase) -> Rates:
    """Time detection and the link step, with dictionaries that are read already and without."""
    n = sum(map(len, texts.values()))
    detecting = linking = first = 0.0
    for (lang, other), own in texts.items():
        start = time.process_time()
        DictionaryLinker(kb).link(own, lang, other)  # with the loading of dictionaries
        first += time.process_time() - start
        warm = DictionaryLinker(kb)
        lexicon = warm.lexicon(lang, other)
        warm.link(own, lang, other)
        start = time.process_time()
        for text in own:
            detected(text, lexicon)
        middle = time.process_time()
        warm._linked.clear()
        warm.link(own, lang, other)
        detecting += middle - start
        linking += time.process_time() - middle
    return Rates(n / detecting, n / linking, n / first)
