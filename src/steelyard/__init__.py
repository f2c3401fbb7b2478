"""Steelyard weighs systems, and the scales they are weighed with.

Names load when they are first used, so that ``import steelyard`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from steelyard.core.lazy import loaded_from

__version__ = "0.1.0"

if TYPE_CHECKING:
    from steelyard import kobe as kobe
    from steelyard import studies as studies
    from steelyard.comparison.card import ByScore as ByScore
    from steelyard.comparison.card import Card as Card
    from steelyard.comparison.card import decide as decide
    from steelyard.comparison.gate import Gate as Gate
    from steelyard.comparison.gate import gate as gate
    from steelyard.comparison.logs import compare_battles as compare_battles
    from steelyard.comparison.options import bt as bt
    from steelyard.comparison.options import elo as elo
    from steelyard.comparison.options import trueskill as trueskill
    from steelyard.comparison.results import Comparison as Comparison
    from steelyard.comparison.run import compare as compare
    from steelyard.comparison.run import compare_scores as compare_scores
    from steelyard.core.decision import Decision as Decision
    from steelyard.core.display import Summary as Summary
    from steelyard.core.errors import SteelyardError as SteelyardError
    from steelyard.core.table import Table as Table
    from steelyard.data.evalset import EvalSet as EvalSet
    from steelyard.data.evalset import ScoreTable as ScoreTable
    from steelyard.data.judgements import BattleLog as BattleLog
    from steelyard.data.judgements import Rankings as Rankings
    from steelyard.data.judgements import Ratings as Ratings
    from steelyard.data.segments import Segments as Segments
    from steelyard.demo.embedded import demo_set as demo_set
    from steelyard.formats.load import load as load
    from steelyard.formats.save import save as save
    from steelyard.human.options import da as da
    from steelyard.human.options import darr as darr
    from steelyard.human.options import esa as esa
    from steelyard.human.options import mqm as mqm
    from steelyard.human.options import rr as rr
    from steelyard.human.results import HumanScores as HumanScores
    from steelyard.human.run import human_scores as human_scores
    from steelyard.judging.bias import BiasReport as BiasReport
    from steelyard.judging.bias import judge_bias as judge_bias
    from steelyard.judging.correction import Correction as Correction
    from steelyard.judging.correction import correct as correct
    from steelyard.judging.drift import DriftReport as DriftReport
    from steelyard.judging.drift import judge_drift as judge_drift
    from steelyard.judging.plan import LabelPlan as LabelPlan
    from steelyard.judging.plan import plan_labels as plan_labels
    from steelyard.judging.report import JudgeReport as JudgeReport
    from steelyard.judging.report import judge as judge
    from steelyard.metaevaluation.benchmark.run import BenchmarkResult as BenchmarkResult
    from steelyard.metaevaluation.benchmark.run import run_benchmark as run_benchmark
    from steelyard.metaevaluation.errorspans import SpanEvaluation as SpanEvaluation
    from steelyard.metaevaluation.errorspans import spans as spans
    from steelyard.metaevaluation.options import meta_rules as meta_rules
    from steelyard.metaevaluation.options import metric_test as metric_test
    from steelyard.metaevaluation.results import MetaEvaluation as MetaEvaluation
    from steelyard.metaevaluation.run import meta_evaluate as meta_evaluate
    from steelyard.report.options import report_options as report_options
    from steelyard.report.page import Report as Report
    from steelyard.report.page import make_report as make_report
    from steelyard.scoring.check import Check as Check
    from steelyard.scoring.check import check as check
    from steelyard.scoring.run import Scores as Scores
    from steelyard.scoring.run import score as score
    from steelyard.stats.metametrics.accuracy import spa as spa

_HOME = {
    "BattleLog": "steelyard.data.judgements",
    "BenchmarkResult": "steelyard.metaevaluation.benchmark.run",
    "BiasReport": "steelyard.judging.bias",
    "ByScore": "steelyard.comparison.card",
    "Check": "steelyard.scoring.check",
    "Comparison": "steelyard.comparison.results",
    "Card": "steelyard.comparison.card",
    "Correction": "steelyard.judging.correction",
    "Decision": "steelyard.core.decision",
    "DriftReport": "steelyard.judging.drift",
    "EvalSet": "steelyard.data.evalset",
    "Gate": "steelyard.comparison.gate",
    "HumanScores": "steelyard.human.results",
    "JudgeReport": "steelyard.judging.report",
    "LabelPlan": "steelyard.judging.plan",
    "MetaEvaluation": "steelyard.metaevaluation.results",
    "Rankings": "steelyard.data.judgements",
    "Ratings": "steelyard.data.judgements",
    "Report": "steelyard.report.page",
    "ScoreTable": "steelyard.data.evalset",
    "Scores": "steelyard.scoring.run",
    "Segments": "steelyard.data.segments",
    "SpanEvaluation": "steelyard.metaevaluation.errorspans",
    "SteelyardError": "steelyard.core.errors",
    "Summary": "steelyard.core.display",
    "Table": "steelyard.core.table",
    "bt": "steelyard.comparison.options",
    "check": "steelyard.scoring.check",
    "compare": "steelyard.comparison.run",
    "compare_battles": "steelyard.comparison.logs",
    "compare_scores": "steelyard.comparison.run",
    "correct": "steelyard.judging.correction",
    "da": "steelyard.human.options",
    "darr": "steelyard.human.options",
    "decide": "steelyard.comparison.card",
    "demo_set": "steelyard.demo.embedded",
    "elo": "steelyard.comparison.options",
    "esa": "steelyard.human.options",
    "gate": "steelyard.comparison.gate",
    "human_scores": "steelyard.human.run",
    "judge": "steelyard.judging.report",
    "judge_bias": "steelyard.judging.bias",
    "judge_drift": "steelyard.judging.drift",
    "load": "steelyard.formats.load",
    "make_report": "steelyard.report.page",
    "meta_evaluate": "steelyard.metaevaluation.run",
    "meta_rules": "steelyard.metaevaluation.options",
    "metric_test": "steelyard.metaevaluation.options",
    "mqm": "steelyard.human.options",
    "plan_labels": "steelyard.judging.plan",
    "report_options": "steelyard.report.options",
    "run_benchmark": "steelyard.metaevaluation.benchmark.run",
    "rr": "steelyard.human.options",
    "save": "steelyard.formats.save",
    "score": "steelyard.scoring.run",
    "spa": "steelyard.stats.metametrics.accuracy",
    "spans": "steelyard.metaevaluation.errorspans",
    "trueskill": "steelyard.comparison.options",
}
#: Rooms that have public names of their own.
_ROOMS = ("kobe", "studies")

__all__ = ["__version__", *_HOME, *_ROOMS]  # noqa: PLE0604 - keys are strings


_find = loaded_from("steelyard", _HOME)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"steelyard.{name}")
    return _find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
