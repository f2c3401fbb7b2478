"""KoBE as a metric: which entities of the source stand in the output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.core import bounds
from steelyard.core.errors import UsageError, need_extra
from steelyard.data.evalset import EvalSet
from steelyard.scoring.metric import Scored

if TYPE_CHECKING:
    from steelyard.kobe.base.knowledge import KnowledgeBase


class Kobe:
    """Entities kept, in percent.

    Parameters
    ----------
    kb
        A knowledge base, or the folder of one; None is the embedded one.
    tiers
        Which of its tiers to use, as ``core`` or ``core,concept``; None is all.
    options
        Those of :class:`~steelyard.kobe.run.KobeOptions`: ``against`` (``src``, or a reference),
        ``weights``, ``language_filter`` and so on.
    """

    name = "kobe"

    def __init__(
        self, *, kb: KnowledgeBase | str | Path | None = None, tiers: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        need_extra("kobe", "KoBE")
        from steelyard.kobe.options import KobeOptions, LinkOptions

        bounds.text(optional=True, tiers=tiers)
        self.kb = kb
        link = LinkOptions(tiers=tuple(tiers.split(","))) if tiers else LinkOptions()
        try:
            #: How the score is computed.
            self.options = KobeOptions(link=link, **options)
        except TypeError as error:
            known = ", ".join(["kb", "tiers", *KobeOptions.__dataclass_fields__])
            unknown = ", ".join(sorted(set(options) - set(KobeOptions.__dataclass_fields__)))
            raise UsageError(f"kobe has no option '{unknown}'; known: {known}") from error

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:  # noqa: ARG002
        """Link sources and outputs, and count what is kept; references are the ceiling."""
        from steelyard.kobe.run import kobe_metric

        source, _, target = (es.language_pair or "").partition("-")
        if not (source and target):
            raise UsageError("kobe needs the languages: name them by lp=..., as de-en")
        table, report = kobe_metric(es, source, target, self.kb, self.options)
        return Scored(table, report.signature, (report.meaning(),), report.warnings, report)
