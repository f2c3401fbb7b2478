"""Entity fidelity of translations: knowledge base, linker, language filter, score, explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.core.lazy import loaded_from

if TYPE_CHECKING:
    from steelyard.kobe.linking.linker import DictionaryLinker as DictionaryLinker
    from steelyard.kobe.metric import annotate as annotate
    from steelyard.kobe.metric import kobe_metric as kobe_metric
    from steelyard.kobe.metric import score as score
    from steelyard.kobe.options import KobeOptions as KobeOptions
    from steelyard.kobe.report import KobeReport as KobeReport

_HOME = {
    "DictionaryLinker": "steelyard.kobe.linking.linker",
    "KobeOptions": "steelyard.kobe.options",
    "KobeReport": "steelyard.kobe.report",
    "annotate": "steelyard.kobe.metric",
    "kobe_metric": "steelyard.kobe.metric",
    "score": "steelyard.kobe.metric",
}

__all__ = list(_HOME)
__getattr__ = loaded_from("steelyard.kobe", _HOME)
