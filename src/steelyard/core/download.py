"""Fetch the public WMT metrics data, some 900 MB that stay in the cache; unpack one test set."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from steelyard.core.errors import DownloadError, UsageError, hint
from steelyard.core.progress import Progress

DEFAULT_URL = "https://data.statmt.org/wmt26/mt-metrics-eval-v2.tgz"
#: Of the file at `DEFAULT_URL`, as of 2026-04-21.
DEFAULT_SHA256 = "6708eec9aaa8a9deca5e370bdd0e23db4881aeca129f29d5281575eaa66c7e10"
_PACKAGE = "mt-metrics-eval-v2"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Stricter than tarfile's own filter of data, which lets links pass and takes a leading slash off.
_UNSAFE = re.compile(r"^/|[\\\0]|(^|/)(\.\.(/|\Z)|[^/]:)")  # ":" comes after a drive letter
_CHUNK = 1 << 18


def cache_dir() -> Path:
    """Return the folder that downloads are kept in; it need not exist yet."""
    if folder := os.environ.get("STEELYARD_CACHE"):
        return Path(folder)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg, "steelyard")
    if os.name == "nt" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local, "steelyard", "cache")
    return Path.home() / ".cache" / "steelyard"


def get_test_set(
    name: str,
    *,
    url: str | None = None,
    sha256: str | None = None,
    cache: Path | str | None = None,
    progress: Progress | None = None,
    force: bool = False,
    max_bytes: int = 20 << 30,
) -> Path:
    """Return the folder of a WMT test set; download and unpack it where it is not there yet.

    The package comes from ``url`` (else ``$STEELYARD_DATA_URL``, else `DEFAULT_URL`) and is kept in
    ``cache`` (else `cache_dir()`). ``force`` unpacks again, and downloads again unless the kept
    package has the expected checksum. Neither the package nor the folder may exceed ``max_bytes``.
    ``progress`` is called with the bytes that are there and those expected, None where unknown.
    """
    if not _NAME.fullmatch(name):
        expected = "letters, digits, '.', '_' and '-', the first a letter or digit"
        raise UsageError(f"{name!r} is not the name of a test set: expected {expected}")
    root = cache_dir() if cache is None else Path(cache)
    folder = root / _PACKAGE / name
    if folder.is_dir() and not force:
        return folder
    url = url or os.environ.get("STEELYARD_DATA_URL") or DEFAULT_URL
    if not re.match("https?://[^/]", url, re.IGNORECASE):
        raise UsageError(f"{url!r} is not an address to download from: expected http(s)://...")
    sha256 = DEFAULT_SHA256 if sha256 is None and url == DEFAULT_URL else sha256
    if sha256 and not re.fullmatch("[0-9A-Fa-f]{64}", sha256):
        raise UsageError(f"{sha256!r} is not a SHA-256 checksum: expected 64 hexadecimal digits")
    tag = hashlib.sha256(url.encode()).hexdigest()[:12]  # two addresses must not mix
    archive = root / "downloads" / f"{_PACKAGE}-{tag}.tgz"
    try:
        if not archive.is_file() or (_digest(archive) != sha256.lower() if sha256 else force):
            _download(url, archive, sha256, max_bytes, progress or (lambda *_: None))
        _unpack(archive, folder, max_bytes)
    except OSError as error:
        raise DownloadError(f"a file could not be read or written: {error}") from error
    return folder


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(
    url: str, target: Path, sha256: str | None, max_bytes: int, progress: Progress
) -> None:
    """Write a file beside the target, which it replaces once it is complete and checked."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    done = 0
    try:
        request = Request(url, headers={"User-Agent": "steelyard"})  # noqa: S310 - it is http(s)
        with part.open("wb") as file, urlopen(request, timeout=30) as response:  # noqa: S310
            total = response.length
            progress(0, total)
            while chunk := response.read1(_CHUNK):
                done += len(chunk)
                if done > max_bytes:
                    raise DownloadError(f"{url}: refused, it has more than {max_bytes:,} bytes")
                file.write(chunk)
                progress(done, total)
        if total not in (None, done):
            raise DownloadError(f"{url}: only {done:,} of {total:,} bytes came; run again")
        if sha256 and (digest := _digest(part)) != sha256.lower():
            raise DownloadError(f"{url}: SHA-256 is {digest}, expected {sha256}")
        part.replace(target)
    except HTTPError as error:
        with error:
            raise DownloadError(f"{url}: {error}") from error
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(getattr(error, "reason", "") or error).split())
        raise DownloadError(f"{url}: {reason}") from error
    finally:
        part.unlink(missing_ok=True)


def _unpack(archive: Path, folder: Path, max_bytes: int) -> None:
    """Unpack one test set of the package into a folder, completely or not at all."""
    import gzip
    import tarfile
    import zlib

    broken = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, RecursionError)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Unpacked beside the folder, so that the final rename stays on one file system.
    with TemporaryDirectory("", f".{folder.name}-", folder.parent) as work:
        fresh, old = Path(work, "new"), Path(work, "old")
        try:  # not mode "r|gz": tarfile's gzip reader looks neither for the end nor at the CRC
            with gzip.open(archive) as data, tarfile.open(fileobj=data, mode="r|") as tar:
                others = _extract(tar, folder.name, fresh, max_bytes)
                while data.read(_CHUNK):  # to the end, where the checksum is
                    pass
        except broken as error:
            what = f"{archive} is cut short, damaged or not a .tar.gz ({error})"
            raise DownloadError(f"{what}; run again with force=True to fetch it afresh") from error
        if not fresh.is_dir():
            missing = hint(folder.name, filter(_NAME.fullmatch, others))
            raise DownloadError(f"the package has no test set '{folder.name}': {missing}")
        if folder.exists():
            folder.replace(old)
        fresh.replace(folder)


def _extract(tar: Any, name: str, fresh: Path, max_bytes: int) -> set[str]:
    """Write the files of one test set; return the names of the others."""
    others: set[str] = set()
    size = 0
    for member in tar:
        root, *parts = [part for part in member.name.split("/") if part not in ("", ".")] or [""]
        if _UNSAFE.search(member.name):
            raise DownloadError(f"refused: member {member.name!r} could lead elsewhere")
        if root != _PACKAGE or parts[:1] != [name]:
            others.update(parts[:1] if root == _PACKAGE else ())
            continue
        path = fresh.joinpath(*parts[1:])
        is_file = member.isreg() and not member.issparse() and path != fresh
        if not (is_file or member.isdir()) or member.size < 0:
            raise DownloadError(f"refused: member {member.name!r} is no regular file")
        size += member.size + 512  # and its header
        if size > max_bytes:
            raise DownloadError(f"refused: {name} has more than {max_bytes:,} bytes")
        (path.parent if is_file else path).mkdir(parents=True, exist_ok=True)
        if is_file:
            with tar.extractfile(member) as source, path.open("wb") as out:
                copyfileobj(source, out, _CHUNK)
    return others
