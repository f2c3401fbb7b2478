"""From records to entities: which records are the same thing, and what is known of it.

Records of one id are one entity. Records of different sources become one where an id that one of
them claims (`Entity.same_as`) is the other's, or is claimed by both. Two ids of the same source
are never merged: of two Wikidata items that claim one GeoNames place, the better known one has it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from steelyard.core.errors import InputError
from steelyard.kobe.base.sorting import ExternalSort

#: Whose id an entity keeps when sources are merged; others come after these.
_NAMESPACES = {"wd": 0, "iso": 1, "gn": 2, "cur": 3, "lang": 4, "wn": 5}


@dataclass
class Entities:
    """Entities in the order of their ids, and the entity of every record."""

    of_record: array[int]
    prior: array[float] = field(default_factory=lambda: array("f"))
    tier: array[int] = field(default_factory=lambda: array("B"))
    category: array[int] = field(default_factory=lambda: array("B"))
    categories: list[str] = field(default_factory=list)
    merged: int = 0


def lines(number: int, row: Sequence[object]) -> list[bytes]:
    """Give what is to be sorted of one record: its own line, and one for each id it claims."""
    id_, category, tier, prior, _, same_as, _ = row
    own = [f"{id_}\t0\t{number:08x}\t{prior}\t{category}\t{tier}\n".encode()]
    assert isinstance(same_as, list)
    return own + [f"{other}\t1\t{id_}\t{prior}\n".encode() for other in same_as if other != id_]


def merge(sort: ExternalSort, n_records: int, folder: Path) -> Entities:
    """Number the entities, and write their ids to `folder`."""
    parents = _parents(sort)
    wanted = set(parents.values())
    numbers: dict[str, int] = {}
    result = Entities(array("I", bytes(4 * n_records)))
    codes: dict[str, int] = {}
    later: list[tuple[str, list[int], float, int]] = []
    ends = array("q")
    with (folder / "ids.bin").open("wb", buffering=1 << 20) as ids:
        for id_, own, _claims in _groups(sort):
            if not own:
                continue
            records = [int(fields[2], 16) for fields in own]
            prior = max(float(fields[3]) for fields in own)
            tier = min(int(fields[5]) for fields in own)
            if id_ in parents:
                later.append((_root(id_, parents), records, prior, tier))
                continue
            number = len(result.prior)
            for record in records:
                result.of_record[record] = number
            if id_ in wanted:
                numbers[id_] = number
            result.prior.append(prior)
            result.tier.append(tier)
            result.category.append(_code(own[0][4], codes))
            ends.append((ends[-1] if ends else 0) + ids.write(id_.encode()))
    np.save(folder / "ids.npy", np.frombuffer(ends, "<i8"))
    for root, records, prior, tier in later:
        number = numbers[root]
        result.prior[number] = max(result.prior[number], prior)
        result.tier[number] = min(result.tier[number], tier)
        for record in records:
            result.of_record[record] = number
    result.merged = len(later)
    result.categories = list(codes)
    return result


def _code(category: str, codes: dict[str, int]) -> int:
    code = codes.setdefault(category, len(codes))
    if code > 255:
        raise InputError(f"'{category}' is category 257, expected 256 at most")
    return code


Group = tuple[str, list[list[str]], list[list[str]]]


def _groups(sort: ExternalSort) -> Iterator[Group]:
    """Give for each id the lines of its records and those of its claimants."""
    rows = (line.decode().rstrip("\n").split("\t") for line in sort)
    for id_, group in groupby(rows, key=lambda fields: fields[0]):
        own: list[list[str]] = []
        claims: list[list[str]] = []
        for fields in group:
            (claims if fields[1] == "1" else own).append(fields)
        yield id_, own, claims


def _parents(sort: ExternalSort) -> dict[str, str]:
    """Find for each id that goes by another id of another source what that is."""
    best: dict[str, tuple[tuple[int, str], float, str]] = {}
    for id_, own, claims in _groups(sort):
        if not claims:
            continue
        nodes: dict[str, float] = {}
        for fields in claims:
            nodes[fields[2]] = max(float(fields[3]), nodes.get(fields[2], 0.0))
        if own:
            nodes[id_] = max(float(fields[3]) for fields in own)
        ranked = sorted((_namespace(node), -prior, node) for node, prior in nodes.items())
        for space, _, node in ranked:
            if space != ranked[0][0] and (node not in best or ranked[0] < best[node]):
                best[node] = ranked[0]
    return {node: winner[2] for node, winner in best.items()}


def _namespace(id_: str) -> tuple[int, str]:
    name = id_.partition(":")[0]
    return _NAMESPACES.get(name, len(_NAMESPACES)), name


def _root(id_: str, parents: dict[str, str]) -> str:
    while id_ in parents:  # namespaces only get better on the way, so that it ends
        id_ = parents[id_]
    return id_


class ArrayWriter:
    """Writes a one-dimensional ``.npy`` file piece by piece, its length being known at the end."""

    _HEADER = 128

    def __init__(self, path: Path, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._file: BinaryIO = path.open("wb", buffering=1 << 20)
        self._file.write(bytes(self._HEADER))

    def write(self, values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> None:
        """Append values."""
        self._file.write(np.ascontiguousarray(values, self.dtype).tobytes())
        self.length += len(values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        facts = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        text = repr(facts).encode().ljust(self._HEADER - 11) + b"\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
        self._file.close()
