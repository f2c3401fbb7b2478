"""Steelyard weighs systems, and the scales they are weighed with.

Names load when they are first used, so that ``import steelyard`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from steelyard import kobe as kobe
    from steelyard.battlecomparison import compare_battles as compare_battles
    from steelyard.comparison import compare as compare
    from steelyard.comparisonresults import Comparison as Comparison
    from steelyard.demo.embedded import demo_set as demo_set
    from steelyard.errors import SteelyardError as SteelyardError
    from steelyard.evalset import EvalSet as EvalSet
    from steelyard.evalset import ScoreTable as ScoreTable
    from steelyard.formats.load import load as load
    from steelyard.formats.save import save as save
    from steelyard.judgements import BattleLog as BattleLog
    from steelyard.judgements import Rankings as Rankings
    from steelyard.judgements import Ratings as Ratings
    from steelyard.metaevaluation import meta_evaluate as meta_evaluate
    from steelyard.metaresults import MetaEvaluation as MetaEvaluation
    from steelyard.ratings.human import human_scores as human_scores
    from steelyard.ratings.results import HumanScores as HumanScores
    from steelyard.report.page import make_report as make_report
    from steelyard.scoring import Scores as Scores
    from steelyard.scoring import score as score
    from steelyard.segments import Segments as Segments
    from steelyard.stats.accuracy import spa as spa

_HOME = {
    "BattleLog": "steelyard.judgements",
    "Comparison": "steelyard.comparisonresults",
    "EvalSet": "steelyard.evalset",
    "HumanScores": "steelyard.ratings.results",
    "MetaEvaluation": "steelyard.metaresults",
    "Rankings": "steelyard.judgements",
    "Ratings": "steelyard.judgements",
    "ScoreTable": "steelyard.evalset",
    "Scores": "steelyard.scoring",
    "Segments": "steelyard.segments",
    "SteelyardError": "steelyard.errors",
    "compare": "steelyard.comparison",
    "compare_battles": "steelyard.battlecomparison",
    "demo_set": "steelyard.demo.embedded",
    "human_scores": "steelyard.ratings.human",
    "load": "steelyard.formats.load",
    "make_report": "steelyard.report.page",
    "meta_evaluate": "steelyard.metaevaluation",
    "save": "steelyard.formats.save",
    "score": "steelyard.scoring",
    "spa": "steelyard.stats.accuracy",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604 - keys are strings


def __getattr__(name: str) -> Any:
    if name == "kobe":  # a package: entity fidelity of translations
        return import_module("steelyard.kobe")
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
