"""KoBE of texts of any size: count in shards, add up the counts, score the sums.

The score is a function of counts per system: entities kept, wanted and found. Counts of shards add
up exactly, so the score is that of all texts at once, to the last bit, however they are split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.display import Result, Summary, one_line
from steelyard.core.errors import DegenerateError, UsageError
from steelyard.core.parallel import Workers
from steelyard.core.provenance import InputFile, Provenance, origin, sha256
from steelyard.core.table import Table
from steelyard.core.text import plural
from steelyard.formats.textshards import TextRow, TextShard, read_rows
from steelyard.kobe import run
from steelyard.kobe.explaining import missed_by_all
from steelyard.kobe.findings import CategoryRecall, KobeReport, SystemEntities, ranked
from steelyard.kobe.languages import LanguageFilter, normalise
from steelyard.kobe.linking.linkedtexts import (
    beside,
    each_once,
    link_outputs,
    link_texts,
    make_linker,
    with_names,
)
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.matching import Kobe, Matches
from steelyard.kobe.mention import GROUP, Linker
from steelyard.kobe.options import KobeOptions, LinkOptions

_ROWS = 1000  # linked at a time
_REFERENCE = "\n"  # before the name of a reference among the names of systems
Counts = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, repr=False)
class ShardedKobe(Result):
    """Scores of all systems over all shards; there are no scores of segments."""

    report: KobeReport
    n_shards: int
    provenance: Provenance

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        report = self.report
        return {
            "systems": {system: {"kobe": value} for system, value in report.scores.items()},
            "signatures": {"kobe": report.signature},
            "n_segments": report.n_segments,
            "n_shards": self.n_shards,
            "reports": {"kobe": report.to_dict()},
            "warnings": [f"kobe: {told}" for told in report.warnings],
            **origin(self.provenance),
        }

    def words(self) -> Summary:
        """Say which system keeps most of the entities, and how much that rests on."""
        return self.report.words()

    def __repr__(self) -> str:
        return one_line(self, f"of {plural(self.n_shards, 'shard')}: {self.report!r}")

    def table(self) -> Table:
        """Give the systems, the best first."""
        return self.report.table()

    def tables(self) -> list[Table]:
        """Give the systems, and recall by category."""
        return [self.report.table(), self.report.category_table()]


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One shard, and how it is counted; the knowledge base is a folder that all workers see."""

    shard: TextShard
    src: str
    tgt: str
    kb: str | None
    options: KobeOptions


def score_shards(
    shards: Sequence[TextShard],
    pair: tuple[str, str],
    kb: Path | str | None = None,
    options: KobeOptions | None = None,
    *,
    workers: Workers | None = None,
    only: tuple[int, int] | None = None,
) -> ShardedKobe | None:
    """Score texts in shards.

    Parameters
    ----------
    shards
        What :func:`steelyard.formats.textshards.find_shards` gives.
    pair
        Codes of the languages.
    kb, options
        As in :func:`steelyard.kobe.run.kobe_metric`; consensus weights, which are no counts, are
        refused.
    workers
        What the shards are counted on; the score does not depend on it.
    only
        Count only this share of the shards, as one of an array of jobs: (1, 8) is the first of
        eight. The counts are in ``workers.resume`` then, and the result is None.
    """
    options, workers = (options or KobeOptions()).settled(), workers or Workers()
    if (options.links or options.linker) is not None:
        raise UsageError("links=... and linker=... are for texts that are scored at once")
    if options.weights != "uniform":
        raise UsageError("consensus weights are no counts: shards have uniform weights only")
    if not shards:
        raise UsageError("no shards: the files are empty")
    src, tgt = map(normalise, pair)
    folder = None if kb is None else str(kb)
    linker = _linker(folder, options.link)
    signature = options.signature(linker, src, tgt)
    inputs = list(dict.fromkeys(path for shard in shards for path in shard.paths))
    files = tuple(InputFile(str(path), shards[0].form, sha256([path])) for path in inputs)
    about = {
        "signature": signature,
        "inputs": [[Path(file.path).name, file.sha256] for file in files],
        "shard": shards[0].size or "file",
        "missing": "counted",  # earlier counts took a missing source for an empty one
    }
    shown = None if folder is None else str(workers.visible(Path(folder)))
    tasks = [
        ShardTask(replace(shard, paths=tuple(map(workers.visible, shard.paths))), src, tgt, shown,
                  options)
        for shard in shards
    ]  # fmt: skip
    chosen = None
    if only is not None:
        mine, of = only
        if workers.resume is None or not 1 <= mine <= of:
            raise UsageError(f"shard {mine} of {of}: expected 1 to {of}, and a folder of results")
        chosen = range(mine - 1, len(tasks), of)
    found = workers.run(count_shard, tasks, step="kobe", about=about, only=chosen)
    if chosen is not None:
        return None
    report = merged_report(found, signature, (src, tgt), options)
    settings = {"metric": "kobe", "src": src, "tgt": tgt}
    return ShardedKobe(report, len(shards), Provenance("score", settings, files))


@lru_cache(maxsize=2)
def _linker(kb: str | None, options: LinkOptions) -> DictionaryLinker:
    """One linker per process: its tables take a while to load."""
    return make_linker(kb, options)


def count_shard(task: ShardTask) -> Counts:
    """Count what one shard has; works on some rows at a time, whatever its size."""
    rows = read_rows(task.shard)
    linker = _linker(task.kb, task.options.link)
    total: Counts = {}
    while block := list(islice(rows, _ROWS)):
        total = add_counts([total, _count(block, task, linker)])
        linker.forget()  # sentences of a corpus hardly ever come back
    return total


def add_counts(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> Counts:
    """Add up counts.

    Examples
    --------
    >>> add_counts([{"kept": {"A": 1}}, {"kept": {"A": 2, "B": 1}}])
    {'kept': {'A': 3, 'B': 1}}
    """
    total: dict[str, Counter[str]] = {}
    for part in parts:
        for kind, own in part.items():
            total.setdefault(kind, Counter()).update(own)
    return {kind: dict(own) for kind, own in total.items()}


def _count(rows: Sequence[TextRow], task: ShardTask, linker: Linker) -> Counts:
    against, src, tgt = task.options.against, task.src, task.tgt
    from_source = against == "src"
    texts = [row.source if from_source else row.references.get(against) for row in rows]
    other = src if from_source else tgt
    mentions = link_texts(linker, texts, other, tgt, against)
    systems = sorted({name for row in rows for name in row.outputs})
    references = sorted({name for row in rows for name in row.references} - {against})
    columns = {name: tuple(row.outputs.get(name) for row in rows) for name in systems}
    columns |= {
        _REFERENCE + name: tuple(row.references.get(name) for row in rows) for name in references
    }
    keep = LanguageFilter(src, tgt, task.options.language_filter)
    compared = beside(texts, columns)
    linked, foreign = link_outputs(linker, keep, compared, tgt, other)
    mentions, linked = with_names(linker, keep, (other, tgt), (texts, mentions), (compared, linked))
    if task.options.counted == "entities":
        mentions, linked = each_once(mentions, linked)
    matched = run.match_all(mentions, linked, (other, tgt), task.options)
    strict = matched.counted
    wanted = strict.wanted
    missed = missed_by_all(matched.loose, [_REFERENCE + name for name in references])
    n_missing = sum(text is None for text in texts)
    size = {
        "segments": len(rows) - n_missing,
        "missing": n_missing,
        "bare": strict.n_without_entities - n_missing,
        "mentions": int(wanted.sum()),
        "missed": int(missed.sum()),
    }
    kept = strict.per_segment(strict.kept.astype(np.float64))
    filtered = {name: len(own) for name, own in foreign.items()}
    counts: Counts = {"size": size, "filtered": filtered}
    for kind, cells in (("kept", kept), ("wanted", wanted), ("found", strict.found)):
        sums = np.where(strict.known, cells, 0).sum(axis=1)
        counts[kind] = {name: int(n) for name, n in zip(strict.systems, sums, strict=True)}
    return counts | _count_categories(matched.scored)


def _count_categories(matches: Matches) -> Counts:
    """Count mentions by category, and by category and system (with a line break in between)."""
    category = [mention.category for mention in matches.mention]
    there = matches.known[:, matches.segment]
    counts: Counts = {"category": dict(Counter(category)), "category kept": {},
                      "category wanted": {}}  # fmt: skip
    names, index = np.unique(np.array(category, dtype=object), return_inverse=True)
    for kind, cells in (("category kept", matches.kept & there), ("category wanted", there)):
        for system, row in zip(matches.systems, cells, strict=True):
            own = np.bincount(index, row, minlength=len(names)) if len(names) else ()
            counts[kind] |= {
                f"{name}\n{system}": int(n) for name, n in zip(names, own, strict=True)
            }
    return counts


def merged_report(
    parts: Iterable[Mapping[str, Mapping[str, int]]],
    signature: str,
    pair: tuple[str, str],
    options: KobeOptions,
) -> KobeReport:
    """Make the report of all shards from their counts; lists of lost entities are no part of it."""
    counts = add_counts(parts)
    size = counts["size"]
    what = "source" if options.against == "src" else f"reference '{options.against}'"
    if not size["segments"]:
        raise UsageError(f"no segment has a {what} to find entities in")
    if not size["mentions"]:
        raise DegenerateError(f"KoBE is undefined: no entity was found in any {what} (S = 0)")
    rows = _systems(counts, options)
    report = KobeReport(
        src=pair[0],
        tgt=pair[1],
        against=options.against,
        signature=signature,
        systems=tuple(rows),
        categories=tuple(_categories(counts, [row.system for row in rows])),
        groups=tuple(_categories(_grouped(counts), [row.system for row in rows])),
        n_segments=size["segments"],
        n_without_entities=size["bare"],
        n_source_entities=size["mentions"],
        n_missed=size["missed"],
        counted=options.counted,
        measure=options.measure,
    )
    return replace(report, warnings=run.entity_warnings(report, size["missing"]))


def _name(name: str, systems: Mapping[str, Any]) -> str:
    """Give a reference a name that no system has."""
    if not name.startswith(_REFERENCE):
        return name
    plain = name.removeprefix(_REFERENCE)
    return f"{plain} (reference)" if plain in systems else plain


def _systems(counts: Counts, options: KobeOptions) -> list[SystemEntities]:
    formula = Kobe(options.penalty, options.rounded, options.measure)
    rows = []
    for name, kept in counts["kept"].items():
        wanted, found = counts["wanted"][name], counts["found"][name]
        sums = np.array([kept, wanted, kept, wanted, found], dtype=np.float64)
        own, filtered = _name(name, counts["kept"]), counts["filtered"].get(name, 0)
        is_reference = name.startswith(_REFERENCE)
        score = float(formula(sums))
        rows.append(SystemEntities.of(own, score, sums, filtered, is_reference=is_reference))
    return [*ranked(row for row in rows if not row.is_reference),
            *sorted(row for row in rows if row.is_reference)]  # fmt: skip


def _grouped(counts: Counts) -> Counts:
    """Add up counts of categories by their group."""

    def key(name: str) -> str:
        category, line_break, system = name.partition("\n")
        return GROUP.get(category, category) + line_break + system

    found = dict(counts)
    for kind in ("category", "category kept", "category wanted"):
        own: Counter[str] = Counter()
        for name, n in counts[kind].items():
            own[key(name)] += n
        found[kind] = dict(own)
    return found


def _categories(counts: Counts, names: Sequence[str]) -> Iterable[CategoryRecall]:
    total = counts["category"]
    own = {_name(name, counts["kept"]): name for name in counts["kept"]}
    for category in sorted(total, key=lambda c: (-total[c], c)):
        recall = {}
        for name in sorted(names, key=lambda n: (own[n].startswith(_REFERENCE), n)):
            key = f"{category}\n{own[name]}"
            wanted = counts["category wanted"].get(key, 0)
            kept = counts["category kept"].get(key, 0)
            recall[name] = 100 * kept / wanted if wanted else float("nan")
        yield CategoryRecall(category, total[category], recall)
