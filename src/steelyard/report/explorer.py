"""The segments for the explorer: texts, scores and mistakes, packed so that a page stays small."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import printable
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.report.mistakes import Mistake
from steelyard.stats.arrays import Floats

MISSING = 65535  # the code of a missing score
CELLS = 400_000  # scores that a page holds
TEXTS = 1_400_000  # characters of base64 that the texts of a page may take


@dataclass(frozen=True, slots=True)
class Explorer:
    """Everything the explorer needs: facts as JSON, texts and scores packed."""

    facts: dict[str, Any]
    texts: str
    scores: str
    notes: tuple[str, ...] = ()


def explore(
    es: EvalSet,
    names: Sequence[str],
    *,
    pair: tuple[str, str] | None = None,
    mistakes: Iterable[Mistake] = (),
    cells: int = CELLS,
    most: int = TEXTS,
) -> Explorer:
    """Pack segments for the explorer, which shows ``pair`` first and marks ``mistakes``.

    ``names`` are scores in the order of their importance. The page holds at most ``cells`` scores
    and ``most`` characters of packed texts; segments on which systems differ least are left out.
    """
    notes: list[str] = []
    known = [name for name in names if es[name].has_segments]
    room = max(1, cells // max(1, es.n_systems * es.n_segments))
    kept = known[:room]
    if len(kept) < len(known):
        notes.append(
            f"{len(kept)} of {len(known)} scores are here, the human ones and the metrics that "
            "agree most with people; explored=... chooses others"
        )
    chosen = np.arange(es.n_segments)
    marks = list(mistakes)
    texts = _texts(es, chosen, marks)
    packing = packed(_json(texts))
    while len(packing) > most and len(chosen) > 1:
        share = 0.95 * most / len(packing)
        chosen = _widest(es, kept, chosen, max(1, int(share * len(chosen))))
        packing = packed(_json(_texts(es, chosen, marks)))
    if len(chosen) < es.n_segments:
        notes.append(
            f"{plural(len(chosen), 'segment')} of {es.n_segments:,} are here, those on which "
            "the systems differ most"
        )
    codes, facts = [], []
    for name in kept:
        code, fact = quantised(es[name], chosen)
        codes.append(code)
        facts.append({"name": printable(name), **fact})
    ids = es.segments.ids
    shown: dict[str, Any] = {
        "systems": _shown(es.systems),
        "references": _shown(es.references),
        "scores": facts,
        "segments": _shown(ids[i] for i in chosen),
        "domains": _shown(es.domains),
        "domain": _codes(es.segments.domains, es.domains, chosen),
        "pair": [es.systems.index(name) for name in pair or es.systems[:2]],
        "has": {
            "source": es.segments.sources is not None,
            "outputs": bool(es.outputs),
            "mistakes": bool(marks),
        },
    }
    scores = np.concatenate(codes) if codes else np.zeros(0, dtype="<u2")
    # Low bytes and high bytes apart: the high ones repeat, and pack well.
    flat = scores.astype("<u2").view(np.uint8).reshape(-1, 2).T.tobytes()
    return Explorer(shown, packing, packed(flat), tuple(notes))


def packed(data: bytes) -> str:
    """Pack bytes as gzip in base64, which a browser unpacks itself; same bytes, same text."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


def _shown(names: Iterable[str]) -> list[str]:
    """Make names harmless to the words around them: no control characters, no overrides."""
    return [printable(name) for name in names]


def _json(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")  # lone surrogates can't be shown anyway


def _texts(es: EvalSet, chosen: Any, mistakes: Sequence[Mistake]) -> list[Any]:
    """Per segment: [document, source, references, outputs, mistakes]; alike texts stand close."""
    place = {id_: k for k, id_ in enumerate(es.segments.ids)}
    system = {name: k for k, name in enumerate(es.systems)}
    marked: dict[int, list[Any]] = {}
    for one in mistakes:
        where = [one.start, one.end, one.text, int(one.side == "source")]
        marked.setdefault(place[one.segment], []).append([system[one.system], one.kind, *where])
    segments = es.segments
    return [
        [
            segments.documents[i] if segments.documents else None,
            segments.sources[i] if segments.sources else None,
            [texts[i] for texts in segments.references.values()],
            [es.outputs[name][i] if name in es.outputs else None for name in es.systems],
            marked.get(i, []),
        ]
        for i in map(int, chosen)
    ]


def _codes(
    labels: Sequence[str | None] | None, names: Sequence[str], chosen: Any
) -> list[int] | None:
    if labels is None or not names:
        return None
    place = {name: k for k, name in enumerate(names)}
    return [place.get(labels[i] or "", -1) for i in map(int, chosen)]


def _widest(es: EvalSet, names: Sequence[str], chosen: Any, n: int) -> Any:
    """Keep the segments on which systems differ most by the first score, in their order."""
    if not names:
        return chosen[:n]
    values = es[names[0]].values[:, chosen]
    some = ~np.isnan(values).all(axis=0)
    spread = np.full(len(chosen), -1.0)
    spread[some] = np.nanmax(values[:, some], axis=0) - np.nanmin(values[:, some], axis=0)
    return np.sort(chosen[np.argsort(-spread, kind="stable")[:n]])


def quantised(table: ScoreTable, chosen: Any) -> tuple[Any, dict[str, Any]]:
    """Write scores as whole numbers of 16 bits, 65535 where missing.

    A score is ``(low + code) / 10 ** digits``, with as many decimals as the scores have or as fit.

    Examples
    --------
    >>> codes, fact = quantised(ScoreTable(np.array([[-1.3, np.nan, -25.0]])), np.arange(3))
    >>> codes.tolist(), fact["low"], fact["digits"]
    ([237, 65535, 0], -250, 1)
    """
    values: Floats = table.values[:, chosen].ravel()
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    span = high - low
    digits = min(6, math.floor(math.log10((MISSING - 2) / span))) if span > 0 else 4
    digits = next((d for d in range(digits) if _whole(known * 10.0**d)), digits)
    base = round(low * 10.0**digits)
    codes = np.full(values.shape, MISSING, dtype="<u2")
    codes[~np.isnan(values)] = np.rint(known * 10.0**digits).astype(np.int64) - base
    kind = {"human": table.kind == "human", "lower": not table.higher_is_better}
    return codes, {**kind, "low": base, "digits": digits}


def _whole(values: Floats) -> bool:
    """Tell whether all are whole numbers, but for the noise of floating point."""
    return bool((np.abs(values - np.rint(values)) < 1e-6).all())
