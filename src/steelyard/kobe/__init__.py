"""Entity fidelity of translations: knowledge base, linker, language filter, score, explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.core.lazy import loaded_from

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
__getattr__ = loaded_from("steelyard.kobe", _HOME)
