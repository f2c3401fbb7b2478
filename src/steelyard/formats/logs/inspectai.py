"""Logs of Inspect (inspect_ai): ``.eval`` archives, and the same as JSON.

An archive has the scores of all samples in ``summaries.json``; a run that broke off has them in its
journal, or in the samples themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.formats import scoretables
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs import archives
from steelyard.formats.logs.archives import Archive
from steelyard.formats.logs.logrows import TRUTH, Rows
from steelyard.formats.rawtable import RawTable
from steelyard.formats.record import Record, document, within
from steelyard.formats.view import FileView

#: Inspect's own scale: correct, partly, incorrect, no answer; and the words it takes for truth.
_GRADES = {**TRUTH, "C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
_WHOLE = 1000  # characters; a text of a summary that is as long may be cut
_MEMBERS = "neither header.json nor _journal/start.json"


@dataclass(frozen=True)
class _Log:
    """A log, wherever it was read from."""

    header: Record
    samples: Iterable[Record]
    brief: bool = False  # texts may be cut
    broken: bool = False


def recognise(view: FileView) -> bool:
    """Tell an archive, or a document with a model, a task and a status."""
    if view.kind == "eval" or archives.is_zip(view.path):
        return True  # any other archive is refused by name
    if '"eval"' not in view.head or not view.has("version", "status", "eval"):
        return False  # the head, since other logs are too large to be parsed for this
    assert view.record is not None
    own = view.record["eval"]
    return isinstance(own, dict) and "model" in own and "task" in own


def unfold(view: FileView) -> RawTable:
    """Give a row per sample and epoch, with a column per scorer or part of its value."""
    log = _read(view)
    rows = Rows(view, _GRADES)
    own = log.header.object("eval")
    system = own.words("model")
    if system is None:
        system = view.stem
        rows.note(f"system '{system}' is the name of the file: 'eval.model' names none")
    task = own.words("task") or "task"
    config = own.inner("config")
    failed = unscored = 0
    for sample in log.samples:
        item, epoch = sample.name("id"), sample.name("epoch", 1)
        scores = _scores(sample.inner("scores"))
        is_void = _is_void(sample, scored=bool(scores) and config.get("score_on_error") is True)
        failed += is_void
        unscored += not is_void and not scores
        reference = sample.text_if_any("target")
        if log.brief and len(reference or "") >= _WHOLE:
            reference = None
        rows.add(
            sample.start,
            {} if is_void else scores,
            system=system,
            segment=item,
            task=task,
            epoch=epoch,
            output=sample.if_object("output").text_if_any("completion"),
            reference=reference or None,
        )
    rows.count(failed, "samples failed or were declared invalid: their scores are missing")
    rows.count(unscored, "samples have no scores")
    _remark(rows, log, own, config)
    return rows.table({"system": "eval.model", "segment": "id", "task": "eval.task"}, {})


def _is_void(sample: Record, *, scored: bool) -> bool:
    """Tell whether a sample failed (and the run was not told to score it all the same)."""
    failed = sample.get("error") is not None and not scored
    return failed or sample.get("invalidation") is not None


def _scores(scores: Record) -> dict[str, Any]:
    """Give the values by scorer, or by scorer and part where a value has several."""
    found: dict[str, Any] = {}
    for name in scores.values:
        value = scores.object(name).get("value")
        if isinstance(value, dict):
            found |= {f"{name}.{part}": own for part, own in value.items()}
        else:
            found[name] = value
    return found


def _remark(rows: Rows, log: _Log, own: Record, config: Record) -> None:
    """Note what the header says of the run that its numbers do not."""
    status = log.header.words("status") or "unknown"
    if log.broken:
        rows.note("the run broke off: what its journal holds is read")
    elif status != "success":
        rows.note(f"the run did not end well: its status is '{status}'")
    if log.header.get("invalidated") is True:
        rows.note("the log was declared invalid")
    reducers = config.get("epochs_reducer")
    others = [r for r in reducers if r != "mean"] if isinstance(reducers, list) else []
    if others:
        named = listed([str(r) for r in others])
        rows.note(f"Inspect reduced epochs by {named}; here scores are means over epochs")
    judges = _judges(own.get("scorers"))
    if judges:
        shown = [f"'{name}' by {listed(models)}" for name, models in judges.items()]
        rows.note(f"scores that a model gave: {listed(shown, 6)}")


def _judges(scorers: object) -> dict[str, list[str]]:
    """Give the models that graded, by scorer, as far as the header has them where it should."""
    found: dict[str, list[str]] = {}
    for scorer in scorers if isinstance(scorers, list) else []:
        options = scorer.get("options") if isinstance(scorer, dict) else None
        models = options.get("model") if isinstance(options, dict) else None
        several = models if isinstance(models, list) else [models]
        plain = [one.get("model") if isinstance(one, dict) else one for one in several]
        named = [name for name in plain if isinstance(name, str)]
        if named:
            found[str(scorer.get("name"))] = named
    return found


def _read(view: FileView) -> _Log:
    if view.kind == "eval" or archives.is_zip(view.path):
        if not archives.is_zip(view.path):
            view.fail("is no zip archive, as logs named .eval are")
        with archives.opened(view.path) as archive:
            return _of_archive(view, archive)
    header = document(view)
    if header.get("samples") is None:
        view.fail("holds no samples (Inspect wrote it without them)")
    return _Log(header, within(view, "samples"))


def _of_archive(view: FileView, archive: Archive) -> _Log:
    whole = "header.json" in archive
    if not whole and "_journal/start.json" not in archive:
        view.fail(f"is a zip archive, but no log of Inspect: it has {_MEMBERS}")
    name = "header.json" if whole else "_journal/start.json"
    header = Record.of(view, None, archive.json(name), f"{name}/")
    return _Log(header, list(_samples(view, archive)), brief=True, broken=not whole)


def _samples(view: FileView, archive: Archive) -> Iterator[Record]:
    """Yield summaries of all samples, or the samples where there are none."""
    several = ["summaries.json"]
    if several[0] not in archive:
        several = sorted(archive.names("_journal/summaries/"), key=_number)
    for name in several:
        yield from Record(view, None, {name: archive.json(name)}).objects(name)
    if not several:
        for name in archive.names("samples/"):
            yield Record.of(view, None, archive.json(name), f"{name}/")


def _number(name: str) -> tuple[int, str]:
    found = re.search(r"(\d{1,9})\.json$", name)
    return (int(found[1]) if found else 0, name)


FORMAT = ForeignFormat(
    name="Inspect log",
    gives=EvalSet,
    known_by=".eval archive, or JSON with version, status, eval and samples",
    example='{"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, '
    '"samples": [{"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}}}]}\n',
    example_name="2026-11-17T00-16-45_t_abc.json",
    recognise=recognise,
    files=("*.eval", "*.json"),
    unfold=unfold,
    becomes=scoretables.LONG,
)
