"""``steelyard data``: look into files, convert them, check them, and get public ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.engine import READING, Answer, Call, command, typed, typed_option
from steelyard.cli.flags import spoken
from steelyard.cli.group import ANY, JUDGED, LazyGroup
from steelyard.cli.output import facts_table
from steelyard.cli.params import NAMES, InputOptions
from steelyard.core.errors import SteelyardError, UsageError
from steelyard.core.options import Options, flag, option, text
from steelyard.core.table import Column, Table
from steelyard.core.text import plural

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.data.verdicts import Verdicts
    from steelyard.formats.reading import Read

#: The commands that take what a format gives.
_TAKEN_BY = {
    "EvalSet": ("compare", "meta", "score", "study", "report", "data"),
    "Ratings": ("human", "report", "data"),
    "Rankings": ("human", "compare", "data"),
    "BattleLog": ("compare", "data"),
    "EntityAnnotations": ("score", "compare", "kb", "data"),
    "Bitext": ("check", "data"),
}
_METRICS = click.Option(
    ["--metrics"],
    type=NAMES,
    help="Only these metrics, and all human scores; patterns such as '*-refA' stand for several.",
)


@command(
    _METRICS,
    InputOptions,
    hidden="seed jobs",
    shape=ANY,
    examples=(
        "steelyard data info scores.csv",
        "steelyard data info human.csv.gz metrics.csv.gz --human mqm",
    ),
)
def info(call: Call) -> Answer:
    """Show what inputs hold: systems, segments, scores, and what is missing, tied or odd.

    INPUT is a table (CSV, TSV, JSONL, Parquet; also .gz), an mt-metrics-eval folder, a native
    file, or raw ratings, rankings, battles or entity annotations. Several are joined.
    """
    from steelyard.data.overview import overview
    from steelyard.data.selection import with_metrics

    reading, inputs = call.reading, call.inputs
    verdicts = _verdicts(call)
    if verdicts is not None:
        return _of_verdicts(call, verdicts)
    try:
        held = reading.read(inputs)
        if held.only is None:
            es = with_metrics(held.evalset(), only=call.settings["metrics"])
    except SteelyardError as error:
        has_line = getattr(error, "line", None) is not None  # a slip, to be mended first
        columns = None if has_line or len(inputs) > 1 else _of_columns(inputs[0], error)
        if columns is None:
            raise
        return columns
    if held.only is not None:
        reading.only_rows_and_columns()
        return _of_judgements(call, held.only)
    return Answer(
        result=overview(es, reading.human), says_read=True, then=_next(call, es, reading.human)
    )


def _next(call: Call, es: EvalSet, human: str | None) -> str | None:
    """Propose to weigh metrics where there are human scores, else to compare systems."""
    scores = [name for name, table in es.scores.items() if table.has_segments]
    if not scores and es.outputs:
        return call.another("score", "--metrics", "chrf")
    if es.n_systems < 2 or not scores:
        return None
    human = human or (es.human[0] if es.human else None)
    keep = READING - {"human"}
    if human in scores and any(name in scores for name in es.metrics):
        return call.another("meta", *typed_option("--human", human), keep=keep)
    return call.another("compare", *typed_option("--score", scores[0]), keep=keep)


def _verdicts(call: Call) -> Verdicts | None:
    """Read inputs that look like verdicts of judges; None for anything else."""
    reading = call.reading
    if reading.format is not None or any(role == "score" for role, _ in reading.columns):
        return None
    from steelyard.formats.verdicts.read import VerdictReading, describe_verdicts

    how = VerdictReading(where=reading.where, ignore=tuple(reading.ignore))
    return describe_verdicts(call.inputs, how)


def _of_verdicts(call: Call, verdicts: Verdicts) -> Answer:
    """Show who judged what, and propose to compare judges with annotators."""
    path, kind = call.inputs[0], verdicts.kind
    who = {
        group: {each.name: int(each.answered.sum()) for each in getattr(verdicts, group)}
        for group in ("raters", "judges")
    }
    facts: dict[str, Any] = {
        "kind": kind,
        "items": len(verdicts.items),
        kind: len(verdicts),
        "systems": list(verdicts.systems),
        "words": list(verdicts.categories),
        **who,
    }
    counts = {"item": verdicts.items, "judge": who["judges"], "rater": who["raters"]}
    listed = ", ".join(plural(len(each), name) for name, each in counts.items())
    words = [f"{path} holds verdicts on {kind}: {listed}."]
    then = None
    if who["raters"] and who["judges"]:
        human = typed_option("--human", *who["raters"])
        then = call.another("judge", *human, keep={"where", "ignore"})
    elif not who["raters"]:
        words.append("To compare judges, name the human labels: steelyard judge --human COLUMNS.")
    flags = {"words": "--words", "swapped": "--swapped"}  # of the commands that fit
    more = {"warnings": [spoken(note, flags) for note in verdicts.notes]}
    result = {"path": path, "format": "verdicts", **facts, **more}
    return Answer(result=result, tables=[facts_table(facts, "verdicts")], words=words, then=then)


def _of_judgements(call: Call, read: Read) -> Answer:
    """Count what raw judgements hold, and propose the command that takes them."""
    from steelyard.data.judgements import BattleLog, Rankings, Ratings

    path, facts = call.inputs[0], _facts(read.value)
    counts = ", ".join(f"{value:,} {key}" for key, value in facts.items() if type(value) is int)
    name, then = "compare" if isinstance(read.value, BattleLog) else "human", None
    if isinstance(read.value, (BattleLog, Rankings, Ratings)):
        then = call.another(name, keep={"where", "ignore", "columns", "format"})
    more = {"read": [file.taken_for() for file in read.files], "warnings": list(read.notes)}
    result = {"path": path, "format": read.form, **facts, **more}
    words = [f"{path} holds {read.form}: {counts}."]
    return Answer(result=result, tables=[facts_table(facts, read.form)], words=words, then=then)


def _facts(value: Any) -> dict[str, Any]:
    import numpy as np

    from steelyard.data.judgements import BattleLog, Rankings, Ratings
    from steelyard.formats.bitext import Bitext

    if isinstance(value, Bitext):
        languages = [lang or "unknown" for lang in (value.src_lang, value.tgt_lang)]
        translated = sum(bool(segment.target.strip()) for segment in value.segments)
        sizes = {"segments": len(value.segments), "translated": translated}
        return {"languages": languages, **sizes}
    if isinstance(value, BattleLog):
        sides = {"left wins": value.outcome > 0.5, "right wins": value.outcome < 0.5}
        sides["ties"] = value.outcome == 0.5
        counts = {name: int(rows.sum()) for name, rows in sides.items()}
        return {"systems": len(value.systems), "battles": len(value), **counts}
    if not isinstance(value, (Ratings, Rankings)):
        mentions = {name: sum(len(s.mentions) for s in texts)
                    for name, texts in value.systems.items()}  # fmt: skip
        return {"systems": len(mentions), "sentences": value.n_segments, "mentions": mentions}
    facts: dict[str, Any] = {
        name: len(getattr(value, name)) for name in ("systems", "segments", "raters")
    }
    if isinstance(value, Rankings):
        per_row = int((value.system >= 0).sum(axis=1).max(initial=0))
        return facts | {"rankings": len(value), "systems per ranking": per_row}
    facts["ratings"] = len(value)
    if value.item is not None:
        facts["items"] = dict(sorted(Counter(value.item).items()))
    numbers = value.value[~np.isnan(value.value) & ~value.is_item("attention")]
    if numbers.size:
        facts |= {"min": float(numbers.min()), "max": float(numbers.max())}
    if value.errors is not None:
        marked = [error for errors in value.errors for error in errors or ()]
        severities = Counter(error.severity or "none" for error in marked)
        facts |= {"errors": len(marked), "severities": dict(sorted(severities.items()))}
    return facts


def _of_columns(path: str, error: SteelyardError) -> Answer | None:
    """Show the columns of a table that can't be read without options; None if it is not one."""
    from steelyard.formats import cells, registry, tables
    from steelyard.formats.view import FileView

    try:
        if registry.of_file(FileView(Path(path))) is not None:
            return None
        table = tables.read(Path(path), is_text=lambda _: True)
    except SteelyardError:
        return None
    rows: list[dict[str, Any]] = []
    for name, column in table.columns.items():
        values = [cells.label(cell) or "" for cell in column]
        distinct = list(dict.fromkeys(value for value in values if value.strip()))
        numbers = cells.numbers_of(column) is not None
        kind = "numbers" if distinct and numbers else "texts" if distinct else "nothing"
        examples = ", ".join(value[:20] for value in distinct[:3])
        row = {"column": name, "holds": kind, "distinct": len(distinct), "such as": examples}
        rows.append(row)
    result = {
        "path": path,
        "format": "table",
        "n_rows": table.n_rows,
        "columns": rows,
        "warnings": [str(error), *table.notes],
    }
    words = [f"{path} has {plural(table.n_rows, 'row')} and {plural(len(rows), 'column')}."]
    columns = Table("columns", tuple(map(Column, rows[0])), tuple(tuple(r.values()) for r in rows))
    return Answer(result=result, tables=[columns], words=words)


@command(
    inputs="",
    hidden="seed jobs",
    examples=("steelyard data formats", "steelyard data formats --json"),
)
def formats(call: Call) -> Answer:  # noqa: ARG001
    """List every format that is read or written, with an example and the commands that take it."""
    from steelyard.formats.registry import FORMATS, readable

    rows: list[dict[str, Any]] = []
    for form in FORMATS:
        first, *others = _TAKEN_BY[form.gives.__name__] if readable(form) else ("",)
        row = {
            "format": form.name,
            "recognised_by": form.known_by,
            "commands": [first, *(["human"] if form.rated else []), *others] if first else [],
            "writes": form.write is not None,
            "to": form.to,
            "example": form.example,
            "example_file": form.example_name or None,
        }
        rows.append(row)
    cells = [
        (row["format"], row["recognised_by"], ", ".join(row["commands"]) or None,
         (row["to"] or "yes") if row["writes"] else None, row["example"].split("\n")[0])
        for row in rows
    ]  # fmt: skip
    headings = ("format", "recognised by", "commands", "writes", "example")
    table = Table("", tuple(map(Column, headings)), tuple(cells))
    lines = [f"{name}: {about}" for name, about, *_ in cells]
    written = sum(row["writes"] for row in rows)
    words = [
        f"{plural(len(rows), 'format')} are known, {written} of them are written, too.",
        "--json and --out FILE.md have an example of each.",
    ]
    return Answer(result={"formats": rows}, tables=[table], words=words, shown=["\n".join(lines)])


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Options):
    """What is written, and how."""

    to: str | None = text(
        None,
        "native, long, system or text; errors, ratings, battles or entities for judgements; by "
        "default OUT's suffix decides.",
        metavar="FORMAT",
    )
    force: bool = flag("Overwrite what is there.")
    anonymise_raters: bool = flag("Call raters rater1, rater2, ...")


@command(
    ConvertOptions,
    _METRICS,
    InputOptions,
    inputs="IN... OUT",
    hidden="seed out jobs",
    shape=ANY,
    examples=(
        "steelyard data convert human.csv metrics.csv wmt23.parquet --human mqm",
        "steelyard data convert arena.jsonl battles.csv --to battles",
    ),
)
def convert(call: Call) -> Answer:
    """Read inputs and write them as one file of another format.

    .parquet becomes the native format, .csv, .tsv and .jsonl (also .gz) a long table. What the
    target can't hold is named.
    """
    from steelyard.data.selection import with_metrics
    from steelyard.formats.save import save

    how, reading = call.take(ConvertOptions), call.reading
    if len(call.inputs) < 2:
        raise UsageError("expected IN and OUT; for example: steelyard data convert a.csv a.parquet")
    *sources, name = call.inputs
    target = Path(name)
    if target.is_file() and not how.force:
        raise UsageError(f"{target} exists already; --force overwrites it")
    value: Any
    held = reading.read(sources)
    if held.only is not None:
        reading.only_rows_and_columns()
        value, read, notes = held.only.value, held.only.files, held.only.notes
    else:
        value = with_metrics(held.evalset(), only=call.settings["metrics"])
        read, notes = value.inputs, value.notes
    lost = save(value, target, to=how.to, human=reading.human,
                anonymise_raters=how.anonymise_raters)  # fmt: skip
    warnings = [*notes, *([f"{target} has no place for: {', '.join(lost)}"] if lost else [])]
    result = {"out": name, "read": [file.taken_for() for file in read], "warnings": warnings}
    then = typed("data", "info", name)
    return Answer(result=result, words=[f"Wrote {target}."], shown=[], then=then)


@command(
    _METRICS,
    InputOptions,
    hidden="seed jobs",
    shape=JUDGED,
    examples=(
        "steelyard data check scores.csv --human mqm",
        "steelyard data check wmt23 my-metric.tsv --lp en-de --human mqm",
    ),
)
def check(call: Call) -> Answer:
    """Look for anything that would distort a meta-evaluation; exit 2 if there are errors.

    Give a submission together with the set that it is for, so that both are compared.
    """
    from steelyard.data import linting
    from steelyard.data.selection import with_metrics

    es = with_metrics(call.reading.load(call.inputs), only=call.settings["metrics"])
    findings = [replace(f, message=spoken(f.message)) for f in linting.check(es)]
    counts = Counter(f.severity for f in findings)
    result = {
        "n_errors": counts["error"],
        "n_warnings": counts["warning"],
        "findings": [f.to_dict() for f in findings],
        "read": [file.taken_for() for file in es.inputs],
        "warnings": list(es.notes),
    }
    table = linting.table(findings)
    total = ", ".join(plural(counts[name], name) for name in ("error", "warning"))
    words = [f"{total}."] if findings else ["No problems found."]
    shown: list[Table] | None = None if findings else []
    code = 2 if counts["error"] else 0
    return Answer(result=result, tables=[table], words=words, shown=shown, code=code)


@dataclass(frozen=True, kw_only=True)
class GetOptions(Options):
    """Where a test set comes from, and where it is kept."""

    url: str | None = text(None, "Address of the package, if not the public one.", metavar="URL")
    sha256: str | None = text(None, "Checksum of the package.", metavar="HEX")
    cache: Path | None = option(
        "folder", None, "Where to keep it (default: STEELYARD_CACHE or the user's cache)."
    )
    force: bool = flag("Unpack again, and download again if need be.")


@command(
    click.Argument(["name"]),
    GetOptions,
    inputs="",
    hidden="seed out jobs",
    examples=("steelyard data get wmt23", "steelyard data get wmt24 --cache wmt"),
)
def get(call: Call) -> Answer:
    """Download the public WMT metrics package and unpack one test set, for example wmt23."""
    from steelyard.core.download import get_test_set

    name = call.settings.pop("name")
    with call.progress(f"downloading {name}", counted=True) as progress:
        folder = get_test_set(name, progress=progress, **call.settings)
    return Answer(result={"name": name, "path": str(folder)}, shown=[str(folder)])


data = LazyGroup(
    name="data",
    help="What is in this file; make it that format; check it; get public data.",
    commands=[info, formats, convert, check, get],
)
