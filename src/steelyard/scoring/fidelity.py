"""KoBE as a metric: which entities of the source, or of a reference, stand in the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.core.errors import InputError, UsageError, need_extra
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet
from steelyard.formats.entities import SIDES, EntityAnnotations
from steelyard.scoring.metric import Scored, chosen_references

if TYPE_CHECKING:
    from steelyard.kobe.base.knowledge import KnowledgeBase


class Kobe:
    """Entities kept, in percent.

    Parameters
    ----------
    kb
        A knowledge base, or the folder of one; None is the embedded one.
    options
        Those of :class:`~steelyard.kobe.options.KobeOptions`: ``against`` (``src``, or a
        reference), ``links`` and so on.
    """

    name = "kobe"

    def __init__(self, *, kb: KnowledgeBase | str | Path | None = None, **options: Any) -> None:
        from steelyard.kobe.options import KobeOptions

        self.kb = kb
        #: How the score is computed.
        self.options = KobeOptions.of(options)
        if self.options.links is None:
            need_extra("kobe", "KoBE")
        elif kb is not None:
            raise UsageError("kb=... does nothing where links are given (links=..., annotations)")

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:  # noqa: ARG002
        """Link sources and outputs, and count what is kept; references are the ceiling."""
        return self._scored(es)

    def _scored(self, es: EvalSet, against: str | None = None) -> Scored:
        from steelyard.kobe.annotations import AnnotatedLinker
        from steelyard.kobe.metric import kobe_metric

        options = self.options if against is None else replace(self.options, against=against)
        source, _, target = (es.language_pair or "").partition("-")
        if not (source and target) and options.links is None:
            raise UsageError("kobe needs the languages: name them by lp=..., as de-en")
        table, report = kobe_metric(es, source or None, target or None, self.kb, options)
        linker = report.explanation.linker
        inputs: tuple[InputFile, ...] = ()
        shared: tuple[str, ...] = ()  # warnings of both variants, which are given once
        if isinstance(linker, AnnotatedLinker):
            inputs, shared = linker.inputs, linker.notes_on_links()
        warnings = (text if text in shared else f"{self.name}: {text}" for text in report.warnings)
        return Scored(table, report.signature, (report.meaning,), tuple(warnings), report, inputs)


class KobeRef(Kobe):
    """Entities of a reference kept, in percent: the reference in the place of the source."""

    name = "kobe-ref"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Compare with the only reference, or with the one that is named."""
        against = self.options.against
        if against == "src":
            names = chosen_references(es, references)
            if len(names) > 1:
                raise UsageError(f"kobe-ref compares with one reference, got {', '.join(names)}")
            against = names[0]
        return self._scored(es, against)


def of_annotations(
    links: EntityAnnotations, metrics: Sequence[Any], options: Mapping[str, Mapping[str, Any]]
) -> tuple[list[Any], dict[str, dict[str, Any]], list[str]]:
    """Let KoBE of annotations use their links: metrics, their options, and what is to be said.

    ``kobe`` gives both variants, as far as there are links of a source and of a reference; options
    of the first are those of the second.
    """
    there = [side for side in SIDES if side in links.systems]
    if not there and {Kobe.name, KobeRef.name} & {m for m in metrics if isinstance(m, str)}:
        place = links.inputs[0].path if links.inputs else "annotations"
        raise InputError(
            f"holds links of outputs alone ({', '.join(links.systems)}): expected those of the "
            "source (src) or of a reference (ref), too; of a KoBE release, give the folder of "
            "the language pair",
            path=place,
        )
    settings = {name: dict(own) for name, own in options.items()}
    notes: list[str] = []
    wanted = list(metrics)
    if Kobe.name in wanted and "against" not in settings.get(Kobe.name, {}):
        both = {"src": Kobe.name, "ref": KobeRef.name}
        at = wanted.index(Kobe.name)
        wanted[at : at + 1] = [name for side, name in both.items() if side in there]
        wanted = list(dict.fromkeys(wanted))
        shared = settings.pop(Kobe.name, {})
        if "src" in there:
            settings[Kobe.name] = shared
        else:
            notes.append("no links of a source: kobe-ref alone, against the reference")
        if "ref" in there:
            settings[KobeRef.name] = {**shared, **settings.get(KobeRef.name, {})}
    for name in (Kobe.name, KobeRef.name):
        if name in wanted:
            settings.setdefault(name, {}).setdefault("links", links)
    return wanted, settings, notes
