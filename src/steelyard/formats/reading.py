"""From inputs to what they hold: look at each once, name its columns, then decide and read.

Files of one foreign format are put under each other before they are read: the runs of a tool are
one table, whose tasks, epochs and repeated rows are settled together. So are plain tables that name
no system: each file is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.core.errors import UsageError
from steelyard.core.provenance import InputFile
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import PERCENT
from steelyard.data.judgements import Ratings
from steelyard.formats import columns as roles
from steelyard.formats import files, frames, registry, reshape, tables
from steelyard.formats.cells import label
from steelyard.formats.entities import EntityAnnotations
from steelyard.formats.format import (
    FileFormat,
    ForeignFormat,
    Format,
    MarkedFormat,
    SetFormat,
    TableFormat,
)
from steelyard.formats.judged import sheets
from steelyard.formats.rawtable import RawTable, stacked
from steelyard.formats.scoretables import LONG, SYSTEM_TABLE, WIDE
from steelyard.formats.view import FileView

_FILE_ROLES = ("task", "epoch", "rater")  # that files can have by columns={"task": "file"}
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
    judged: bool = False  # raw judgements are wanted: a column may be a rater

    def narrow(self, table: RawTable) -> RawTable:
        """Select rows, drop columns, and call those by our names whose role was given."""
        for column, value in self.where:
            if column in table:
                table = table.where(column, value)
        pair = next((name for name in roles.LANGUAGES if name in table), None)
        if self.lp is not None and pair is not None and pair not in self.ignore:
            pairs = {label(cell) for cell in table.columns[pair]}
            table = table.where(pair, self.lp) if len(pairs) > 1 and self.lp in pairs else table
        table = table.without(self.ignore)
        if self.scale:
            table = sheets.ordered(table, self.scale)
        if self.judged and "rater" not in dict(self.columns):
            table = sheets.with_users(table)
        raters = [name for role, name in self.columns if role == "rater" and name in table]
        raters = raters if len(raters) > 1 else sheets.rater_columns(table) if self.judged else []
        if raters:
            return sheets.by_rater(table, raters)
        # Among ratings a score goes by its name until it is clear what else is there.
        rated = sheets.rater_column(table) is not None
        late = ("rank", "score") if rated else ("rank",)
        return roles.assigned(table, [pair for pair in self.columns if pair[0] not in late])

    def rated(self, table: RawTable) -> RawTable:
        """Call the columns of ratings by our names."""
        scores, ranks = (
            [name for role, name in self.columns if role == wanted and name in table]
            for wanted in ("score", "rank")
        )
        judged = sheets.rated(table, scores or self.named.scores, ranks)
        if judged is table and sheets.rater_column(table) is None:
            return table
        return roles.without_summaries(judged)

    def table(self, path: Path) -> RawTable:
        """Read a file's table, with the columns that select rows as text."""
        names = {column for column, _ in self.where}
        names |= {column for role, column in self.columns if roles.is_text_anywhere(role)}
        return tables.read(path, is_text=lambda name: name in names or roles.is_text_anywhere(name))

    def located(self, table: RawTable) -> RawTable:
        """Add the file and the folder of a log as columns, where the user asks for them."""
        asked = {column for column, _ in self.where} | {column for _, column in self.columns}
        paths = {"file": str(table.path), "folder": str(table.path.parent)}
        added = {name: [paths[name]] * table.n_rows for name in asked & paths.keys()}
        return replace(table, columns={**added, **table.columns})


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


@dataclass(frozen=True, eq=False)
class _Opened:
    """A table whose columns have their roles, or one made of a foreign file: it waits for others.

    Files of one foreign format, and files of one system each, are read together.
    """

    form: TableFormat | ForeignFormat
    table: RawTable
    columns: frozenset[str]  # of the file
    reading: Reading
    sure: bool = False  # the user named the format

    @property
    def is_one_system(self) -> bool:
        """Whether no column names systems, and its scores may be those of one."""
        systems = self.reading.named.systems
        if self.form is not WIDE or (systems and systems <= set(self.table.columns)):
            return False
        if roles.nested_columns(self.table, dict) or roles.are_battles(self.table):
            return False
        return bool(roles.measured(self.table))


def read_all(sources: Sequence[Any], reading: Reading | None = None) -> list[Read]:
    """Read every input; files of one foreign format, or one per system, are one result."""
    reading = reading or Reading()
    plain = replace(reading, form=None)
    # Beside files of the format that is named, others are what they look like.
    claimed = [len(sources) == 1 or _claims(source, reading) for source in sources]
    parts: list[Read | _Opened] = []
    for source, claims in zip(sources, claimed, strict=True):
        parts += _opened(source, reading if claims or not any(claimed) else plain)
    parts = _in_one_unit(parts)
    opened = [part for part in parts if isinstance(part, _Opened)]
    ours = [part for part in opened if not isinstance(part.form, ForeignFormat)]
    role, stacked_files = _files_with_role(ours, reading)
    by_file = _by_file([part for part in ours if part not in stacked_files])
    families: set[str] = set()
    reads: list[Read] = []
    for part in parts:
        if isinstance(part, Read):
            reads.append(part)
        elif isinstance(part.form, ForeignFormat) and part.form.name not in families:
            families.add(part.form.name)
            family = [other for other in opened if other.form.name == part.form.name]
            reads.append(_read_family(part.form, family, reading))
        elif part in ours and part not in (*stacked_files, *by_file):
            reads.append(_read_table(part))
    if stacked_files:
        reads.append(_read_stacked(stacked_files, role))
    if by_file:
        reads.append(_read_by_file([part.table for part in by_file], reads, reading))
    return reads


def _in_one_unit(parts: list[Read | _Opened]) -> list[Read | _Opened]:
    """Read percentages as shares where another input has the same scores without %."""
    opened = {k: part for k, part in enumerate(parts) if isinstance(part, _Opened)}
    tables = _alike([part.table for part in opened.values()])
    alike = {
        k: replace(part, table=table)
        for (k, part), table in zip(opened.items(), tables, strict=True)
    }
    return [alike.get(k, part) for k, part in enumerate(parts)]


def _alike(tables: list[RawTable]) -> list[RawTable]:
    """Give columns of one name the same unit: with % in one table and without in another, ask."""
    for name in dict.fromkeys(n for table in tables for n in table.columns):
        holders = [k for k, table in enumerate(tables) if name in table]
        percent = [k for k in holders if tables[k].has_percents(name)]
        plain = [tables[k] for k in holders if k not in percent]
        if percent and plain:
            for k in percent:
                tables[k] = reshape.as_shares(tables[k], [name], [(t, name) for t in plain])
    return tables


def ask_for_raters(reads: Sequence[Read]) -> None:
    """Ask which columns are raters where a table holds several scores, and no judgements."""
    for read in reads:
        names = list(read.value.scores) if read.form == LONG.name else []
        if len(names) < 2 or any(roles.uses(n) or roles.are_measures([n]) for n in names):
            continue
        shown = " and ".join(f"'{name}'" for name in names[:4])
        raise UsageError(
            f"{read.files[0].path if read.files else frames.PLACE}: no column names raters; "
            f'columns={{"rater": "{names[0]}"}}, and so on for each, if {shown} are raters'
        )


def read_any(source: Any, reading: Reading | None = None) -> tuple[str, Any, set[str]]:
    """Read one input of whatever kind: (name of the format, what it holds, its columns)."""
    (read,) = read_all([source], reading)
    value = read.value
    # A set of a table is a draft, which nobody has checked yet.
    checked = replace(value) if isinstance(value, EvalSet) and read.columns else value
    return read.form, checked, set(read.columns)


# One look at an input.


def _opened(source: Any, reading: Reading) -> list[Read | _Opened]:
    """Recognise an input, and read it as far as that does not depend on others."""
    form = None if reading.form is None else registry.named(reading.form)
    if isinstance(source, EvalSet):
        return [Read("evalset", source)]
    if not isinstance(source, (str, Path)):
        if not frames.recognise(source):
            raise UsageError(f"can't load a {type(source).__name__}: expected a path or a frame")
        return [_of_table(frames.read(source), None, reading)]
    view = FileView(Path(source))
    folder = files.is_folder(view.path)
    if form is None:
        form = registry.of_file(view)
    if folder and not (form is not None and form.folder):
        return _of_folder(view, form, reading)
    if isinstance(form, ForeignFormat):
        return [_unfolded(form, view, reading)]
    if isinstance(form, SetFormat):
        return [_read_set(form, view, reading)]
    if form is None and view.is_log:
        registry.refuse_document(view)
    if view.kind in ("csv", "tsv", "tab") and _JSON.match(view.head):
        view.fail(f"is JSON, though its name says .{view.kind}: rename it to .json or .jsonl")
    return [_of_table(reading.table(view.path), form, reading)]


def _of_folder(view: FileView, form: Format | None, reading: Reading) -> list[Read | _Opened]:
    """Read the logs of a folder, or the tables in it; parts of one table are put together."""
    logs = registry.logs_in(view.path, form)
    paths = [] if logs or form is not None else registry.tables_in(view.path)
    if not paths:
        logs = logs or registry.runs(view.path, form)  # which says that there is nothing to read
        return [_unfolded(log_format, log, reading) for log_format, log in logs]
    parts = [reading.table(path) for path in paths]
    whole = stacked(_alike(parts))
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
    assert isinstance(form, (FileFormat, MarkedFormat))
    other = isinstance(form, MarkedFormat) and registry.of_file(view) is not None
    return not form.folder and not other and form.sees(view)


def _unfolded(form: ForeignFormat, view: FileView, reading: Reading) -> _Opened:
    table = reading.located(form.unfold(view))
    return _Opened(form, table, frozenset(table.columns), reading)


def _read_set(form: SetFormat, view: FileView, reading: Reading) -> Read:
    value = form.read(view, reading.lp, reading.where)
    if form.folder:  # its reader says itself which files it used
        return Read(form.name, value, form.columns, value.inputs, _notes_of(value))
    inputs = (InputFile(str(view.path), form.name, files.sha256(view.path)),)
    value = replace(value, inputs=inputs) if isinstance(value, EvalSet) else value
    return Read(form.name, value, form.columns, inputs)


def _of_table(table: RawTable, form: Format | None, reading: Reading) -> _Opened:
    """Name the columns of a table and decide what it is: another tool's, or one of ours."""
    narrowed = reading.narrow(table)
    claimed = registry.claimed_by(narrowed) if form is None else form
    roled = narrowed if form else reading.rated(narrowed)
    chosen = claimed if form or roled is narrowed else registry.claimed_by(roled)
    chosen = chosen or registry.refuse_table(roled)
    assert isinstance(chosen, TableFormat)
    if chosen.of_scores:
        settled = reshape.by_score(roles.settled(narrowed, reading.named))
        again = form or registry.claimed_by(settled) or registry.refuse_table(settled)
        if isinstance(again, TableFormat) and again.of_scores:
            chosen, roled = again, settled  # raw judgements go by our names only
    elif chosen.numbered:
        roled = roles.numbered(roled)
    return _Opened(chosen, roled, frozenset(table.columns), reading, form is not None)


def _read_table(part: _Opened) -> Read:
    form, table = part.form, part.table
    assert isinstance(form, TableFormat)
    if form in (LONG, SYSTEM_TABLE) and not form.recognise(table):  # the user named the format
        registry.refuse_table(table)
    if form.of_scores:
        wide = not part.sure and roles.SYSTEM[0] not in table
        if wide and roles.are_battles(table):
            registry.refuse_table(table)
        classified = roles.classified(table, part.reading.named)
        described = not set(classified.columns).isdisjoint((*roles.DOCUMENT, *roles.DOMAIN))
        nothing = not described and not roles.score_names(classified)
        if wide and (nothing or roles.nested_columns(table, dict)):
            registry.refuse_table(table)
        table = classified
    paths = list(dict.fromkeys(table.files()))
    return _finished(form.name, form, table, part.columns, paths, part.reading)


def _read_family(form: ForeignFormat, parts: Sequence[_Opened], reading: Reading) -> Read:
    """Read what several files of a foreign format hold together."""
    before = stacked([part.table for part in parts])
    whole = form.settle(before)
    present = frozenset(name for part in parts for name in part.columns)
    present = (present - frozenset(before.columns)) | frozenset(whole.columns)
    narrowed = reading.narrow(whole)
    if form.becomes.recognise(whole) and not form.becomes.recognise(narrowed):
        gone = ", ".join(name for name in whole.columns if name not in narrowed)
        raise UsageError(f"{whole.place}: {form.name} can't be read without column {gone}")
    if form.becomes.gives is Ratings:
        narrowed = reading.rated(narrowed)
    for role, message in whole.needed.items():
        if not any(name in narrowed for name in roles.ASSIGNED[role]):
            whole.fail(message)
    # Columns of rows only that were not selected.
    emptied = [n for n in narrowed.columns if n in whole and narrowed.blank(n) > whole.blank(n)]
    table = narrowed.without(emptied)
    paths = [path for part in parts for path in part.table.files()[:1]]
    read = _finished(form.name, form.becomes, table, present, paths, reading)
    return replace(read, called=frozenset(c for part in parts for c in part.table.given.items()))


def _finished(
    name: str,
    form: TableFormat,
    table: RawTable,
    columns: frozenset[str],
    paths: Sequence[Path],
    reading: Reading,
) -> Read:
    """Prepare a table, read it, and put together what is known of it."""
    prepared = form.prepare(table)
    if reading.inspect is not None:
        reading.inspect(form, prepared)
    value = form.read(prepared)
    judged = not isinstance(value, EvalSet)
    before = roles.described(table, judged=judged)
    folded = [pair for pair in before if pair[0] in _FILE_ROLES]  # which preparing takes out
    after = [pair for pair in roles.described(prepared, judged=judged) if pair not in folded]
    chosen = (*after[:2], *folded, *after[2:])
    percents = [name for name in prepared.columns if prepared.has_percents(name)]
    if percents and isinstance(value, EvalSet):
        chosen += ((PERCENT, tuple(value.scores if form is WIDE else percents)),)
    inputs = tuple(InputFile(str(p), name, files.sha256(p), chosen) for p in paths)
    if isinstance(value, EvalSet):
        value = replace(value, notes=(*value.notes, *prepared.notes), inputs=inputs or value.inputs)
        return Read(name, value, columns, inputs)
    return Read(name, value, columns, inputs, (*prepared.notes, *_notes_of(value)))


def _notes_of(value: Any) -> tuple[str, ...]:
    """Give what was left out of annotations, whose notes no set takes along."""
    return value.notes if isinstance(value, EntityAnnotations) else ()


# A file for each task or run.


def _files_with_role(parts: Sequence[_Opened], reading: Reading) -> tuple[str, list[_Opened]]:
    """Give the role that files have, and the long tables of the same systems and scores with it.

    Files are tasks where these number their items apart, and parts of one table where their names
    say so. Where both tasks and repeated runs are possible, the user is asked.
    """
    asked = [role for role, name in reading.columns if name == "file" and role in _FILE_ROLES]
    forms = (LONG, WIDE) if asked else (LONG,)
    long = [part for part in parts if part.form in forms and part.table.files()]
    tables = [part.table for part in long]
    if len(long) < 2 or asked:
        return asked[0] if asked else "", long if len(long) > 1 else []
    described = any(name in table for table in tables for name in (*roles.TASK, *roles.EPOCH))
    scores = {frozenset(roles.measured(table)) for table in tables}
    systems = [table.labels(roles.SYSTEM[0]) for table in tables]
    alike = len(scores) == len(set(map(frozenset, systems))) == 1 and scores != {frozenset()}
    if described or not alike:
        return "", []
    items = [table.labels(roles.segment_column(table) or "") for table in tables]
    ids = [set(labels) for labels in items]
    if sum(map(len, ids)) == len(set().union(*ids)):
        paths = [path for table in tables for path in table.files()]
        return "" if registry.are_parts(paths) else "task", long
    seen: dict[tuple[str, str], tuple[RawTable, tuple[float, ...]]] = {}
    for table, *names in zip(tables, systems, items, strict=True):
        values = zip(*(roles.values(table, name) for name in sorted(*scores)), strict=True)
        for system, item, row in zip(*names, values, strict=True):
            other, others = seen.setdefault((system, item), (table, row))
            differ = any(abs(a - b) > 0 for a, b in zip(row, others, strict=True))  # never of NaN
            if differ and other is not table:
                same = all(labels == ids[0] for labels in ids)
                if same if reading.judged else _count_apart(ids):
                    return "rater" if reading.judged else "task", long
                ways = (
                    'columns={"rater": "file"} if each file is of one rater'
                    if reading.judged
                    else 'columns={"task": "file"} if each file is a task, '
                    'columns={"epoch": "file"} if they are repeated runs'
                )
                raise UsageError(
                    f"{other.place} and {table.place} have different scores of system '{system}' "
                    f"and segment '{item}': {ways}"
                )
    return "", []


def _count_apart(ids: Sequence[set[str]]) -> bool:
    """Tell whether each file counts its items from 0 or 1, and to another number."""
    counted = all(
        any(labels == {str(k + first) for k in range(len(labels))} for first in (0, 1))
        for labels in ids
    )
    return counted and len({len(labels) for labels in ids}) == len(ids)


def _read_stacked(parts: Sequence[_Opened], role: str) -> Read:
    """Read long tables under each other; their files are tasks or runs, if they have a ``role``."""
    names = _names_of([part.table for part in parts])
    tables = []
    for part, name in zip(parts, names, strict=True):
        column = {role: [name] * part.table.n_rows} if role else {}
        columns = {**part.table.columns, **column}
        given = {**part.table.given, role: "file"}
        tables.append(replace(part.table, columns=columns, given=given))
    whole = stacked(tables)
    if role in ("task", "rater"):
        whole = whole.noted(f"each file is a {role}: {listed(names, 8)}")
    columns_read = frozenset(("file",)).union(*(part.columns for part in parts))
    part = replace(parts[0], table=whole, columns=columns_read)
    if role == "rater":  # its columns are to be named anew
        again = _of_table(whole, None, replace(part.reading, where=(), ignore=(), columns=()))
        part = replace(again, columns=columns_read)
    return _read_table(part)


# A file for each system.


def _by_file(parts: Sequence[_Opened]) -> list[_Opened]:
    """Give the tables of which each file is a system: they share scores, or hold measures."""
    single = [part for part in parts if part.is_one_system]
    if len(single) > 1 and _shared([part.table for part in single]):
        return single

    def measures(part: _Opened) -> bool:
        names = roles.measured(part.table)
        return (
            bool(part.table.facts)
            or roles.are_measures(names)
            or not part.reading.named.scores.isdisjoint(names)
        )

    return [part for part in single if measures(part)]


def _shared(parts: Sequence[RawTable]) -> list[str]:
    names = [roles.measured(table) for table in parts]
    return [name for name in names[0] if all(name in others for others in names)]


def _read_by_file(parts: Sequence[RawTable], others: Sequence[Read], reading: Reading) -> Read:
    """Read tables of which each holds the scores of one system, named by its file."""
    shared = _shared(parts)
    names, note = _systems_of(parts, others, reading)
    rows = []
    for table, name in zip(_keyed(parts), names, strict=True):
        left = [n for n in roles.measured(table) if n not in shared]
        part = roles.unused(table, left)
        columns: dict[str, Any] = {roles.SYSTEM[0]: [name] * part.n_rows, **part.columns}
        in_file = {**part.given, roles.SYSTEM[0]: "the file"}
        rows.append(replace(part, columns=columns, given=in_file))
    whole = stacked(rows).noted(*note)
    opened = _of_table(whole, None, replace(reading, where=(), ignore=(), columns=()))
    present = frozenset(n for t in parts for n in (*t.columns, *t.given.values()))
    return replace(_read_table(opened), by_file=True, columns=present)


def _systems_of(
    parts: Sequence[RawTable], others: Sequence[Read], reading: Reading
) -> tuple[list[str], list[str]]:
    """Name the system of each table, and note what there is to say."""
    systems = sorted({s for read in others for s in getattr(read.value, "systems", ())})
    scores = roles.measured(parts[0])
    picked = not reading.named.scores.isdisjoint(scores)
    if len(parts) == 1 and others and (picked or len(systems) == 1):
        shown = " and ".join(f"'{name}'" for name in scores)
        if len(systems) != 1:
            raise UsageError(
                f"{parts[0].place}: {shown} without a system, beside {len(systems)} systems; "
                "expected a column system"
            )
        return systems, [f"{shown} taken for scores of {systems[0]}, the only system"]
    names = _names_of(parts)
    if len(parts) > 1:
        return names, []
    return names, [f"no column names the system: the file is '{names[0]}'"]


def _names_of(parts: Sequence[RawTable]) -> list[str]:
    paths = [path for table in parts for path in table.files()]
    if len(paths) < len(parts):
        return [f"system {k}" for k in range(1, len(parts) + 1)]
    return files.names_of(paths, "system")


def _keyed(parts: Sequence[RawTable]) -> list[RawTable]:
    """Give all tables a column of segments: theirs, equal texts, or the numbers of rows."""
    columns = [roles.segment_column(table) for table in parts]
    pairs = list(zip(parts, columns, strict=True))
    if all(columns):
        return [roles.called(t, c, "segment") if c and c != "segment" else t for t, c in pairs]
    rows = [str(k + 1) for k in range(parts[0].n_rows)]
    if len(parts) == 1:
        return [_with_ids(parts[0], rows)]
    parts = [roles.called(t, c, f"{t.given.get(c, c)} (unused)") if c else t for t, c in pairs]
    for name in parts[0].columns:
        if name in roles.measured(parts[0]) or not all(name in table for table in parts):
            continue
        texts = [[str(cell) for cell in table.columns[name]] for table in parts]
        if all(len(set(cells)) == len(cells) and set(cells) == set(texts[0]) for cells in texts):
            number = {text: str(k) for k, text in enumerate(texts[0], 1)}
            ids: Iterable[list[str]] = ([number[text] for text in cells] for cells in texts)
            keyed = list(map(_with_ids, parts, ids))
            return [keyed[0].noted(f"rows of the files are matched by '{name}'"), *keyed[1:]]
    for table in parts[1:]:
        if table.n_rows != parts[0].n_rows:
            table.fail(
                f"{plural(table.n_rows, 'row')}, but {parts[0].place} has {parts[0].n_rows}, and "
                'no column names the items: columns={"segment": "NAME"} says which does'
            )
    keyed = [_with_ids(table, rows) for table in parts]
    return [keyed[0].noted("rows of the files are matched by their order"), *keyed[1:]]


def _with_ids(table: RawTable, ids: Sequence[str]) -> RawTable:
    return replace(table, columns={roles.SEGMENT[0]: list(ids), **table.columns})
