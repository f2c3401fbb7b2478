"""What was run: version, method, options, seed and the inputs with their hashes."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.core.options import Options
from steelyard.core.text import listed

#: Questions whose answers are signed, and the options that say what was estimated and how, by the
#: names that the signature has for them.
_SIGNED = ("compare", "gate", "human", "judge", "meta")
_ESTIMATED = ("with", "by", "protocol")
_STATISTICS = {"method": "perm", "tests": "test", "test": "test", "alternative": "side",
               "correction": "adjust", "bootstrap": "boot"}  # fmt: skip


def installed_version() -> str:
    """Return the version of Steelyard."""
    version: str = sys.modules["steelyard"].__version__  # an import would point up
    return version


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input: its name as the user gave it, what it was taken for, and its SHA-256."""

    path: str
    format: str
    sha256: str | None = None
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()  # roles with their names in the file
    chosen: tuple[tuple[str, str], ...] = ()  # how the user had it read

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {"path": self.path, "format": self.format, "sha256": self.sha256}

    def taken_for(self) -> dict[str, Any]:
        """Return what it was taken for, and by which columns."""
        columns = {role: names[0] if len(names) == 1 else list(names)
                   for role, names in self.columns}  # fmt: skip
        return {"file": self.path, "format": self.format, "columns": columns}


def taken_alike(read: Sequence[Mapping[str, Any]], most: int = 4, files: int = 2) -> Iterator[str]:
    """Yield what inputs were taken for, with at most so many names of a role, and so many files."""
    alike: dict[str, list[str]] = {}
    for entry in read:
        columns = "; ".join(
            f"{role}: {listed([names] if isinstance(names, str) else names, most)}"
            for role, names in entry["columns"].items()
        )
        description = f"{entry['format']} ({columns})" if columns else entry["format"]
        alike.setdefault(description, []).append(entry["file"])
    for description, paths in alike.items():
        yield f"{listed(paths, files)} as {description}"


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a result came about, in one line for a footnote or as JSON for a machine."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[InputFile, ...] = ()
    seed: int | None = None
    version: str = field(default_factory=installed_version)

    @classmethod
    def of(
        cls,
        method: str,
        options: Mapping[str, Any],
        inputs: Sequence[InputFile] = (),
        rng: object = None,
        asked: Options | None = None,
    ) -> Provenance:
        """Record a run: ``options``, what was ``asked`` beyond defaults, how inputs were read."""
        choices = [set(file.chosen) for file in inputs]
        shown: dict[str, Any] = dict(sorted(set.intersection(*choices))) if choices else {}
        shown |= {} if asked is None else asked.differing(shown=options)
        seed = rng if isinstance(rng, int) else None
        return cls(method, {**shown, **options}, tuple(inputs), seed)

    def line(self) -> str:
        """Return the signature: one line that tells two different runs apart."""
        parts = [f"steelyard {self.version}", self.method]
        parts += [f"{name}:{value}" for name, value in sorted(self.options.items())]
        if self.seed is not None:
            parts.append(f"seed:{self.seed}")
        parts += [f"{Path(i.path).name}@{i.sha256[:8]}" for i in self.inputs if i.sha256]
        return " | ".join(parts)

    def signature(self) -> str | None:
        """Return the statistics in one line, as sacreBLEU signs scores; None where there are none.

        Examples
        --------
        >>> Provenance("meta", {"with": "spa", "unit": "document", "method": "exact"}).signature()
        'spa|unit:document|perm:exact|ties:-|v...'
        """
        if self.method not in _SIGNED:
            return None
        chosen = {
            key: "-" if value in (None, "none") else _signed(str(value))
            for key, value in self.options.items()
        }
        estimated = next((chosen[key] for key in _ESTIMATED if key in chosen), self.method)
        tests = (f"{short}:{chosen[key]}" for key, short in _STATISTICS.items() if key in chosen)
        ties = chosen.get("ties", chosen.get("epsilon", "-"))
        seed = () if self.seed is None else (f"seed:{self.seed}",)
        unit = chosen.get("unit", "-")
        return "|".join(
            (estimated, f"unit:{unit}", *tests, f"ties:{ties}", *seed, f"v{self.version}")
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "version": self.version,
            "method": self.method,
            "options": dict(self.options),
            "seed": self.seed,
            "inputs": [i.to_dict() for i in self.inputs],
            "signature": self.line(),
        }


def _signed(value: str) -> str:
    """Return a value without blanks: ``mean+bt``, ``permutation-greater``."""
    words = re.sub(r"[ ()]+", "-", value.replace(", ", " ")).strip("-")
    return words.replace(",", "+")


def origin(provenance: Provenance | None) -> dict[str, Any]:
    """Return what ``--json`` prints of how a result came about, and what was read for it."""
    if provenance is None:
        return {"provenance": None, "read": []}
    inputs = sorted(provenance.inputs, key=lambda file: file.path)  # whatever their order was
    facts = {"provenance": provenance.to_dict(), "read": [file.taken_for() for file in inputs]}
    signature = provenance.signature()
    return facts if signature is None else {**facts, "signature": signature}


def sha256(files: Sequence[Path], root: Path | None = None) -> str:
    """Hash a file, or several of them by their names below ``root`` in sorted order."""
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        if root is not None:
            digest.update(file.relative_to(root).as_posix().encode() + b"\0")
        with file.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()
