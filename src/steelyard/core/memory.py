"""How much address space a process may still reserve."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class AddressSpace(NamedTuple):
    """The limit (``ulimit -v``) and what is left of it, in MB."""

    limit: int
    left: int


def address_space() -> AddressSpace | None:
    """Return what this process may reserve; None without a limit, or where it can't be told."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        left = limit - pages * resource.getpagesize()
    except (ImportError, OSError):  # not Linux
        return None
    return AddressSpace(limit >> 20, max(left, 0) >> 20)
