"""Would the verdict hold? Experiments on rankings, on metrics, and on what people said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.core.lazy import loaded_from

if TYPE_CHECKING:
    from steelyard.studies.disagreement import disagree as disagree
    from steelyard.studies.distinct import count_distinct as count_distinct
    from steelyard.studies.power import power_of_effect as power_of_effect
    from steelyard.studies.power import power_of_metrics as power_of_metrics
    from steelyard.studies.power import power_of_test as power_of_test
    from steelyard.studies.ranking_rule import study_ranking_rule as study_ranking_rule
    from steelyard.studies.segments import ablate_segments as ablate_segments
    from steelyard.studies.simulation import simulate as simulate
    from steelyard.studies.study import Study as Study
    from steelyard.studies.systems import ablate_systems as ablate_systems
    from steelyard.studies.threshold import study_threshold as study_threshold
    from steelyard.studies.ties import vary_ties as vary_ties
    from steelyard.studies.worth import difference_worth as difference_worth

_MODULES = {
    "Study": "study",
    "ablate_segments": "segments",
    "ablate_systems": "systems",
    "count_distinct": "distinct",
    "difference_worth": "worth",
    "disagree": "disagreement",
    "power_of_effect": "power",
    "power_of_metrics": "power",
    "power_of_test": "power",
    "simulate": "simulation",
    "study_ranking_rule": "ranking_rule",
    "study_threshold": "threshold",
    "vary_ties": "ties",
}

__all__ = list(_MODULES)
__getattr__ = loaded_from(
    "steelyard.studies", {name: f"steelyard.studies.{module}" for name, module in _MODULES.items()}
)


def __dir__() -> list[str]:
    return sorted(__all__)
