"""Would the verdict hold? Experiments on rankings, on meta-evaluations, and on what people said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.core.lazy import loaded_from

if TYPE_CHECKING:
    from steelyard.studies.metrics.ablations import ablate_segments as ablate_segments
    from steelyard.studies.metrics.ablations import ablate_systems as ablate_systems
    from steelyard.studies.metrics.differences import difference_worth as difference_worth
    from steelyard.studies.metrics.discernment import count_distinct as count_distinct
    from steelyard.studies.metrics.discernment import guard as guard
    from steelyard.studies.metrics.ties import vary_ties as vary_ties
    from steelyard.studies.people.threshold import study_threshold as study_threshold
    from steelyard.studies.planning.power import power_of_effect as power_of_effect
    from steelyard.studies.planning.power import power_of_metrics as power_of_metrics
    from steelyard.studies.planning.power import power_of_test as power_of_test
    from steelyard.studies.results import Study as Study
    from steelyard.studies.systems.disagreement import disagree as disagree
    from steelyard.studies.systems.simulation import simulate as simulate

_HOME = {
    "Study": "steelyard.studies.results",
    "ablate_segments": "steelyard.studies.metrics.ablations",
    "ablate_systems": "steelyard.studies.metrics.ablations",
    "count_distinct": "steelyard.studies.metrics.discernment",
    "difference_worth": "steelyard.studies.metrics.differences",
    "disagree": "steelyard.studies.systems.disagreement",
    "guard": "steelyard.studies.metrics.discernment",
    "power_of_effect": "steelyard.studies.planning.power",
    "power_of_metrics": "steelyard.studies.planning.power",
    "power_of_test": "steelyard.studies.planning.power",
    "simulate": "steelyard.studies.systems.simulation",
    "study_threshold": "steelyard.studies.people.threshold",
    "vary_ties": "steelyard.studies.metrics.ties",
}

__all__ = list(_HOME)
__getattr__ = loaded_from("steelyard.studies", _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
