"""From inputs to what they hold: recognise each, take the rows and columns wanted, read it.

Files of one foreign format are put under each other before they are read: the runs of a tool are
one table, whose tasks, epochs and repeated rows are settled together. So are plain tables that name
no system: each file is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import InputFile
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.formats import columns as roles
from steelyard.formats import files, frames, registry, tables
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
from steelyard.formats.plaintext import named as names_of
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
    named: roles.Named = field(default_factory=roles.Named)  # which columns are beyond doubt
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
        return roles.without_summaries(sheets.rated(table, scores or self.named.scores))

    def _of_language_pair(self, table: RawTable) -> RawTable:
        """Keep the rows of the language pair that is wanted, if the table has several."""
        column = next((name for name in roles.LANGUAGES if name in table), None)
        if self.lp is None or column is None or column in self.ignore:
            return table
        pairs = {label(cell) for cell in table.columns[column]}
        return table.where(column, self.lp) if len(pairs) > 1 and self.lp in pairs else table

    def placed(self, table: RawTable) -> RawTable:
        """Add the file and the folder of a log as columns, where the user asks for them."""
        asked = {column for column, _ in self.where} | {column for _, column in self.columns}
        places = {"file": str(table.path), "folder": str(table.path.parent)}
        added = {name: [places[name]] * table.n_rows for name in asked & places.keys()}
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
    by_file: bool = False  # no column named the system: each file is one


@dataclass(frozen=True)
class _Unfolded:
    """A table made of a foreign file, which waits for its kin."""

    form: Foreign
    table: RawTable
    columns: frozenset[str]
    file: Path | None


@dataclass(frozen=True)
class _Plain:
    """A table as it stands in a file, and the format it is said to be of."""

    table: RawTable
    form: Format | None = None
    reading: Reading = field(default_factory=Reading)


def read_all(sources: Sequence[Any], reading: Reading | None = None) -> list[Read]:
    """Read every input; files of one foreign format, or one per system, are one result."""
    reading = reading or Reading()
    plain = replace(reading, form=None)
    # Beside files of the format that is named, others are what they look like.
    claimed = [len(sources) == 1 or _claims(source, reading) for source in sources]
    parts: list[Read | _Unfolded | _Plain] = []
    for source, claims in zip(sources, claimed, strict=True):
        parts += _opened(source, reading if claims or not any(claimed) else plain)
    without_system = _without_system([part for part in parts if isinstance(part, _Plain)])
    kin: dict[str, list[_Unfolded]] = {}
    for part in parts:
        if isinstance(part, _Unfolded):
            kin.setdefault(part.form.name, []).append(part)
    reads: list[Read] = []
    for part in parts:
        if isinstance(part, Read):
            reads.append(part)
        elif isinstance(part, _Unfolded):  # where the first of its kin stands
            family = kin.pop(part.form.name, None)
            reads += [] if family is None else [_settled(family, reading)]
        elif not any(part is other for other, _ in without_system):
            reads.append(_read_table(part.table, part.reading, part.form))
    if without_system:
        reads.append(_read_by_file([table for _, table in without_system], reads, reading))
    return reads


def read_any(source: Any, reading: Reading | None = None) -> tuple[str, Any, set[str]]:
    """Read one input of whatever kind: (name of the format, what it holds, its columns)."""
    (read,) = read_all([source], reading)
    value = read.value
    # A set of a table is a draft, which nobody has checked yet.
    checked = replace(value) if isinstance(value, EvalSet) and read.columns else value
    return read.form, checked, set(read.columns)


def _opened(source: Any, reading: Reading) -> list[Read | _Unfolded | _Plain]:
    """Recognise an input, and read it as far as that does not depend on others."""
    form = None if reading.form is None else registry.named(reading.form)
    if isinstance(source, EvalSet):
        return [Read("evalset", source)]
    if not isinstance(source, (str, Path)):
        if not frames.recognise(source):
            raise UsageError(f"can't load a {type(source).__name__}: expected a path or a frame")
        return [_of_table(frames.read(source), None, reading)]
    view = FileView(Path(source))
    if files.is_folder(view.path) and not _is_folder_format(form):
        folder_format = None if form is not None else registry.of_file(view)
        if folder_format is None:
            return _of_folder(view, form, reading)
        form = folder_format
    elif form is None:
        form = registry.of_file(view)
    if isinstance(form, ForeignFormat):
        return [_unfolded(form, view, reading)]
    if isinstance(form, SetFormat):
        return [_read_set(form, view, reading)]
    if form is None and view.is_log:
        registry.refuse_document(view)
    if view.kind in ("csv", "tsv", "tab") and _JSON.match(view.head):
        view.fail(f"is JSON, though its name says .{view.kind}: rename it to .json or .jsonl")
    return [_of_table(reading.table(view.path), form, reading)]


def _of_table(table: RawTable, form: Format | None, reading: Reading) -> _Unfolded | _Plain:
    """Take a table for what another tool wrote, by its columns, or for one of ours."""
    claimed = registry.claimed_by(reading.narrow(table)) if form is None else form
    if isinstance(claimed, ForeignTable):
        return _of_foreign_table(claimed, table, reading, _path(table))
    return _Plain(table, form, reading)


def _of_folder(
    view: FileView, form: Format | None, reading: Reading
) -> list[Read | _Unfolded | _Plain]:
    """Read the logs of a folder, or the tables in it; parts of one table are put together."""
    logs = registry.logs_in(view.path, form)
    if logs or form is not None:
        logs = logs or registry.runs(view.path, form)
        return [_unfolded(log_format, log, reading) for log_format, log in logs]
    paths = registry.tables_in(view.path)
    if not paths:
        registry.runs(view.path)  # which says that there is nothing to read
    parts = [reading.table(path) for path in paths]
    whole = stacked(parts)
    if len(parts) > 1 and not registry.are_parts(paths) and not roles.names_a_system(whole):
        return [_of_table(part, None, reading) for part in parts]
    return [_of_table(whole, None, reading)]


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


def _read_set(form: SetFormat, view: FileView, reading: Reading) -> Read:
    value = form.read(view, reading.lp, reading.where)
    if form.folder:  # its reader says itself which files it used
        return Read(form.name, value, form.columns, value.inputs, _notes_of(value))
    inputs = (InputFile(str(view.path), form.name, files.sha256(view.path)),)
    return Read(form.name, replace(value, inputs=inputs), form.columns, inputs)


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
    before_preparing, prepared = both
    judged = not isinstance(value, EvalSet)
    before = [
        pair
        for pair in roles.described(before_preparing, judged=judged)
        if pair[0] in ("task", "epoch")
    ]
    # Which a table that is prepared has no more.
    after = [pair for pair in roles.described(prepared, judged=judged) if pair not in before]
    roles_of = (*after[:2], *before, *after[2:])
    inputs = tuple(InputFile(str(p), form.name, files.sha256(p), roles_of) for p in paths)
    if isinstance(value, EvalSet):
        value = replace(value, notes=(*value.notes, *prepared.notes), inputs=inputs or value.inputs)
        return Read(form.name, value, columns, inputs)
    return Read(form.name, value, columns, inputs, (*prepared.notes, *_notes_of(value)))


def _notes_of(value: Any) -> tuple[str, ...]:
    """Give what was left out of annotations, whose notes no set takes along."""
    return value.notes if isinstance(value, EntityAnnotations) else ()


def _path(table: RawTable) -> Path | None:
    return None if table.path == frames.PLACE else table.path


def _paths(table: RawTable) -> list[Path]:
    """Give the files that a table comes from."""
    if table.path_of is not None:
        return list(dict.fromkeys(table.path_of(row) for row in range(table.n_rows)))
    path = _path(table)
    return [] if path is None else [path]


def _read_table(table: RawTable, reading: Reading, form: Format | None = None) -> Read:
    """Read one table, by the roles of its columns."""
    present = frozenset(table.columns)
    paths = _paths(table)
    narrowed = reading.narrow(table)
    taken = reading.rated(narrowed) if form is None else narrowed
    chosen = registry.of_table(taken) if form is None else form
    assert isinstance(chosen, TableFormat)
    if chosen.of_scores:
        settled = roles.settled(narrowed, reading.named)
        again = registry.of_table(settled) if form is None else form
        if (
            isinstance(again, TableFormat) and again.of_scores
        ):  # raw judgements go by our names only
            if form is None and roles.SYSTEM[0] not in settled and roles.are_battles(settled):
                registry.refuse_table(settled)
            chosen, taken = again, roles.classified(settled, reading.named)
            if form is None and roles.SYSTEM[0] not in taken:
                described = not set(taken.columns).isdisjoint((*roles.DOCUMENT, *roles.DOMAIN))
                if roles.holds_objects(settled) or not (described or roles.score_names(taken)):
                    registry.refuse_table(settled)
    elif chosen.numbered:
        taken = roles.numbered(taken)
    prepared = chosen.prepare(taken)
    if reading.inspect is not None:
        reading.inspect(chosen, prepared)
    return _finished(chosen, chosen.read(prepared), (taken, prepared), present, paths)


# A file for each system.


def _without_system(parts: Sequence[_Plain]) -> list[tuple[_Plain, RawTable]]:
    """Give the tables that name no system and hold scores, if each file is one."""
    tables_of_one: list[tuple[_Plain, RawTable]] = []
    for part in parts:
        narrowed = part.reading.narrow(part.table)
        taken = part.reading.rated(narrowed)
        form = registry.claimed_by(taken) if part.form is None else part.form
        if not isinstance(form, TableFormat) or not form.of_scores:
            continue
        named = part.reading.named
        if form.name != "wide table" or (named.systems and named.systems <= set(taken.columns)):
            continue
        settled = roles.settled(narrowed, named)
        if roles.holds_objects(settled) or roles.are_battles(settled):
            continue
        if roles.SYSTEM[0] not in settled and roles.measured(settled):
            tables_of_one.append((part, settled))
    named_scores = parts[0].reading.named.scores if parts else frozenset()
    shared = _shared([table for _, table in tables_of_one])
    if len(tables_of_one) > 1 and shared:
        return tables_of_one
    return [
        (part, table)
        for part, table in tables_of_one
        if roles.are_measures(roles.measured(table))
        or not named_scores.isdisjoint(roles.measured(table))
    ]


def _shared(tables_of_one: Sequence[RawTable]) -> list[str]:
    """Give the columns of scores that all tables have."""
    names = [roles.measured(table) for table in tables_of_one]
    return [name for name in names[0] if all(name in others for others in names)] if names else []


def _read_by_file(parts: Sequence[RawTable], others: Sequence[Read], reading: Reading) -> Read:
    """Read tables of which each holds the scores of one system, named by its file."""
    systems = sorted({s for read in others for s in getattr(read.value, "systems", ())})
    is_named = not reading.named.scores.isdisjoint(roles.measured(parts[0]))
    if len(parts) == 1 and others and (is_named or len(systems) == 1):
        names = systems
        shown = " and ".join(f"'{name}'" for name in roles.measured(parts[0]))
        if len(systems) != 1:
            raise UsageError(
                f"{parts[0].place}: {shown} without a system, beside {len(systems)} systems; "
                "expected a column system"
            )
        note = f"{shown} taken for scores of {systems[0]}, the only system"
    else:
        names = _names_of(parts)
        shown = listed([f"'{name}'" for name in names])
        note = f"no column names the system: the file is {shown}" if len(parts) == 1 else ""
    shared = _shared(parts)
    keyed = _keyed(parts)
    rows = []
    for table, name in zip(keyed, names, strict=True):
        left = [n for n in roles.measured(table) if n not in shared]
        table = table.without(left)  # noqa: PLW2901
        columns: dict[str, Any] = {roles.SYSTEM[0]: [name] * table.n_rows, **table.columns}
        given = {**table.given, roles.SYSTEM[0]: "the file"}
        table = replace(table, columns=columns, given=given)  # noqa: PLW2901
        rows.append(table.noted(f"columns not used: {', '.join(left)}") if left else table)
    whole = stacked(rows)
    whole = whole.noted(note) if note else whole
    read = _read_table(whole, replace(reading, where=(), ignore=(), columns=()))
    return replace(read, by_file=True, columns=frozenset(n for t in parts for n in _names(t)))


def _names(table: RawTable) -> set[str]:
    """Give the names of columns in the file."""
    return {*table.columns, *table.given.values()}


def _names_of(parts: Sequence[RawTable]) -> list[str]:
    """Name systems by the stems of their files, or by their folders where these are the same."""
    paths = [_path(table) for table in parts]
    if any(path is None for path in paths):
        return [f"system {k}" for k in range(1, len(parts) + 1)]
    stems = [files.stem(path) for path in paths if path is not None]
    if len(set(stems)) == len(stems):
        return names_of([path for path in paths if path is not None], "system")
    folders = [path.resolve().parent.name for path in paths if path is not None]
    if len(set(folders)) == len(folders) and all(folders):
        return folders
    raise InputError(
        f"two files are called '{stems[0]}': each names a system by its stem, so rename one",
        path=paths[-1],
    )


def _keyed(parts: Sequence[RawTable]) -> list[RawTable]:
    """Give all tables a column of segments: theirs, equal texts, or the numbers of rows."""
    if all(roles.segment_column(table) for table in parts):
        return [_spelt_alike(table) for table in parts]
    if len(parts) == 1:
        return [_with_ids(parts[0], [str(k + 1) for k in range(parts[0].n_rows)])]
    parts = [
        roles.called(table, column, f"{table.given.get(column, column)} (unused)")
        if (column := roles.segment_column(table))
        else table
        for table in parts
    ]
    shared = [n for n in parts[0].columns if all(n in table for table in parts)]
    for name in (n for n in shared if n not in roles.measured(parts[0])):
        texts = [[str(cell) for cell in table.columns[name]] for table in parts]
        if all(len(set(cells)) == len(cells) and set(cells) == set(texts[0]) for cells in texts):
            number = {text: str(k) for k, text in enumerate(texts[0], 1)}
            keyed = [
                _with_ids(table, [number[text] for text in cells])
                for table, cells in zip(parts, texts, strict=True)
            ]
            return [keyed[0].noted(f"rows of the files are matched by '{name}'"), *keyed[1:]]
    for table in parts[1:]:
        if table.n_rows != parts[0].n_rows:
            table.fail(
                f"{plural(table.n_rows, 'row')}, but {parts[0].place} has {parts[0].n_rows}, and "
                'no column names the items: columns={"segment": "NAME"} says which does'
            )
    ids = [str(k + 1) for k in range(parts[0].n_rows)]
    keyed = [_with_ids(table, ids) for table in parts]
    return [keyed[0].noted("rows of the files are matched by their order"), *keyed[1:]]


def _spelt_alike(table: RawTable) -> RawTable:
    column = roles.segment_column(table)
    return table if column in (None, "segment") else roles.called(table, column, "segment")


def _with_ids(table: RawTable, ids: Sequence[str]) -> RawTable:
    return replace(table, columns={roles.SEGMENT[0]: list(ids), **table.columns})
