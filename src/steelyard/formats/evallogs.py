"""Logs of tools that evaluate language models: lm-eval, Inspect, promptfoo, SWE-bench.

A row is an item that a model answered. An item that was answered several times has an epoch each,
which the long table averages.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from steelyard.core.errors import shown_path
from steelyard.core.table import dumps
from steelyard.core.text import listed, plural
from steelyard.data.segments import natural_key
from steelyard.formats import archives, reshape
from steelyard.formats.cells import skipping
from steelyard.formats.foreign import BETTER_HIGH, TRUTH, Log, Row, foreign
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.scoretables import LONG
from steelyard.formats.view import FileView, Record, document, records, within


def _dotted(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": value for name, value in values.items()}


# Inspect ------------------------------------------------------------------------------------------

#: Inspect's own scale: correct, partly, incorrect, no answer; and the words it takes for truth.
_GRADES = {**TRUTH, "C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
_CUT = 1000  # characters; a text of a summary that is as long may be cut
_FAILED = "failed run"  # what a log without a usable sample has instead of rows
_HEADERS = ("header.json", "_journal/start.json")  # of a run that ended, and that broke off


def _is_inspect(view: FileView) -> bool:
    """Tell an archive, or a document with a model, a task and a status."""
    if view.look == "zip":
        return True  # any other archive is refused by name
    if '"eval"' not in view.head or not view.has("version", "status", "eval"):
        return False  # the head, since other logs are too large to be parsed for this
    run = (view.record or {})["eval"]
    return isinstance(run, dict) and "model" in run and "task" in run


class _InspectRun(NamedTuple):
    """A log of Inspect, wherever it was read from; summaries may have cut texts."""

    header: Record
    samples: list[Record]
    are_summaries: bool = False
    broke_off: bool = False

    def failure(self) -> str | None:
        """Say how a run ended that did not succeed, None for others."""
        status = self.header.words("status") or "unknown"
        if not self.broke_off and status in ("success", "unknown"):
            return None
        run = self.header.if_object("eval")
        dataset, epochs = run.if_object("dataset"), run.if_object("config").get("epochs")
        ids = dataset.get("sample_ids")
        n_planned = len(ids) if isinstance(ids, list) and ids else dataset.get("samples")
        of = plural(len(self.samples), "sample")
        if type(n_planned) is int and n_planned > 0:
            n_planned *= epochs if type(epochs) is int and epochs > 1 else 1
            of = f"{len(self.samples):,} of {plural(n_planned, 'sample')}"
        ending = "broke off" if self.broke_off else f"ended with status {status}"
        return f"the run {ending} after {of}"


def _inspect_archive(view: FileView) -> _InspectRun:
    """Read summaries of samples; a run that broke off may have only the samples themselves."""
    if not archives.is_zip(view.path):
        view.fail("is no zip archive, as logs named .eval are")
    with archives.opened(view.path) as archive:
        name = next((name for name in _HEADERS if name in archive), None)
        if name is None:
            lacks = f"it has neither {' nor '.join(_HEADERS)}"
            view.fail(f"is a zip archive, but no log of Inspect: {lacks}")
        header = Record.of(view, None, archive.json(name), f"{name}/")
        lists = ["summaries.json"]
        if lists[0] not in archive:
            lists = sorted(archive.names("_journal/summaries/"), key=natural_key)
        samples = [
            sample
            for member in lists
            for sample in Record(view, None, {member: archive.json(member)}).objects(member)
        ]
        samples += [
            Record.of(view, None, archive.json(member), f"{member}/")
            for member in (() if lists else archive.names("samples/"))
        ]
    return _InspectRun(header, samples, are_summaries=True, broke_off=name != _HEADERS[0])


def _without_failed_runs(table: RawTable) -> RawTable:
    """Leave out runs without a usable sample; refuse them where there are no others."""
    failures = table.columns.get(_FAILED)
    if failures is None:
        return table
    messages = [
        f"{shown_path(table.path if table.path_of is None else table.path_of(row))}: {failure}"
        for row, failure in enumerate(failures)
        if failure is not None
    ]
    if len(messages) == table.n_rows:
        table.fail("; ".join(messages[:6]).removeprefix(f"{table.place}: "))
    kept = table.take([row for row, failure in enumerate(failures) if failure is None])
    return replace(kept.without([_FAILED]), notes=(*table.notes, *messages))


@foreign(
    "Inspect log",
    LONG,
    grades=_GRADES,
    names={"system": "eval.model", "segment": "id", "task": "eval.task"},
    looks=("zip", "json"),
    recognise=_is_inspect,
    files=("*.eval", "*.json"),
    settle=_without_failed_runs,
    known_by=".eval archive, or JSON with version, status, eval and samples",
    example='{"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, '
    '"samples": [{"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}}}]}\n',
    example_name="2026-11-17T00-16-45_t_abc.json",
)
def inspect_log(log: Log) -> Iterator[Row]:
    """Yield a row per sample and epoch, with a score per scorer or part of its value."""
    if log.view.look == "zip":
        run = _inspect_archive(log.view)
    else:
        run = _InspectRun(document(log.view), list(within(log.view, "samples")))
    failure = run.failure()
    if run.header.get("samples") is None and not run.are_summaries and failure is None:
        log.view.fail("holds no samples (Inspect wrote it without them)")
    about = run.header.object("eval")
    config = about.inner("config")
    system = log.system(about.words("model"), "file", "'eval.model' names none")
    n_failed = n_unscored = 0
    rows = []
    for sample in run.samples:
        scores = _inspect_scores(sample.inner("scores"))
        # A run may be told to score samples that failed.
        is_scored_error = bool(scores) and config.get("score_on_error") is True
        is_void = sample.get("invalidation") is not None or (
            sample.get("error") is not None and not is_scored_error
        )
        n_failed += is_void
        n_unscored += not is_void and not scores
        target = sample.text_if_any("target") or ""
        may_be_cut = run.are_summaries and len(target) >= _CUT
        metadata = _dotted("metadata", sample.if_object("metadata").values)
        row = log.row(
            sample,
            {} if is_void else scores,
            metadata | {name: sample.words(name) for name in ("input", "target")},
            system=system,
            segment=sample.name("id"),
            task=about.words("task") or "task",
            epoch=sample.name("epoch", 1),
            output=sample.if_object("output").text_if_any("completion"),
            reference=None if may_be_cut else target or None,
        )
        rows.append(row)
    if failure is not None and n_failed + n_unscored == len(rows):
        yield log.row(None, **{_FAILED: failure})
        return
    yield from rows
    log.note("samples failed or were declared invalid: their scores are missing", n_failed)
    log.note("samples have no scores", n_unscored)
    if failure is not None:
        log.note(failure)
    if run.header.get("invalidated") is True:
        log.note("the log was declared invalid")
    reducers = config.get("epochs_reducer")
    others = [str(r) for r in reducers if r != "mean"] if isinstance(reducers, list) else []
    if others:
        log.note(f"Inspect reduced epochs by {listed(others)}; here scores are means over epochs")


def _inspect_scores(scorers: Record) -> dict[str, Any]:
    scores: dict[str, Any] = {}
    for name in scorers.values:
        value = scorers.object(name).get("value")
        scores |= _dotted(name, value) if isinstance(value, dict) else {name: value}
    return scores


# lm-evaluation-harness ----------------------------------------------------------------------------

_SAMPLES_FILE = re.compile(
    r"samples_(?P<task>.+?)(_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[.\d]*))?\.jsonl"
)
_HASH = "doc_hash"
#: Keys of a row that are no metrics, where a row does not name its metrics (before 0.4.5).
_NO_METRICS = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
     "doc_hash", "prompt_hash", "target_hash", "schema")
)  # fmt: skip


def _answer(responses: object) -> str | None:
    """Return the answer of a model that wrote one; those that weigh choices have numbers."""
    while isinstance(responses, list) and responses:
        responses = responses[0]
        is_pair = isinstance(responses, list) and len(responses) == 2
        if is_pair and str(responses[1]) in ("True", "False"):  # type: ignore[index]
            return None
    return responses if isinstance(responses, str) else None


def _same_documents(table: RawTable) -> RawTable:
    """Refuse documents that have one number and are not the same in all runs."""
    unknown = [None] * table.n_rows
    hashes, tasks = table.columns.get(_HASH, unknown), table.columns.get("task", unknown)
    first: dict[tuple[Any, Any], int] = {}
    for row, key in enumerate(zip(tasks, table.columns["segment"], strict=True)):
        earlier = row if hashes[row] is None else first.setdefault(key, row)
        if hashes[earlier] != hashes[row]:
            table.fail(
                f"doc_id '{key[1]}' is another document than {table.place_of(earlier)}: its "
                f"{_HASH} differs ({skipping(_HASH)} compares them all the same, "
                f'columns={{"segment": "{_HASH}"}} those that agree)',
                row,
            )
    return reshape.folded(table.without([_HASH]))


@foreign(
    "lm-evaluation-harness samples",
    replace(LONG, prepare=_same_documents),
    names={"system": "model_name of the results", "segment": "doc_id", "task": "name of the file"},
    keys=("doc_id", "resps", "filtered_resps"),
    files=("samples_*.jsonl*",),
    known_by="samples_TASK_TIME.jsonl: doc_id, resps and filtered_resps",
    example='{"doc_id": 0, "resps": [["six"]], "filtered_resps": ["six"], "filter": "none", '
    '"metrics": ["acc"], "acc": 1.0}\n',
    example_name="model-1/samples_task_2026-11-17T00-16-45.330923.jsonl",
)
def lm_eval_samples(log: Log) -> Iterator[Row]:
    """Yield a row per document; scores are called METRIC,FILTER as in the results of lm-eval.

    Samples do not name the model: that stands in the results of the same folder and time.
    """
    match = _SAMPLES_FILE.fullmatch(log.view.name)
    task, time = (match["task"], match["time"]) if match else (log.view.stem, None)
    results = Record(log.view, None, log.view.beside(f"results_{time}.json") if time else {})
    system = log.system(results.words("model_name"), "folder", "no results beside it name a model")
    higher = results.if_object("higher_is_better").if_object(task).values
    rows: dict[str, Row] = {}
    scores: dict[str, dict[str, Any]] = {}  # by item
    seen: set[tuple[str, str]] = set()
    for record in log.records():
        item, filter_name = record.name("doc_id"), record.name("filter", "none")
        if (item, filter_name) in seen:
            repeated = f"doc_id '{item}' with filter '{filter_name}'"
            record.fail(f"{repeated} stands on line {rows[item].start} already")
        seen.add((item, filter_name))
        if item not in rows:
            scores[item] = {}
            output, target = _answer(record.get("resps")), record.text_if_any("target")
            cells = {
                "system": system,
                "segment": item,
                "task": task,
                "output": output,
                "reference": target if output is not None else None,  # else it numbers a choice
                _HASH: record.words(_HASH),
            }
            metadata = _dotted("doc", record.if_object("doc").values)
            rows[item] = Row(record.start, cells, scores[item], metadata)
        if "metrics" in record.values:
            metrics = record.texts("metrics")
        else:
            metrics = [key for key in record.values if key not in _NO_METRICS]
        for metric in metrics:
            score = metric if filter_name == "none" else f"{metric},{filter_name}"
            scores[item][score] = record.get(metric)
            if isinstance(higher.get(metric), bool):
                log.facts[score] = Stated(higher_is_better=higher[metric])
    yield from rows.values()


# promptfoo ----------------------------------------------------------------------------------------

_OF_RESULT = ("promptIdx", "testIdx", "testCase", "provider", "success", "score")
_EARLY = ('"evalId"', '"gradingResult"', '"provider"')  # one of them stands near the beginning
_PROVIDER_ERROR = 2  # of failureReason; 1 is an assertion that failed
_LONGEST_PROMPT = 40  # characters that name a system


class _Result(NamedTuple):
    """What a provider answered to a test with a prompt."""

    record: Record
    column: object  # the pair of a provider and a prompt
    provider: str
    prompt: str
    number: int | None  # of the test, the same for all systems; old files have none
    test: str  # what the test is, the same for its repeats
    variables: Mapping[str, Any]
    problem: str  # "error" or "unasserted" if nothing was measured

    @classmethod
    def of(cls, record: Record) -> _Result:
        fields = record.if_object("provider")
        provider = record.words("provider") or fields.words("label") or fields.words("id")
        if provider is None:
            record.wrong("provider", "one with a label or an id")
        prompt = record.inner("prompt").words("label") or record.words("promptId") or ""
        case = record.inner("testCase")
        variables = (case if isinstance(case.get("vars"), dict) else record).inner("vars").values
        column, assertions = record.get("promptIdx"), case.get("assert")
        reason, problem = record.get("failureReason"), ""
        failed = reason is None and record.get("error") and not record.get("gradingResult")
        if reason == _PROVIDER_ERROR or failed:
            problem = "error"
        elif not assertions and not record.if_object("gradingResult").get("componentResults"):
            problem = "unasserted"
        return cls(
            record,
            column if isinstance(column, int) else (provider, prompt),
            provider,
            prompt,
            record.whole("testIdx"),
            _as_json([variables, case.get("description"), assertions], record),
            variables,
            problem,
        )

    @property
    def source(self) -> str | None:
        """The only variable, if it is a text; else all of them."""
        only = next(iter(self.variables.values()), "")
        if len(self.variables) > 1 or not isinstance(only, str):
            return _as_json(self.variables, self.record)
        return only or None

    @property
    def scores(self) -> dict[str, Any]:
        """The score, the success, and scores by name."""
        scores = {name: self.record.get(name) for name in ("score", "success")}
        named = self.record.inner("namedScores").values
        return scores | {f"{n} (named)" if n in scores else n: x for n, x in named.items()}


def _is_promptfoo(view: FileView) -> bool:
    if not any(key in view.head for key in _EARLY):
        return False  # other logs are too large to be parsed for this
    results = (view.record or {}).get("results")
    is_document = isinstance(results, dict) and "results" in results and view.has("config")
    return is_document or view.has(*_OF_RESULT)


def _as_json(value: Any, record: Record) -> str:
    try:
        return dumps(value, indent=None)
    except RecursionError:
        record.fail("the test is nested too deeply")


def _promptfoo_systems(log: Log, results: list[_Result]) -> dict[object, str]:
    """Name every pair of a provider and a prompt, so that no two have one name."""
    first = {result.column: result for result in reversed(results)}
    several = len({result.prompt for result in first.values()}) > 1
    names: dict[object, str] = {}
    for column, result in sorted(first.items(), key=lambda pair: str(pair[0])):
        prompt = " ".join(result.prompt.split())
        if len(prompt) > _LONGEST_PROMPT:
            prompt = f"{prompt[: _LONGEST_PROMPT - 3]}..."
        name = f"{result.provider} [{prompt}]" if several else result.provider
        used = set(names.values())
        if name in used:
            name = next(n for k in range(2, len(first) + 2) if (n := f"{name} #{k}") not in used)
            log.note(f"two columns of results have one name: the second is called '{name}'")
        names[column] = name
    if several:
        log.note("systems are providers with a prompt, as PROVIDER [PROMPT]")
    return names


def _with_numbered_tests(table: RawTable) -> RawTable:
    """Number the tests of all files together: each may hold other ones, in any order.

    Descriptions of several files are tasks where no two of them share a test.
    """
    tests, suites = table.columns["segment"], table.columns.get("task", [None] * table.n_rows)
    shared = len(set(zip(tests, suites, strict=True))) > len(set(tests))
    if table.path_of is None or None in suites or shared:
        table, suites = table.without(["task"]), [None] * table.n_rows
    files_of: dict[Any, set[Any]] = defaultdict(set)  # of a test, and of a suite
    for row, (test, suite) in enumerate(zip(tests, suites, strict=True)):
        for group in (test, (suite,)):
            files_of[group].add(table.path_of and table.path_of(row))
    suite_of = dict(zip(tests, suites, strict=True))
    numbers = {test: str(number) for number, test in enumerate(suite_of)}
    n_lone = sum(len(files_of[test]) < len(files_of[suite,]) for test, suite in suite_of.items())
    lone = f"{n_lone:,} of {plural(len(numbers), 'test')} not in all files of promptfoo"
    note = f"{lone}: one is known by its variables, description and assertions"
    columns = {**table.columns, "segment": [numbers[test] for test in tests]}
    return replace(table, columns=columns, notes=(*table.notes, *([note] if n_lone else [])))


@foreign(
    "promptfoo results",
    LONG,
    names={"system": "provider", "segment": "place of the test", "epoch": "repeat",
           "task": "config.description", "source": "vars", "output": "response.output"},
    recognise=_is_promptfoo,
    files=("*.json", "*.jsonl"),
    settle=_with_numbered_tests,
    known_by="JSON with config and results.results; JSONL with promptIdx, testIdx, testCase",
    example='{"promptIdx": 0, "testIdx": 0, "provider": {"id": "p"}, "testCase": {"vars": '
    '{"q": "1+1?"}, "assert": [{"type": "equals", "value": "2"}]}, "success": true, "score": 1, '
    '"namedScores": {}, "failureReason": 0}\n',
    example_name="results.jsonl",
)  # fmt: skip
def promptfoo_results(log: Log) -> Iterator[Row]:
    """Yield a row per system, test and repeat.

    A test is known by its variables, description and assertions, in all files: ``--repeat`` writes
    it again under another number, which is an epoch here.
    """
    is_lines = log.view.has(*_OF_RESULT)
    rows = records(log.view) if is_lines else within(log.view, "results", "results")
    config = Record(log.view, None, {}) if is_lines else document(log.view).inner("config")
    # Threads finish in any order.
    results = sorted(map(_Result.of, rows), key=lambda result: result.number or 0)
    systems = _promptfoo_systems(log, results)
    log.facts = {"score": BETTER_HIGH, "success": BETTER_HIGH}
    tests: dict[object, _Result] = {}
    n_answers: Counter[tuple[object, str]] = Counter()
    for result in results:
        # What a provider adds to the variables (a session) does not make another test.
        test = tests.setdefault(result.test if result.number is None else result.number, result)
        n_answers[result.column, test.test] += 1
        yield log.row(
            result.record,
            {} if result.problem else result.scores,
            _dotted("vars", test.variables),
            system=systems[result.column],
            segment=test.test,
            task=config.words("description"),
            epoch=str(n_answers[result.column, test.test]),
            source=test.source,
            output=result.record.if_object("response").text_if_any("output"),
        )
    problems = Counter(result.problem for result in results)
    log.note("results are errors of the provider: their scores are missing", problems["error"])
    log.note("results assert nothing: their scores are missing", problems["unasserted"])


# SWE-bench: a file per model with the instances it resolved; any instance that a file names is an
# item of all models.

_RESOLVED = ("resolved", "resolved_ids")
_PLAIN = ("results", "report")  # names of files and folders that name no model


def _all_items(table: RawTable) -> RawTable:
    """Give every model a row for every instance: 0 where its file does not list it as resolved."""
    systems, items = table.labels("system"), table.labels("segment")
    row_of = {key: row for row, key in enumerate(zip(systems, items, strict=True))}
    first = {system: row for row, system in reversed(list(enumerate(systems)))}
    keys = [(system, item) for system in first for item in dict.fromkeys(items)]
    kept = table.take([row_of.get(key, first[key[0]]) for key in keys])
    solved = [table.columns["resolved"][row_of[key]] if key in row_of else 0.0 for key in keys]
    columns = {**kept.columns, "segment": [item for _, item in keys], "resolved": solved}
    note = f"accuracy is over the {len(set(items)):,} instances that any file names"
    return replace(kept, columns=columns).noted(note)


@foreign(
    "SWE-bench results",
    LONG,
    names={"system": "name of the file or folder", "segment": "resolved"},
    recognise=lambda v: any(isinstance((v.record or {}).get(key), list) for key in _RESOLVED),
    files=("*.json",),
    settle=_all_items,
    empty="names no instance",
    known_by="JSON with resolved or resolved_ids: a list of instances",
    example='{"no_generation": ["django-2"], "resolved": ["django-1", "sympy-7"]}\n',
    example_name="model-1/results/results.json",
)
def swebench_results(log: Log) -> Iterator[Row]:
    """Yield a row per instance that any list of the file names."""
    report = document(log.view)
    parts = (log.view.stem, *(part.name for part in log.view.path.resolve().parents))
    system = next((part for part in parts if part not in _PLAIN), log.view.stem)
    lists = {key: value for key, value in report.values.items() if isinstance(value, list)}
    solved = {str(item) for key in _RESOLVED for item in lists.get(key, ())}
    for item in sorted(solved.union(*(map(str, value) for value in lists.values()))):
        yield log.row(None, {"resolved": float(item in solved)}, system=system, segment=item)


FORMATS = (inspect_log, lm_eval_samples, promptfoo_results, swebench_results)
