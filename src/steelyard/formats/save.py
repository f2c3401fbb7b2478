"""From an EvalSet or judgements to a file: the format by name or by the file's suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.formats import entityfiles, files, scoretables, submission
from steelyard.formats.folders import mtme_writer, native
from steelyard.formats.judged import battlelogs, errorlists
from steelyard.formats.judged import directassessment as da

FORMATS = ("native", "mtme", "long", "wide", "system", "text", "submission", "submission-sys")


_SAVED = (EvalSet, Ratings, Rankings, BattleLog, entityfiles.EntityAnnotations)


def guess(es: EvalSet, path: Path) -> str:
    """Choose the format that fits the name: a folder, Parquet, or a table of what there is."""
    kind = files.suffix(path)
    if path.is_dir() or not kind:
        return "mtme"
    if kind in ("parquet", "pq"):
        if path.name.lower().endswith(".gz"):
            raise UsageError(f"{path}: a Parquet file is packed already; leave out the .gz")
        return "native"
    if not es.n_segments:
        return "system"
    return "long" if es.scores or kind != "jsonl" else "text"


def save(
    value: EvalSet | Ratings | Rankings | BattleLog | entityfiles.EntityAnnotations,
    path: str | Path,
    *,
    to: str | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Write a set or judgements, whole or not at all; gives back what the format had no place for.

    ``to`` is one of ``native mtme long wide system text submission submission-sys``; by default the
    suffix decides: a folder is mt-metrics-eval, ``.parquet`` native, other tables are long.
    """
    bounds.instance((str, Path), "a path", path=path)
    bounds.instance(_SAVED, "an EvalSet or judgements", value=value)
    bounds.choice(FORMATS, optional=True, to=to)
    bounds.flag(overwrite=overwrite)
    path = Path(path)
    if not isinstance(value, EvalSet):
        _save_judgements(value, path)
        return []
    to = to or guess(value, path)
    writers: dict[str, Callable[[], None]] = {
        "native": lambda: native.write(value, path),
        "mtme": lambda: mtme_writer.write(value, path, overwrite=overwrite),
        "long": lambda: scoretables.write_long(value, path),
        "wide": lambda: scoretables.write_wide(value, path),
        "system": lambda: scoretables.write_system(value, path),
        "text": lambda: scoretables.write_texts(value, path),
        "submission": lambda: submission.write(value, path),
        "submission-sys": lambda: submission.write(value, path, level="sys"),
    }
    writers[to]()
    return _left_out(value, to)


def _left_out(es: EvalSet, to: str) -> list[str]:
    """Say what of a set a format does not hold."""
    made_again = any(t.statistics is not None for t in es.scores.values()) and to != "text"
    statistics = ["statistics of corpus scores"] if made_again else []
    if to in ("native", "mtme"):
        return statistics
    plain = tuple(str(i) for i in range(es.n_segments))
    lost = {
        "texts": bool(es.segments.sources or es.segments.references or es.outputs),
        "scores": bool(es.scores),
        "segment scores": any(t.has_segments for t in es.scores.values()),
        "human scores": bool(es.human),
        "official system scores": any(t.system_scores is not None for t in es.scores.values()),
        "stored domain and document scores": any(
            t.domain_scores is not None or t.document_scores is not None for t in es.scores.values()
        ),
        "which scores are better when lower": any(
            not t.higher_is_better for t in es.scores.values()
        ),
        "ratings": bool(es.ratings),
        "which scores are human": bool(es.human),
        "scores without any value": any(
            not t.has_segments and t.system_scores is None for t in es.scores.values()
        ),
        "segment ids": es.segments.ids != plain,
        "names of metrics that do not say what they see": any(
            not es.scores[n].uses or not n.endswith("-" + ".".join(es.scores[n].uses))
            for n in es.metrics
        ),
    }
    details = ("official system scores", "stored domain and document scores", "ratings",
               "which scores are human", "which scores are better when lower",
               "scores without any value")  # fmt: skip
    without = {
        "long": details,
        "wide": ("texts", *details),
        "system": ("texts", "segment scores", *details[1:]),
        "text": ("scores", "ratings"),
        "submission": ("texts", "human scores", "segment ids",
                       "names of metrics that do not say what they see", *details[:3]),
        "submission-sys": ("texts", "human scores", "segment scores",
                           "names of metrics that do not say what they see", *details[1:3]),
    }  # fmt: skip
    return [what for what in without[to] if lost[what]] + statistics


def _save_judgements(value: Any, path: Path) -> None:
    if isinstance(value, Ratings):
        (da.write if value.errors is None else errorlists.write)(value, path)
    elif isinstance(value, Rankings):
        battlelogs.write_rankings(value, path)
    elif isinstance(value, BattleLog):
        battlelogs.write(value, path)
    else:
        entityfiles.write(value, path)
