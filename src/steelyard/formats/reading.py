"""From an input to what it holds: recognise it, take the rows and columns that are wanted, read it.

Files of one foreign format are put under each other before they are read: the runs of a tool are
one table, whose tasks, epochs and repeated rows are settled together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.core.errors import UsageError
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.formats import files, frames, guessing, registry, roles, tables
from steelyard.formats.cells import label
from steelyard.formats.entities import EntityAnnotations
from steelyard.formats.format import (
    FileFormat,
    Foreign,
    ForeignFormat,
    ForeignTable,
    Format,
    MarkedFormat,
    SetFormat,
    TableFormat,
)
from steelyard.formats.judged import sheets
from steelyard.formats.rawtable import RawTable, stacked
from steelyard.formats.view import FileView

_JSON = re.compile(r'\s*(\[\s*)?\{\s*"')  # as no table begins


@dataclass(frozen=True)
class Reading:
    """How to read inputs: which rows and columns, which language pair, what is what."""

    where: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()
    lp: str | None = None
    inspect: Callable[[TableFormat, RawTable], None] | None = None  # sees a table before it is read
    named: guessing.Named = field(default_factory=guessing.Named)  # which columns are beyond doubt
    columns: tuple[tuple[str, str], ...] = ()  # roles, and the columns that have them
    form: str | None = None  # the format of all inputs, whatever they look like
    scale: tuple[str, ...] = ()  # words of ratings, from the worst to the best

    def narrow(self, table: RawTable) -> RawTable:
        """Select rows, drop columns, and call those by our names whose role was given."""
        for column, value in self.where:
            if column in table:
                table = table.where(column, value)
        table = self._of_language_pair(table).without(self.ignore)
        if self.scale:
            table = sheets.ordered(table, self.scale)
        # Among ratings a score goes by its name until it is known what else is there.
        rated = sheets.rater_column(table) is not None
        return roles.assigned(table, [c for c in self.columns if not (rated and c[0] == "score")])

    def rated(self, table: RawTable) -> RawTable:
        """Call the columns of ratings by our names."""
        scores = {name for role, name in self.columns if role == "score"}
        return sheets.rated(table, scores or self.named.scores)

    def _of_language_pair(self, table: RawTable) -> RawTable:
        """Keep the rows of the language pair that is wanted, if the table has several."""
        column = next((name for name in roles.LANGUAGES if name in table), None)
        if self.lp is None or column is None or column in self.ignore:
            return table
        found = {label(cell) for cell in table.columns[column]}
        return table.where(column, self.lp) if len(found) > 1 and self.lp in found else table

    def placed(self, table: RawTable) -> RawTable:
        """Add the file and the folder of a log as columns, where the user asks for them."""
        asked = {column for column, _ in self.where} | {column for _, column in self.columns}
        own = {"file": str(table.path), "folder": str(table.path.parent)}
        added = {name: [own[name]] * table.n_rows for name in asked & own.keys()}
        return replace(table, columns={**added, **table.columns})

    def table(self, path: Path) -> RawTable:
        """Read a file's table, with the columns that select rows as text."""
        names = {column for column, _ in self.where}
        names |= {column for role, column in self.columns if roles.is_text_anywhere(role)}
        return tables.read(path, is_text=lambda name: name in names or roles.is_text_anywhere(name))


@dataclass(frozen=True)
class Read:
    """What an input, or several of one foreign format, held."""

    form: str
    value: Any
    columns: frozenset[str] = frozenset()  # that rows can be selected by
    files: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()  # which a set has as its own
    called: frozenset[tuple[str, str]] = frozenset()  # roles, and what a foreign file calls them


@dataclass(frozen=True)
class _Unfolded:
    """A table made of a foreign file, which waits for its kin."""

    form: Foreign
    table: RawTable
    columns: frozenset[str]
    file: Path | None


def read_all(sources: Sequence[Any], reading: Reading | None = None) -> list[Read]:
    """Read every input; what comes of one foreign format is one result."""
    reading = reading or Reading()
    plain = replace(reading, form=None)
    # Beside files of the format that is named, others are what they look like.
    claimed = [len(sources) == 1 or _claims(source, reading) for source in sources]
    found: list[Read | _Unfolded] = []
    for source, own in zip(sources, claimed, strict=True):
        found += _read(source, reading if own or not any(claimed) else plain)
    kin: dict[str, list[_Unfolded]] = {}
    for one in found:
        if isinstance(one, _Unfolded):
            kin.setdefault(one.form.name, []).append(one)
    results: list[Read] = []
    for one in found:
        if isinstance(one, Read):
            results.append(one)
        elif kin[one.form.name]:
            results.append(_settled(kin[one.form.name], reading))
            kin[one.form.name] = []
    return results


def read_any(source: Any, reading: Reading | None = None) -> tuple[str, Any, set[str]]:
    """Read one input of whatever kind: (name of the format, what it holds, its columns)."""
    (found,) = read_all([source], reading)
    value = found.value
    # A set of a table is a draft, which nobody has checked yet.
    checked = replace(value) if isinstance(value, EvalSet) and found.columns else value
    return found.form, checked, set(found.columns)


def _read(source: Any, reading: Reading) -> list[Read | _Unfolded]:
    if isinstance(source, EvalSet):
        return [Read("evalset", source)]
    if not isinstance(source, (str, Path)):
        if not frames.recognise(source):
            raise UsageError(f"can't load a {type(source).__name__}: expected a path or a frame")
        return [_read_table(frames.read(source), reading)]
    view = FileView(Path(source))
    form = None if reading.form is None else registry.named(reading.form)
    if files.is_folder(view.path) and not _is_folder_format(form):
        found = None if form is not None else registry.of_file(view)
        if found is None:
            return [_unfolded(own, one, reading) for own, one in registry.runs(view.path, form)]
        form = found
    elif form is None:
        form = registry.of_file(view)
    if isinstance(form, ForeignFormat):
        return [_unfolded(form, view, reading)]
    if isinstance(form, SetFormat):
        return [_read_set(form, view, reading)]
    return [_read_table(_table(view, reading, form), reading, form)]


def _claims(source: Any, reading: Reading) -> bool:
    """Tell whether an input looks like the format that is named."""
    if reading.form is None or not isinstance(source, (str, Path)):
        return False
    form, view = registry.named(reading.form), FileView(Path(source))
    if files.is_folder(view.path):
        return form.folder or bool(registry.logs_in(view.path, form))
    if isinstance(form, FileFormat):
        return not form.folder and form.sees(view)
    assert isinstance(form, MarkedFormat)
    return registry.of_file(view) is None and form.marked_by(roles.of_names(view.names))


def _is_folder_format(form: Format | None) -> bool:
    return form is not None and form.folder


def _table(view: FileView, reading: Reading, form: Format | None) -> RawTable:
    if form is None and view.is_log:
        registry.refuse_document(view)
    if view.kind in ("csv", "tsv", "tab") and _JSON.match(view.head):
        view.fail(f"is JSON, though its name says .{view.kind}: rename it to .json or .jsonl")
    return reading.table(view.path)


def _read_set(form: SetFormat, view: FileView, reading: Reading) -> Read:
    value = form.read(view, reading.lp, reading.where)
    if form.folder:  # its reader says itself which files it used
        return Read(form.name, value, form.columns, value.inputs, _said(value))
    own = (InputFile(str(view.path), form.name, files.sha256(view.path)),)
    return Read(form.name, replace(value, inputs=own), form.columns, own)


def _unfolded(form: Foreign, view: FileView, reading: Reading) -> _Unfolded:
    if isinstance(form, ForeignFormat):
        table = reading.placed(form.unfold(view))
        return _Unfolded(form, table, frozenset(table.columns), view.path)
    assert isinstance(form, ForeignTable)
    return _of_foreign_table(form, reading.table(view.path), reading, view.path)


def _of_foreign_table(
    form: ForeignTable, raw: RawTable, reading: Reading, path: Path | None
) -> _Unfolded:
    table = reading.placed(form.unfold(reading.narrow(raw)))
    return _Unfolded(form, table, frozenset((*raw.columns, *table.columns)), path)


def _settled(parts: Sequence[_Unfolded], reading: Reading) -> Read:
    """Read what several files of a foreign format hold together."""
    form = parts[0].form
    whole = stacked([part.table for part in parts])
    present = frozenset(name for part in parts for name in part.columns)
    before, whole = whole, form.settle(whole)
    present = (present - frozenset(before.columns)) | frozenset(whole.columns)
    narrowed = reading.narrow(whole)
    if form.becomes.recognise(whole) and not form.becomes.recognise(narrowed):
        gone = ", ".join(name for name in whole.columns if name not in narrowed)
        raise UsageError(f"{whole.place}: {form.name} can't be read without column {gone}")
    if form.becomes.gives is Ratings:
        narrowed = reading.rated(narrowed)
    for role, said in whole.needed.items():
        if not any(name in narrowed for name in roles.ASSIGNED[role]):
            whole.fail(said)
    others = [name for name in narrowed.columns if _is_emptied(name, narrowed, whole)]
    unprepared = narrowed.without(others)
    table = form.becomes.prepare(unprepared)
    if reading.inspect is not None:
        reading.inspect(form.becomes, table)
    value = form.becomes.read(table)
    paths = [part.file for part in parts if part.file is not None]
    called = frozenset(pair for part in parts for pair in part.table.given.items())
    return replace(_finished(form, value, (unprepared, table), present, paths), called=called)


def _is_emptied(name: str, table: RawTable, whole: RawTable) -> bool:
    """Tell whether a column is one of rows only that were not selected."""
    if name not in whole or any(cell is not None for cell in table.columns[name]):
        return False
    return any(cell is not None for cell in whole.columns[name])


def _finished(
    form: Format,
    value: Any,
    both: tuple[RawTable, RawTable],
    columns: frozenset[str],
    paths: Sequence[Path],
) -> Read:
    """Put together what was read, given the table before and after it was prepared."""
    found, prepared = both
    judged = not isinstance(value, EvalSet)
    before = [one for one in roles.described(found, judged=judged) if one[0] in ("task", "epoch")]
    # Which a table that is prepared has no more.
    after = [one for one in roles.described(prepared, judged=judged) if one not in before]
    roles_of = (*after[:2], *before, *after[2:])
    own = tuple(InputFile(str(p), form.name, files.sha256(p), roles_of) for p in paths)
    if isinstance(value, EvalSet):
        value = replace(value, notes=(*value.notes, *prepared.notes), inputs=own or value.inputs)
        return Read(form.name, value, columns, own)
    return Read(form.name, value, columns, own, (*prepared.notes, *_said(value)))


def _said(value: Any) -> tuple[str, ...]:
    """Give what was left out of annotations, whose notes no set takes along."""
    return value.notes if isinstance(value, EntityAnnotations) else ()


def _read_table(table: RawTable, reading: Reading, form: Format | None = None) -> Read | _Unfolded:
    columns = frozenset(table.columns)
    path = None if table.path == frames.PLACE else table.path
    narrowed = reading.narrow(table)
    if form is None and not isinstance(registry.claimed_by(narrowed), ForeignTable):
        narrowed = reading.rated(narrowed)
    found = registry.of_table(narrowed) if form is None else form
    if isinstance(found, ForeignTable):
        return _of_foreign_table(found, table, reading, path)
    assert isinstance(found, TableFormat)
    table = narrowed
    notes: list[str] = []
    if found.of_scores:
        plain, said = guessing.plain_names(table)
        notes += said
        named, said = guessing.settled(plain, reading.named)
        as_named = registry.of_table(named) if form is None else found
        wide = roles.SYSTEM[0] not in named
        if form is None and wide and not guessing.holds_scores(named):
            registry.refuse_table(named)
        if isinstance(as_named, TableFormat) and as_named.of_scores:
            found, (table, odd) = as_named, guessing.checked(named, reading.named)
            notes += said + odd  # raw judgements go by our names only
    elif found.numbered:
        table, said = guessing.numbered(table)
        notes += said
    table = replace(table, notes=(*table.notes, *notes))
    prepared = found.prepare(table)
    if reading.inspect is not None:
        reading.inspect(found, prepared)
    paths = [] if path is None else [path]
    return _finished(found, found.read(prepared), (table, prepared), columns, paths)
