"""Entity fidelity of translations: knowledge base, linker, language filter, score, explanation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.kobe.annotating import annotate as annotate
    from steelyard.kobe.findings import KobeReport as KobeReport
    from steelyard.kobe.linking.linker import DictionaryLinker as DictionaryLinker
    from steelyard.kobe.options import KobeOptions as KobeOptions
    from steelyard.kobe.options import LinkOptions as LinkOptions
    from steelyard.kobe.run import kobe_metric as kobe_metric
    from steelyard.kobe.run import score as score

_HOME = {
    "DictionaryLinker": "steelyard.kobe.linking.linker",
    "KobeOptions": "steelyard.kobe.options",
    "KobeReport": "steelyard.kobe.findings",
    "LinkOptions": "steelyard.kobe.options",
    "kobe_metric": "steelyard.kobe.run",
    "annotate": "steelyard.kobe.annotating",
    "score": "steelyard.kobe.run",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard.kobe' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
