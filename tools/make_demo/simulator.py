"""The invented shared task behind the embedded demo scores.

Real human judgements come with licences and hundreds of megabytes. This module draws a small set
with the same awkward properties instead: many ties at zero, segments nobody judged, documents
whose segments belong together, a metric that is nearly the copy of another, metrics with a bias.

``PYTHONPATH=tools python -m make_demo.simulator`` prints how well every score agrees with the human
one; ``python -m make_demo`` writes all shipped files anew.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from steelyard.core.errors import UsageError
from steelyard.demo import embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = npt.NDArray[np.float64]

SEED = 20240607
SCORES_FILE = "scores.csv.gz"
SYSTEM_SCORES_FILE = "system-scores.csv"

_NAMES = (
    "Amber",
    "Basalt",
    "Cobalt",
    "Dolomite",
    "Ebony",
    "Fine-Glass 2",  # a blank and a dash, since real submissions are called such things
    "Granite",
    "Hematite",
    "Indium",
    "Jasper",
    "Kaolin",
    "Limestone",
)
# Best first, on the scale of the logarithm of the error intensity. The neighbours inside of each
# of the three groups are too close to be told apart with 500 segments, the groups are not.
_PROFILE = (0.62, 0.58, 0.50, 0.12, 0.10, 0.07, 0.04, 0.02, 0.00, -0.02, -0.55, -0.60)
_DOMAINS = ("news", "social", "speech", "manuals")
_DOMAIN_SHARES = (0.34, 0.24, 0.20, 0.22)
_DIFFICULTY = (-0.15, 0.30, 0.05, 0.10)
_FLIPPED_DOMAIN = 3
_HUMAN = ("da", "mqm")
_MQM_FLOOR = -25.0
_MQM_MISSING = 0.10
_DA_MISSING = 0.30


@dataclass(frozen=True)
class SimulatedSet:
    """One simulated shared task: N systems, S segments, some scores.

    Parameters
    ----------
    systems
        The N names of the systems.
    segment_ids, documents, domains
        S labels each. The segments of a document follow one another.
    scores
        For each human score and metric an N x S array; NaN where there is no score.
    uses
        For each of the scores what its giver saw: ``("refA",)`` or ``("src",)``.
    human
        The names of the human scores; all the others are metrics.
    system_scores
        The N official scores of the systems, for metrics where they are not the mean over the
        segments.
    """

    systems: tuple[str, ...]
    segment_ids: tuple[str, ...]
    documents: tuple[str, ...]
    domains: tuple[str, ...]
    scores: dict[str, Array]
    uses: dict[str, tuple[str, ...]]
    human: tuple[str, ...]
    system_scores: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class _World:
    """What is true about the translations before anybody scores them.

    ``quality`` is how good each cell is (system x segment, mean 0 and deviation 1), ``weight`` the
    MQM weight of the errors that are really in it, ``family`` marks the systems built alike and
    ``literal`` tells how closely each system sticks to the expected wording.
    """

    segment_document: npt.NDArray[np.int64]
    reference_length: Array
    output_length: Array
    family: Array
    literal: Array
    weight: Array
    quality: Array


def simulate(
    rng: np.random.Generator, *, n_systems: int = 12, n_segments: int = 500
) -> SimulatedSet:
    """Draw a shared task with known properties.

    Parameters
    ----------
    rng
        The only source of chance: the same state gives the same set.
    n_systems
        How many systems, at least 2.
    n_segments
        How many segments, at least 3. All four domains turn up from some sixty segments on.

    Returns
    -------
    SimulatedSet
        With the human scores ``mqm`` and ``da`` and twelve metrics, rounded to 4 decimals.

    Raises
    ------
    UsageError
        If there are too few systems or segments.

    Notes
    -----
    1. Segments are cut into documents of 3 to 15 consecutive segments, documents into the domains
       news, social, speech and manuals, one after the other. The domains differ in difficulty.
    2. Systems have a latent quality: a few are clearly better, most of them form a close cluster
       in the middle and the last ones are poor. Which name gets which quality is drawn. Every
       third one belongs to one family. Systems differ in length and in literalness, and the
       better ones tend to be less literal.
    3. A small interaction of system and domain; a large one for two systems, a better and a
       middling one, which therefore change places in the manuals.
    4. The logarithm of the error intensity of a cell is the difficulty of its domain, plus random
       effects of document, segment and cell, plus an effect of length, minus quality and
       interaction.
    5. Errors: a cell is free of them with a probability that falls with the intensity (the
       zero inflation); otherwise major and minor errors are Poisson counts. Punctuation errors
       are one more, for all cells.
    6. ``mqm`` is minus the sum of 5 per major, 1 per minor and 0.1 per punctuation error, not
       below -25. A tenth of the segments is not judged, the same one for all systems.
    7. ``da`` is a whole number of 0 to 100 from the same errors, with a noise of its own and one
       leniency per document; three tenths of the segments are not judged.
    8. A metric sees the quality of the cell (a mix of the errors made and of the intensity, both
       on a log scale), plus noise of the system, noise that all systems share in a
       segment and noise of the cell, plus its bias, and puts that on a scale of its own:

       ==================  =====================================================================
       learned-refA        good
       learned-twin-refA   nearly a copy of learned-refA
       estimator-src       fair
       embedding-refA      noisy
       chars-refA          lexical: weak, with a bonus for literal systems
       overlap-refA        lexical: matched words; its official system score is the share of the
                           matches in the whole corpus with a penalty for short output
       edit-rate-refA      lexical: edits per reference word, so lower is better
       kin-src             fair, but favours one family of systems
       lengthy-src         fair, but favours long output
       judge-1to5-src      a judge that gives whole numbers: many ties
       judge-0to100-src    a judge that gives steps of 5: many ties
       random-src          knows nothing
       ==================  =====================================================================

    Examples
    --------
    >>> small = simulate(np.random.default_rng(1), n_systems=3, n_segments=40)
    >>> small.systems
    ('Amber', 'Basalt', 'Cobalt')
    >>> small.scores["mqm"].shape, small.human
    ((3, 40), ('da', 'mqm'))
    """
    if n_systems < 2 or n_segments < 3:
        found = f"n_systems={n_systems} and n_segments={n_segments}"
        raise UsageError(f"a simulated set needs at least 2 systems and 3 segments, not {found}")
    sizes = _document_sizes(rng, n_segments)
    document_domain = _domain_of_documents(len(sizes))
    segment_document = np.repeat(np.arange(len(sizes)), sizes)
    world = _world(rng, n_systems, segment_document, document_domain[segment_document])
    raw = {"mqm": _mqm(rng, world), "da": _da(rng, world)}
    raw |= _learned(rng, world) | _biased(rng, world) | _judges(rng, world)
    lexical, system_scores = _lexical(rng, world)
    raw |= lexical
    names = [*_HUMAN, *sorted(set(raw) - set(_HUMAN))]
    labels = [f"{_DOMAINS[domain]}-{d + 1:03}" for d, domain in enumerate(document_domain)]
    return SimulatedSet(
        systems=_system_names(n_systems),
        segment_ids=tuple(str(i) for i in range(n_segments)),
        documents=tuple(labels[d] for d in segment_document),
        domains=tuple(_DOMAINS[document_domain[d]] for d in segment_document),
        scores={name: _rounded(raw[name]) for name in names},
        uses={name: ("src",) if name in _HUMAN else (name.rsplit("-", 1)[1],) for name in names},
        human=_HUMAN,
        system_scores={name: _rounded(values) for name, values in system_scores.items()},
    )


def _rounded(values: Array) -> Array:
    """Round to 4 decimals; adding zero turns -0.0, which would be written as such, into 0.0."""
    result: Array = np.round(values, 4) + 0.0
    return result


def _system_names(n_systems: int) -> tuple[str, ...]:
    rounds = [divmod(i, len(_NAMES)) for i in range(n_systems)]
    return tuple(_NAMES[k] if lap == 0 else f"{_NAMES[k]}-{lap + 1}" for lap, k in rounds)


def _document_sizes(rng: np.random.Generator, n_segments: int) -> list[int]:
    """Cut the segments into documents of 3 to 15; the last one takes what is left."""
    sizes: list[int] = []
    left = n_segments
    while left > 15:
        # At least 3 have to stay for the last document.
        size = min(int(rng.integers(3, 16)), left - 3)
        sizes.append(size)
        left -= size
    return [*sizes, left]


def _domain_of_documents(n_documents: int) -> npt.NDArray[np.int64]:
    middles = (np.arange(n_documents) + 0.5) / n_documents
    found: npt.NDArray[np.int64] = np.searchsorted(np.cumsum(_DOMAIN_SHARES)[:-1], middles)
    return found


def _world(
    rng: np.random.Generator,
    n_systems: int,
    segment_document: npt.NDArray[np.int64],
    segment_domain: npt.NDArray[np.int64],
) -> _World:
    """Draw the systems, the segments and the errors: steps 2 to 5 of the model."""
    n_segments = len(segment_document)
    shape = (n_systems, n_segments)
    skill = _skill_by_domain(rng, n_systems)[:, segment_domain]
    skill_mean = skill.mean(axis=1, keepdims=True)
    document_effect = rng.normal(0.0, 0.35, segment_document[-1] + 1)[segment_document]
    lengths = np.round(np.exp(rng.normal(2.9, 0.5, n_segments)))
    reference_length: Array = np.minimum(np.maximum(lengths, 3.0), 80.0)
    log_intensity = (
        0.15
        + np.asarray(_DIFFICULTY)[segment_domain]
        + document_effect
        + rng.normal(0.0, 0.45, n_segments)
        + 0.5 * (np.log(reference_length) - 2.9)
        + rng.normal(0.0, 0.75, shape)
        - skill
    )
    verbosity = rng.normal(0.0, 0.05, (n_systems, 1))
    stretch = np.exp(verbosity + rng.normal(0.0, 0.12, shape))
    weight = _error_weight(rng, log_intensity)
    return _World(
        segment_document=segment_document,
        reference_length=reference_length,
        output_length=np.maximum(1.0, np.round(reference_length * stretch)),
        family=(np.arange(n_systems) % 3 == 1).astype(np.float64)[:, np.newaxis],
        # Better systems paraphrase more, which is why lexical metrics underrate them.
        literal=rng.normal(0.0, 0.8, (n_systems, 1)) - 0.45 * _standard(skill_mean),
        weight=weight,
        quality=_standard(-0.8 * _standard(np.log1p(weight)) - 0.45 * _standard(log_intensity)),
    )


def _skill_by_domain(rng: np.random.Generator, n_systems: int) -> Array:
    """Quality of each system in each domain, with one pair that changes places."""
    profile = np.interp(
        np.linspace(0, len(_PROFILE) - 1, n_systems), range(len(_PROFILE)), _PROFILE
    )
    by_rank = profile[:, np.newaxis] + rng.normal(0.0, 0.03, (n_systems, len(_DOMAINS)))
    better = n_systems // 6
    middling = max(better + 1, n_systems // 2 - 1)
    by_rank[better] += 0.12
    by_rank[better, _FLIPPED_DOMAIN] -= 0.65
    by_rank[middling, _FLIPPED_DOMAIN] += 0.55
    # Names must not give the ranking away.
    shuffled: Array = by_rank[rng.permutation(n_systems)]
    return shuffled


def _error_weight(rng: np.random.Generator, log_intensity: Array) -> Array:
    intensity = np.exp(np.minimum(log_intensity, 4.0))
    flawless = rng.random(intensity.shape) < 1.0 / (1.0 + 2.2 * intensity)
    major = rng.poisson(0.30 * intensity)
    minor = rng.poisson(0.80 * intensity)
    punctuation = rng.poisson(0.12, intensity.shape)
    weight: Array = np.where(flawless, 0.0, 5.0 * major + minor) + 0.1 * punctuation
    return weight


def _standard(values: Array) -> Array:
    result: Array = (values - values.mean()) / max(float(values.std()), 1e-9)
    return result


def _without(rng: np.random.Generator, scores: Array, share: float) -> Array:
    """Take a share of the segments away from all systems alike."""
    n_segments = scores.shape[1]
    gone = rng.permutation(n_segments)[: round(share * n_segments)]
    result = scores.copy()
    result[:, gone] = np.nan
    return result


def _mqm(rng: np.random.Generator, world: _World) -> Array:
    return _without(rng, np.maximum(-world.weight, _MQM_FLOOR), _MQM_MISSING)


def _da(rng: np.random.Generator, world: _World) -> Array:
    leniency = rng.normal(0.0, 5.0, world.segment_document[-1] + 1)[world.segment_document]
    noise = rng.normal(0.0, 16.0, world.weight.shape)
    slider = 90.0 - 9.0 * np.log1p(world.weight) + leniency + noise
    return _without(rng, np.round(np.clip(slider, 0.0, 100.0)), _DA_MISSING)


def _view(rng: np.random.Generator, world: _World, *, shared: float, own: float) -> Array:
    """Look at the quality through noise of system, segment and cell; deviation about 1."""
    n_systems, n_segments = world.quality.shape
    blurred: Array = (
        world.quality
        + rng.normal(0.0, 0.12 * own, (n_systems, 1))
        + rng.normal(0.0, shared, n_segments)
        + rng.normal(0.0, own, world.quality.shape)
    )
    return blurred / float(np.sqrt(1.0 + shared**2 + own**2))


def _unit(values: Array) -> Array:
    """Squash to 0..1 with most of it in the upper half, as learned metrics have it."""
    result: Array = 1.0 / (1.0 + np.exp(-1.4 - 0.7 * values))
    return result


def _learned(rng: np.random.Generator, world: _World) -> dict[str, Array]:
    good = _view(rng, world, shared=0.70, own=0.95)
    twin = good + rng.normal(0.0, 0.16, good.shape)
    return {
        "learned-refA": _unit(good),
        "learned-twin-refA": _unit(0.95 * twin + 0.1),
        "estimator-src": _unit(_view(rng, world, shared=1.10, own=1.60)),
        "embedding-refA": np.minimum(1.0, 0.85 + 0.04 * _view(rng, world, shared=1.50, own=2.20)),
        "random-src": rng.random(good.shape),
    }


def _biased(rng: np.random.Generator, world: _World) -> dict[str, Array]:
    """Draw metrics that see something, and a thing they should not care about as well."""
    kin = _view(rng, world, shared=1.0, own=1.4) + 0.9 * world.family
    excess = np.log(world.output_length / world.reference_length)
    lengthy = _view(rng, world, shared=1.1, own=1.4) + 3.0 * excess
    return {"kin-src": _unit(kin), "lengthy-src": -4.0 + 1.5 * lengthy}


def _judges(rng: np.random.Generator, world: _World) -> dict[str, Array]:
    stars = np.round(4.1 + 0.85 * _view(rng, world, shared=0.6, own=1.2))
    percent = 5.0 * np.round(17.4 + 2.2 * _view(rng, world, shared=0.8, own=1.3))
    return {
        "judge-1to5-src": np.clip(stars, 1.0, 5.0),
        "judge-0to100-src": np.clip(percent, 0.0, 100.0),
    }


def _lexical(rng: np.random.Generator, world: _World) -> tuple[dict[str, Array], dict[str, Array]]:
    """Draw the metrics that compare words; they share the paraphrases of a segment."""
    surprise = rng.normal(0.0, 0.8, world.quality.shape[1])
    alike = 0.35 * world.quality + surprise + 0.2 * world.literal
    chars = 55.0 + 12.0 * (alike + rng.normal(0.0, 1.1, alike.shape))
    likely = 1.0 / (1.0 + np.exp(-0.1 - 0.6 * (alike + rng.normal(0.0, 0.6, alike.shape))))
    matches = rng.binomial(world.output_length.astype(np.int64), likely)
    strangeness = np.exp(-0.9 - 0.45 * (alike + rng.normal(0.0, 0.7, alike.shape)))
    edits = rng.poisson(world.reference_length * strangeness)
    scores = {
        "chars-refA": np.clip(chars, 0.0, 100.0),
        # Add-one smoothing, without which a short segment with no match would be a plain zero.
        "overlap-refA": 100.0 * (matches + 1.0) / (world.output_length + 1.0),
        "edit-rate-refA": edits / world.reference_length,
    }
    length = world.output_length.sum(axis=1)
    brevity = np.exp(np.minimum(0.0, 1.0 - world.reference_length.sum() / length))
    return scores, {"overlap-refA": 100.0 * brevity * matches.sum(axis=1) / length}


def write(path: Path | str) -> tuple[Path, Path]:
    """Write the shipped files, always with the same seed.

    Parameters
    ----------
    path
        The folder; it has to exist.

    Returns
    -------
    tuple of Path
        The file of the segment scores and the file of the official system scores.
    """
    folder = Path(path)
    simulated = simulate(np.random.default_rng(SEED))
    scores_path, system_path = folder / SCORES_FILE, folder / SYSTEM_SCORES_FILE
    # With a name or a time in its header, the same content would give other bytes each time.
    with (
        scores_path.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=9, mtime=0) as packed,
    ):
        packed.write(_segment_csv(simulated).encode())
    system_path.write_text(_system_csv(simulated), encoding="utf-8", newline="\n")
    return scores_path, system_path


def _cell(value: float) -> str:
    return "" if np.isnan(value) else repr(float(value))


def _segment_csv(simulated: SimulatedSet) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["system", "segment", "doc", "domain", *simulated.scores])
    labels = list(zip(simulated.segment_ids, simulated.documents, simulated.domains, strict=True))
    for n, system in enumerate(simulated.systems):
        for s, label in enumerate(labels):
            values = (scores[n, s] for scores in simulated.scores.values())
            writer.writerow([system, *label, *map(_cell, values)])
    return text.getvalue()


def _system_csv(simulated: SimulatedSet) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["system", *simulated.system_scores])
    for n, system in enumerate(simulated.systems):
        writer.writerow([system, *(_cell(v[n]) for v in simulated.system_scores.values())])
    return text.getvalue()


def agreement(simulated: SimulatedSet, human: str = "mqm") -> dict[str, float]:
    """Pearson correlation of every other score with a human one, over all cells that have both.

    Parameters
    ----------
    simulated
        The set.
    human
        The name of the human score.

    Returns
    -------
    dict of str to float
        In the order of the scores.
    """
    gold = simulated.scores[human]
    result = {}
    for name, scores in simulated.scores.items():
        both = ~np.isnan(gold) & ~np.isnan(scores)
        if name != human:
            result[name] = float(np.corrcoef(gold[both], scores[both])[0, 1])
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Write the shipped files and print what can be expected of them.

    Parameters
    ----------
    argv
        The folder, if not the one of the shipped files.

    Returns
    -------
    int
        The exit code.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    folder = Path(arguments[0]) if arguments else embedded.FOLDER
    lines = [f"{path}: {path.stat().st_size} bytes" for path in write(folder)]
    simulated = simulate(np.random.default_rng(SEED))
    for name in simulated.human:
        scores = simulated.scores[name]
        judged = scores[~np.isnan(scores)]
        missing = 1.0 - judged.size / scores.size
        zero = np.mean(judged == 0.0)
        lines.append(f"{name}: missing {missing:.3f}, zero {zero:.3f}, mean {judged.mean():.3f}")
    lines += [f"{value:6.3f}  {name}" for name, value in agreement(simulated).items()]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
