"""Figures of segments: how hard they are and how much they discriminate, and a study's curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.report.figures import style
from steelyard.report.figures.curves import draw_curves
from steelyard.report.figures.panels import heat
from steelyard.report.figures.style import Chart, alt, label
from steelyard.stats.arrays import Floats
from steelyard.studies.results import Study

SEGMENTS = "segments"


def draw_instances(found: Study, names: Sequence[str] | None = None) -> Chart:
    """Draw a study of segments: its curves and, as ``segments``, all segments; or those named."""
    known = [*(curve.name for curve in found.curves), SEGMENTS]
    for name in names or ():
        if name not in known:
            raise UsageError(f"no curve '{name}' in this study; {hint(name, known)}")
    ease, slope = (np.asarray(found.facts["estimates"][of]) for of in ("ease", "discrimination"))
    cloudy = bool((~np.isnan(ease + slope)).any())
    asked = [name for name in known if cloudy or name != SEGMENTS] if names is None else list(names)
    curves = [curve for curve in found.curves if curve.name in asked]
    charts = [draw_curves(curves)] if curves else []
    if SEGMENTS in asked:
        if not cloudy:
            raise UsageError("segments have no discrimination here: there is nothing to draw")
        charts.append(_cloud(ease, slope, str(found.facts["score"])))
    return alt.vconcat(*charts, spacing=30).resolve_scale(color="independent")


def _cloud(ease: Floats, slope: Floats, score: str) -> Chart:
    both = ~np.isnan(ease + slope)
    x, y = ease[both], slope[both]
    edges = style.bins(x, most=42, least=12), style.bins(y, most=36, least=12)
    titles = (f"ease ({label(score)} of an average system)", "discrimination")
    return style.titled(heat(x, y, edges, titles=titles), "Segments")
