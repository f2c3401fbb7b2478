"""``steelyard study``: whether the verdict survives other data, other metrics, other rankings."""

from __future__ import annotations

import click

from steelyard.cli.group import LazyGroup

_METRICS = "steelyard.cli.study.metricstudies"
_SYSTEMS = "steelyard.cli.study.systemstudies"
_PLANNING = "steelyard.cli.study.planningstudies"
_PEOPLE = "steelyard.cli.study.peoplestudies"

#: name: (module:function, one line of help)
STUDIES = {
    "systems": (f"{_METRICS}:systems", "Would metrics rank alike with fewer systems?"),
    "segments": (f"{_METRICS}:segments", "Would they with fewer segments?"),
    "distinct": (f"{_METRICS}:distinct", "Which meta-metric tells metrics apart?"),
    "sentinels": (f"{_METRICS}:sentinels", "Do metrics beat scores that know nothing?"),
    "worth": (f"{_METRICS}:worth", "How often do people agree with a difference of this size?"),
    "ties": (f"{_METRICS}:ties", "Would they rank alike with other ties?"),
    "disagreement": (f"{_SYSTEMS}:disagreement", "How often do mean, median and others disagree?"),
    "simulation": (f"{_SYSTEMS}:simulation", "Which ranking finds a known order?"),
    "power": (f"{_PLANNING}:power", "How much does it take to find a difference?"),
    "threshold": (f"{_PEOPLE}:threshold", "How wide is a tie of people?"),
}


@click.group(cls=LazyGroup, lazy=STUDIES, context_settings={"help_option_names": ["-h", "--help"]})
def study() -> None:
    """See whether a verdict survives other data and other rankings."""
