"""Entity fidelity of translations: knowledge base, linker, language filter, score, explanation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.kobe.linking.lexicon import LinkOptions as LinkOptions
    from steelyard.kobe.linking.linker import DictionaryLinker as DictionaryLinker
    from steelyard.kobe.metric import KobeOptions as KobeOptions
    from steelyard.kobe.metric import kobe_metric as kobe_metric
    from steelyard.kobe.metric import score as score
    from steelyard.kobe.report import KobeReport as KobeReport

_HOME = {
    "DictionaryLinker": "steelyard.kobe.linking.linker",
    "KobeOptions": "steelyard.kobe.metric",
    "KobeReport": "steelyard.kobe.report",
    "LinkOptions": "steelyard.kobe.linking.lexicon",
    "kobe_metric": "steelyard.kobe.metric",
    "score": "steelyard.kobe.metric",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard.kobe' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
