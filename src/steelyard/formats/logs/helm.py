"""Runs of HELM: ``per_instance_stats.json``, with ``run_spec.json`` beside it for the model.

An instance has several rows, one per class of metrics, and more if it was perturbed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.formats import scoretables
from steelyard.formats.format import ForeignFormat
from steelyard.formats.logs.logrows import Rows
from steelyard.formats.rawtable import RawTable, Stated
from steelyard.formats.record import Record, Start, records
from steelyard.formats.view import FileView

_RUN_SPEC = "run_spec.json"
#: Statistics that say what a request cost or how it was made, not how good the answer is.
_COSTS = re.compile(
    r"inference_\w*runtime|batch_size|num_\w+|estimated_num_tokens_cost|training_\w+_cost"
    r"|prompt_truncated|finish_reason_\w+|max_prob|logprob|predicted_index"
)
_LOWER = ("perplexity", "bits_per_byte")  # by what they are
_OF_MODEL = re.compile(r"(?:^|,)(?:model|model_deployment)=[^,]*")


class _Instances:
    """Scores by instance and trial, and what was left out."""

    def __init__(self) -> None:
        self.scores: dict[tuple[str, str], tuple[Start, dict[str, Any]]] = {}  # with the first line
        self.costs: Counter[str] = Counter()
        self.perturbed = 0

    def take(self, record: Record) -> None:
        """Take a row: some statistics of one instance."""
        item, trial = record.name("instance_id"), record.name("train_trial_index", 0)
        if record.get("perturbation") is not None:
            self.perturbed += 1
            return
        _, scores = self.scores.setdefault((item, trial), (record.start, {}))
        record.list("stats")  # which must be there
        for stat in record.objects("stats"):
            name, value = _statistic(stat)
            if name is None:
                continue
            if _COSTS.fullmatch(name):
                self.costs[name] += 1
            elif scores.setdefault(name, value) != value:
                record.fail(f"instance '{item}' has two values of '{name}'")


def unfold(view: FileView) -> RawTable:
    """Give a row per instance and trial, with a column per statistic."""
    rows = Rows(view)
    spec = Record(view, None, view.beside(_RUN_SPEC))
    system = spec.if_object("adapter_spec").words("model")
    if system is None:
        system = view.folder
        rows.note(f"system '{system}' is the name of the folder: no {_RUN_SPEC} names a model")
    task = _task(spec.words("name") or view.folder)
    found = _Instances()
    for record in records(view):
        found.take(record)
    for (item, trial), (start, scores) in found.scores.items():
        rows.add(start, scores, system=system, segment=item, task=task, epoch=trial)
    if found.perturbed:
        rows.note(f"{plural(found.perturbed, 'row')} of perturbed instances left out")
    if found.costs:
        rows.note(f"left out, since they are no scores of quality: {listed(list(found.costs), 6)}")
    given = {"system": f"adapter_spec.model of {_RUN_SPEC}", "segment": "instance_id",
             "epoch": "train_trial_index", "task": f"name of {_RUN_SPEC}"}  # fmt: skip
    return rows.table(given, {name: Stated(higher_is_better=False) for name in _LOWER})


def _task(run: str) -> str:
    """Name what was run without the model, so that runs of several models have one task."""
    scenario, colon, arguments = run.partition(":")
    rest = _OF_MODEL.sub("", arguments).strip(",")
    return f"{scenario}{colon}{rest}" if rest else scenario or run


def _statistic(stat: Record) -> tuple[str | None, Any]:
    """Give the name of a statistic and its value; no name for that of a perturbation."""
    metric = stat.object("name")
    name = metric.name("name")
    if metric.get("perturbation") is not None:
        return None, None
    part = metric.words("sub_split")
    key = "sum" if stat.get("mean") is None and stat.get("count") == 1 else "mean"
    value = stat.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        stat.wrong(key, f"a number for '{name}'")
    return name if part is None else f"{name}/{part}", value


FORMAT = ForeignFormat(
    name="HELM run",
    gives=EvalSet,
    known_by="per_instance_stats.json: a list with instance_id, train_trial_index and stats",
    example='[{"instance_id": "id12", "train_trial_index": 0, "stats": [{"name": {"name": '
    '"exact_match", "split": "test"}, "count": 1, "mean": 1.0}]}]\n',
    example_name="mmlu/per_instance_stats.json",
    keys=("instance_id", "train_trial_index", "stats"),
    files=("per_instance_stats.json*",),
    unfold=unfold,
    becomes=scoretables.LONG,
)
