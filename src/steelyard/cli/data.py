"""``steelyard data``: look into files, convert them, check them, and get public ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import following
from steelyard.cli.emit import emit, progress_of
from steelyard.cli.helping import ANY, JUDGED, command
from steelyard.cli.lazy import LazyGroup
from steelyard.cli.options import (
    InputOptions,
    OutputOptions,
    input_options,
    need_inputs,
    output_options,
    settled_options,
)
from steelyard.cli.values import FileName, Names
from steelyard.cli.wording import spoken
from steelyard.core.errors import SteelyardError, UsageError
from steelyard.core.table import Column, Table, dumps
from steelyard.core.text import listed, plural

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.data.judgements import Rankings, Ratings
    from steelyard.data.verdicts import Verdicts
    from steelyard.formats.reading import Read


_HERE = "steelyard.cli.data"
#: name: (module:function, one line of help)
COMMANDS = {
    "info": (f"{_HERE}:info", "What is in this file?"),
    "check": (f"{_HERE}:check", "Is anything wrong with it?"),
    "convert": (f"{_HERE}:convert", "Write it in another format."),
    "formats": (f"{_HERE}:formats", "List the formats that are read or written."),
    "get": (f"{_HERE}:get", "Download a public WMT test set."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def data() -> None:
    """What is in this file; make it that format; check it; get public data."""


METRICS = click.option("--metrics", type=Names(), help="Only these metrics, and all human scores; "
                       "patterns such as '*-refA' stand for several.")  # fmt: skip


def _load(
    inputs: tuple[str, ...], options: InputOptions, metrics: tuple[str, ...] | None
) -> EvalSet:
    from steelyard.data.selection import with_metrics

    return with_metrics(options.load(inputs), only=metrics)


@command(
    shape=ANY,
    examples=(
        "steelyard data info scores.csv",
        "steelyard data info human.csv.gz metrics.csv.gz --human mqm",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="INPUT...")
@click.option("--list", "lists", is_flag=True, help="List the sets and language pairs of an "
              "mt-metrics-eval folder, or the one above, and what there is of each.")  # fmt: skip
@METRICS
@input_options
@settled_options
def info(
    inputs: tuple[str, ...],
    lists: bool,  # noqa: FBT001
    metrics: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
) -> None:
    """Show what inputs hold: systems, segments, scores, and what is missing, tied or odd.

    INPUT is a table (CSV, TSV, JSONL, Parquet; also .gz), an mt-metrics-eval folder, a native
    file, or raw ratings, rankings, battles or entity annotations. Several are joined.
    """
    from steelyard.data.overview import overview
    from steelyard.data.selection import with_metrics

    need_inputs(inputs)
    if lists:
        from steelyard.formats.folders import mtme

        found = [one for name in inputs for one in mtme.contents(Path(name))]
        listing = {"pairs": [one.to_dict() for one in found], "warnings": []}
        words = [f"{plural(len(found), 'language pair')} can be read, by --lp."]
        emit(listing, [mtme.contents_table(found)], output, words=words)
        return
    verdicts = _verdicts(inputs, options)
    if verdicts is not None:
        _emit_verdicts(inputs, verdicts, output)
        return
    try:
        held = options.read(inputs)
        es = None if held.only is not None else with_metrics(held.evalset(), only=metrics)
    except SteelyardError as error:
        slip = getattr(error, "line", None) is not None  # which is to be mended first
        if slip or len(inputs) > 1 or not _show_columns(inputs[0], error, output):
            raise
        return
    if held.only is not None:
        options.only_rows_and_columns()
        _show_judgements(inputs[0], held.only, output)
        return
    assert es is not None
    view = overview(es, options.human)
    then = _next(es, options.human)
    emit(view, [view.table()], output, shown=view.pieces(), says_read=True, then=then)


def _verdicts(inputs: tuple[str, ...], options: InputOptions) -> Verdicts | None:
    """Read inputs that look like verdicts of judges; None for anything else."""
    if options.format is not None or any(role == "score" for role, _ in options.columns):
        return None
    from steelyard.formats.verdicts.read import VerdictReading, describe_verdicts

    how = VerdictReading(where=options.where, ignore=tuple(options.ignore))
    return describe_verdicts(inputs, how)


def _emit_verdicts(inputs: tuple[str, ...], verdicts: Verdicts, output: OutputOptions) -> None:
    """Show who judged what, and the commands that weigh judges against people."""
    facts: dict[str, Any] = {
        "kind": verdicts.kind,
        "items": len(verdicts.items),
        verdicts.kind: len(verdicts),
        "systems": list(verdicts.systems),
        "words": list(verdicts.categories),
    }
    for group in ("raters", "judges"):
        opinions = getattr(verdicts, group)
        facts[group] = {one.name: int(one.answered.sum()) for one in opinions}
    flags = {"words": "--words", "swapped": "--swapped"}  # of the commands that fit
    notes = [spoken(note, flags) for note in verdicts.notes]
    result = {"path": inputs[0], "format": "verdicts", **facts, "warnings": notes}
    rows = tuple(
        (key, listed(value, 12) if isinstance(value, list) else _shown(value))
        for key, value in facts.items()
    )
    counts = [plural(len(verdicts.items), "item"), plural(len(facts["judges"]), "judge"),
              plural(len(facts["raters"]), "rater")]  # fmt: skip
    words = [f"{inputs[0]} holds verdicts on {verdicts.kind}: {', '.join(counts)}."]
    then = None
    if facts["raters"] and facts["judges"]:
        people = following.option("--human", following.names(*facts["raters"]))
        then = following.another("judge", *people, keep={"where", "ignore"})
    elif not facts["raters"]:
        words.append("To weigh judges, name the labels of people: steelyard judge --human COLUMNS.")
    table = Table("verdicts", (Column("what"), Column("value")), rows)
    emit(result, [table], output, words=words, then=then)


def _next(es: EvalSet, human: str | None) -> str | None:
    """Weigh metrics where people's scores are there, else compare systems."""
    scores = [name for name, table in es.scores.items() if table.has_segments]
    if not scores and es.outputs:
        return following.another("score", "--metrics", "chrf", keep=following.READING)
    if es.n_systems < 2 or not scores:
        return None
    people = human or (es.human[0] if es.human else None)
    keep = following.READING - {"human"}
    if people in scores and any(name in scores for name in es.metrics):
        named = following.option("--human", people)
        return following.another("meta", *named, keep=keep)
    return following.another("compare", *following.option("--score", scores[0]), keep=keep)


def _show_judgements(path: str, read: Read, output: OutputOptions) -> None:
    """Count what raw judgements hold, and name the command that takes them."""
    facts = judgement_facts(read.value)
    result = {
        "path": path,
        "format": read.form,
        **facts,
        "read": [file.taken_for() for file in read.files],
        "warnings": list(read.notes),
    }
    rows = tuple((key, _shown(value)) for key, value in facts.items())
    counts = ", ".join(f"{value:,} {key}" for key, value in facts.items() if type(value) is int)
    table = Table(read.form, (Column("what"), Column("value")), rows)
    words = [f"{path} holds {read.form}: {counts}."]
    emit(result, [table], output, words=words, then=_next_of_raw(read.value))


def _next_of_raw(value: Any) -> str | None:
    """Give the command that takes raw judgements, where it needs nothing else."""
    from steelyard.data.judgements import BattleLog, Rankings, Ratings

    keep = {"where", "ignore", "columns", "format"}
    if isinstance(value, BattleLog):
        return following.another("compare", keep=keep)
    if isinstance(value, (Ratings, Rankings)):
        return following.another("human", keep=keep)
    return None


def _show_columns(path: str, error: SteelyardError, output: OutputOptions) -> bool:
    """Show the columns of a table that nobody takes without a word; tell whether it is one."""
    from steelyard.formats import cells, columns, registry, tables
    from steelyard.formats.view import FileView

    try:
        if registry.of_file(FileView(Path(path))) is not None:
            return False
        table = tables.read(Path(path), is_text=lambda _: True)
    except SteelyardError:
        return False
    described = []
    for name, column in table.columns.items():
        values = [cells.label(cell) or "" for cell in column]
        distinct = dict.fromkeys(value for value in values if value.strip())
        numbers = cells.numbers_of(column) is not None
        kind = "numbers" if distinct and numbers else "texts" if distinct else "nothing"
        shown = ", ".join(value[:20] for value in list(distinct)[:3])
        described.append(
            {"column": name, "holds": kind, "distinct": len(distinct), "such as": shown}
        )
    battles = columns.are_battles(table)
    warning = str(error) if not battles else "sides of battles, judged in several columns"
    rows: Any = tuple(tuple(row.values()) for row in described)
    headings = tuple(Column(name) for name in ("column", "holds", "distinct", "such as"))
    result = {
        "path": path,
        "format": "verdicts" if battles else "table",
        "n_rows": table.n_rows,
        "columns": described,
        "read": [],
        "warnings": [warning, *table.notes],
    }
    words = [f"{path} has {plural(table.n_rows, 'row')} and {plural(len(rows), 'column')}."]
    human = next((n for n in table.columns if "human" in columns.words(n)), "NAME")
    then = following.another("judge", "--human", human, keep=()) if battles else None
    emit(result, [Table("columns", headings, rows)], output, words=words, then=then)
    return True


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {count}" for key, count in value.items())
    return str(value)


def judgement_facts(value: Any) -> dict[str, Any]:
    """Count what is in raw judgements or annotations."""
    import numpy as np

    from steelyard.data.judgements import BattleLog, Rankings, Ratings

    if isinstance(value, Ratings):
        facts: dict[str, Any] = _sizes(value) | {"ratings": len(value)}
        if value.item is not None:
            facts["items"] = dict(sorted(Counter(value.item).items()))
        known = value.value[~np.isnan(value.value) & ~value.is_item("attention")]
        if known.size:
            facts |= {"min": float(known.min()), "max": float(known.max())}
        if value.errors is not None:
            marked = [error for errors in value.errors for error in errors or ()]
            facts["errors"] = len(marked)
            facts["severities"] = dict(
                sorted(Counter(e.severity or "none" for e in marked).items())
            )
        return facts
    if isinstance(value, Rankings):
        per_row = int((value.system >= 0).sum(axis=1).max(initial=0))
        return _sizes(value) | {"rankings": len(value), "systems per ranking": per_row}
    if isinstance(value, BattleLog):
        outcomes = value.outcome
        return {
            "systems": len(value.systems),
            "battles": len(value),
            "left wins": int((outcomes > 0.5).sum()),
            "right wins": int((outcomes < 0.5).sum()),
            "ties": int((outcomes == 0.5).sum()),
        }
    mentions = {name: sum(len(s.mentions) for s in own) for name, own in value.systems.items()}
    return {"systems": len(mentions), "sentences": value.n_segments, "mentions": mentions}


def _sizes(value: Ratings | Rankings) -> dict[str, Any]:
    names = ("systems", "segments", "raters")
    return {name: len(getattr(value, name)) for name in names}


@command(
    examples=("steelyard data formats", "steelyard data formats --json"),
)
@settled_options
def formats(output: OutputOptions) -> None:
    """List every format that is read or written, with an example and the commands that take it."""
    from steelyard.formats.registry import FORMATS, readable

    taken_by = {
        "EvalSet": ("compare", "meta", "score", "study", "report", "data"),
        "Ratings": ("human", "report", "data"),
        "Rankings": ("human", "compare", "data"),
        "BattleLog": ("compare", "data"),
        "EntityAnnotations": ("score", "compare", "kb", "data"),
    }
    rows: list[dict[str, Any]] = []
    for form in FORMATS:
        commands = taken_by[form.gives.__name__] if readable(form) else ()
        commands = (*commands[:1], "human", *commands[1:]) if form.rated else commands
        rows.append(
            {
                "format": form.name,
                "recognised_by": form.known_by,
                "commands": list(commands),
                "writes": form.write is not None,
                "to": form.to,
                "example": form.example,
                "example_file": form.example_name or None,
            }
        )
    names = ("format", "recognised by", "commands", "writes", "example")
    cells = [
        (
            row["format"],
            row["recognised_by"],
            ", ".join(row["commands"]) or None,
            None if not row["writes"] else row["to"] or "yes",
            row["example"].split("\n")[0],
        )
        for row in rows
    ]
    table = Table("", tuple(map(Column, names)), tuple(cells))
    blocks = [
        f"{name}\n  recognised by  {known}\n  commands       {commands or '--'}\n"
        f"  writes         {writes or 'no'}\n  example        {example}"
        for name, known, commands, writes, example in cells
    ]
    written = sum(row["writes"] for row in rows)
    words = [f"{plural(len(rows), 'format')} are known, {written} of them are written, too."]
    found = {"formats": rows, "warnings": []}
    emit(found, [table], output, words=words, shown=["\n\n".join(blocks)])


@command(
    shape=ANY,
    examples=(
        "steelyard data convert human.csv metrics.csv wmt23.parquet --human mqm",
        "steelyard data convert arena.jsonl battles.csv --to battles",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="IN... OUT")
@click.option("--to", metavar="FORMAT", help="native, mtme, long, wide, system, text, submission, "
              "submission-sys, unified or standalone; errors, ratings, rankings, battles "
              "or entities for judgements; by default OUT's suffix decides.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@click.option("--anonymise-raters", is_flag=True, help="Call raters rater1, rater2, ...")
@click.option("--rater-key", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.json",
              help="Write which rater is who; keep it apart from OUT.")  # fmt: skip
@METRICS
@input_options
@partial(output_options, unused=("seed", "out"))
def convert(
    inputs: tuple[str, ...],
    metrics: tuple[str, ...] | None,
    to: str | None,
    force: bool,  # noqa: FBT001
    anonymise_raters: bool,  # noqa: FBT001
    rater_key: Path | None,
    options: InputOptions,
    output: OutputOptions,
) -> None:
    """Read inputs and write them as one file or folder of another format.

    A folder becomes mt-metrics-eval, .parquet the native format, .csv, .tsv and .jsonl (also .gz)
    a long table. What the target has no place for is named.
    """
    from steelyard.data.selection import with_metrics
    from steelyard.formats import files
    from steelyard.formats.save import anonymous, save

    if len(inputs) < 2:
        raise UsageError("expected IN and OUT; for example: steelyard data convert a.csv a.parquet")
    *sources, name = inputs
    target = Path(name)
    if target.is_file() and not force:
        raise UsageError(f"{target} exists already; --force overwrites it")
    if rater_key is not None and not anonymise_raters:
        raise UsageError("--rater-key goes with --anonymise-raters")
    if rater_key is not None and rater_key.exists() and not force:
        raise UsageError(f"{rater_key} exists already; --force overwrites it")
    value: Any
    held = options.read(sources)
    if held.only is not None:
        options.only_rows_and_columns()
        value, read, notes = held.only.value, held.only.files, held.only.notes
    else:
        value = with_metrics(held.evalset(), only=metrics)
        read, notes = value.inputs, value.notes
    if anonymise_raters:
        value, key = anonymous(value)
    lost = save(value, target, to=to, overwrite=force, human=options.human)
    if rater_key is not None:
        files.write_text(rater_key, dumps(key) + "\n")
    warnings = [*notes, *([f"{target} has no place for: {', '.join(lost)}"] if lost else [])]
    result = {"out": name, "read": [file.taken_for() for file in read], "warnings": warnings}
    table = Table("", (Column("out"),), ((name,),))
    then = following.command("data", "info", name)
    emit(result, [table], output, words=[f"Wrote {target}."], shown=[], then=then)


@command(
    shape=JUDGED,
    examples=(
        "steelyard data check scores.csv --human mqm",
        "steelyard data check wmt23 my-metric.tsv --lp en-de --human mqm",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="INPUT...")
@METRICS
@input_options
@settled_options
def check(
    inputs: tuple[str, ...],
    metrics: tuple[str, ...] | None,
    options: InputOptions,
    output: OutputOptions,
) -> int:
    """Look for all that would make a meta-evaluation lie; exit 2 if there are errors.

    Give a submission together with the set that it is for, so that both are compared.
    """
    from steelyard.data import linting as checks

    need_inputs(inputs)
    es = _load(inputs, options, metrics)
    findings = [replace(f, message=spoken(f.message)) for f in checks.check(es)]
    counts = Counter(f.severity for f in findings)
    result = {
        "n_errors": counts["error"],
        "n_warnings": counts["warning"],
        "findings": [f.to_dict() for f in findings],
        "read": [file.taken_for() for file in es.inputs],
        "warnings": list(es.notes),
    }
    table = checks.table(findings)
    total = ", ".join(plural(counts[name], name) for name in ("error", "warning"))
    words = [f"{total}."]
    if not counts["error"]:
        words.append("Nothing that was looked for would make a meta-evaluation lie.")
    emit(result, [table], output, words=words, shown=[table] if findings else [])
    return 2 if counts["error"] else 0


@command(
    examples=("steelyard data get wmt23", "steelyard data get wmt24 --cache wmt"),
)
@click.argument("name")
@click.option("--url", metavar="URL", help="Where the package is (default: the public WMT one).")
@click.option("--sha256", metavar="HEX", help="Checksum of the package.")
@click.option("--cache", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Where to keep it (default: STEELYARD_CACHE or the user's cache).")  # fmt: skip
@click.option("--force", is_flag=True, help="Unpack again, and download again if need be.")
@partial(output_options, unused=("seed", "out"))
def get(
    name: str,
    url: str | None,
    sha256: str | None,
    cache: Path | None,
    force: bool,  # noqa: FBT001
    output: OutputOptions,
) -> None:
    """Download the public WMT metrics package and unpack one test set, for example wmt23."""
    from steelyard.core.download import get_test_set

    with progress_of(f"downloading {name}", output, in_bytes=True) as progress:
        folder = get_test_set(
            name, url=url, sha256=sha256, cache=cache, progress=progress, force=force
        )
    table = Table("", (Column("name"), Column("path")), ((name, str(folder)),))
    emit({"name": name, "path": str(folder), "warnings": []}, [table], output, str(folder))
