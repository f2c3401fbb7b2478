"""Fetch the public WMT metrics data package and unpack one test set of it.

The package, a ``.tgz`` of some 900 MB, stays in the cache, so that a second test set costs no
second download. Two processes must not fetch it at once: the checksum tells, but only at the end.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from steelyard.core.errors import DownloadError, UsageError, hint

DEFAULT_URL = "https://data.statmt.org/wmt26/mt-metrics-eval-v2.tgz"
#: Of the file at `DEFAULT_URL`, as of 2026-04-21.
DEFAULT_SHA256 = "6708eec9aaa8a9deca5e370bdd0e23db4881aeca129f29d5281575eaa66c7e10"
#: Called with the bytes that are there and the bytes expected (None: the server did not say).
Progress = Callable[[int, int | None], None]
_PACKAGE = "mt-metrics-eval-v2"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Stricter than tarfile's own filter of data, which lets links pass and takes a leading slash off.
_UNSAFE = re.compile(r"^/|[\\\0]|(^|/)(\.\.(/|\Z)|[^/]:)")  # ":" comes after a drive letter
_CHUNK = 1 << 18


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turn what the file system complains about into one line; network errors never get here."""
    try:
        yield
    except OSError as error:
        raise DownloadError(f"a file could not be read or written: {error}") from error


def cache_dir() -> Path:
    r"""Return the folder that downloads are kept in; it need not exist yet.

    That is ``$STEELYARD_CACHE``, else ``$XDG_CACHE_HOME/steelyard``, else ``~/.cache/steelyard``
    (on Windows ``%LOCALAPPDATA%\steelyard\cache``).
    """
    if folder := os.environ.get("STEELYARD_CACHE"):
        return Path(folder)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg, "steelyard")
    if os.name == "nt" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local, "steelyard", "cache")
    return Path.home() / ".cache" / "steelyard"


@_disk_errors()
def get_test_set(
    name: str,
    *,
    url: str | None = None,
    sha256: str | None = None,
    cache: Path | str | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> Path:
    """Return the folder of a WMT test set; download and unpack it where it is not there yet.

    The package comes from ``url`` (else ``$STEELYARD_DATA_URL``, else `DEFAULT_URL`) and is kept in
    ``cache`` (else `cache_dir()`). ``force`` unpacks again, and downloads again unless the kept
    package has the expected checksum.
    """
    if not _NAME.fullmatch(name):
        expected = "letters, digits, '.', '_' and '-', the first a letter or digit"
        raise UsageError(f"{name!r} is not the name of a test set: expected {expected}")
    root = cache_dir() if cache is None else Path(cache)
    folder = root / _PACKAGE / name
    if folder.is_dir() and not force:
        return folder
    url = url or os.environ.get("STEELYARD_DATA_URL") or DEFAULT_URL
    sha256 = DEFAULT_SHA256 if sha256 is None and url == DEFAULT_URL else sha256
    tag = hashlib.sha256(url.encode()).hexdigest()[:12]  # two addresses must not mix
    archive = root / "downloads" / f"{_PACKAGE}-{tag}.tgz"
    if not archive.is_file() or (_digest(archive) != sha256.lower() if sha256 else force):
        download(url, archive, sha256=sha256, progress=progress)
    return extract(archive, f"{_PACKAGE}/{name}", folder)


@_disk_errors()
def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    progress: Progress | None = None,
    timeout: float = 30.0,
    delays: Sequence[float] = (0.5, 1.0, 2.0),
) -> Path:
    """Download a file over http(s), going on from where an earlier try stopped.

    The data collects in ``<target>.part``; ``<target>.part.json`` remembers which version of
    which file it is. `target` itself appears (or is replaced) only once all is there and checked.
    A dropped connection is tried again after each of the ``delays``.
    """
    if not re.match("https?://[^/]", url, re.IGNORECASE):
        raise UsageError(f"{url!r} is not an address to download from: expected http(s)://...")
    if sha256 and not re.fullmatch("[0-9A-Fa-f]{64}", sha256):
        raise UsageError(f"{sha256!r} is not a SHA-256 checksum: expected 64 hexadecimal digits")
    target.parent.mkdir(parents=True, exist_ok=True)
    part, note = (target.with_name(target.name + end) for end in (".part", ".part.json"))
    for delay in (*delays, None):
        try:
            _fetch(url, part, note, progress or (lambda *_: None), timeout)
            break
        except ConnectionError as error:
            if delay is None:
                raise DownloadError(f"{url}: {error}") from error
            time.sleep(delay)
    digest = _digest(part) if sha256 else ""
    note.unlink(missing_ok=True)  # not before: who interrupts the hashing can still resume
    if sha256 and digest != sha256.lower():
        part.unlink()
        raise DownloadError(f"{url}: SHA-256 is {digest}, expected {sha256}: deleted, run again")
    part.replace(target)
    return target


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(url: str, part: Path, note: Path, progress: Progress, timeout: float) -> None:
    """Ask for what is missing, or for everything where there is nothing to go on from."""
    offset, validator, headers = 0, "", {"User-Agent": "steelyard"}
    with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
        kept = json.loads(note.read_bytes())
        if kept["url"] == url and kept["validator"] and part.stat().st_size:
            offset, validator = part.stat().st_size, str(kept["validator"])
            headers |= {"Range": f"bytes={offset}-", "If-Range": validator}
    with _open(url, headers, timeout) as response:
        version = _validator(response.headers)
        if response.status == 200:
            with part.open("wb") as file:  # the note must not vouch for the data that was there
                note.write_text(json.dumps({"url": url, "validator": version}))
                _receive(response, file, 0, response.length, progress, resumes=bool(version))
            return
        # A 206 says "bytes 5-9/10"; a 416 says "bytes */5" where the part is complete already.
        span = response.headers.get("Content-Range", "")
        numbers = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+)", span)
        same = version in {None, validator}  # If-Range may be ignored
        if not (offset and numbers and same and int(numbers[1] or numbers[2]) == offset):
            note.unlink(missing_ok=True)  # without a note the part counts for nothing
            raise ConnectionError(f"status {response.status}, range '{span}': not as asked for")
        if response.status == 206:
            with part.open("ab") as file:
                _receive(response, file, offset, int(numbers[2]), progress, resumes=True)


def _open(url: str, headers: dict[str, str], timeout: float) -> Any:
    """Return the response, which may be a 416 where a range was asked for."""
    from http.client import HTTPException
    from urllib import error, request

    opener = request.OpenerDirector()  # knows no ftp, file or data, redirects included
    for name in ("Proxy", "HTTP", "HTTPS", "HTTPDefaultError", "HTTPRedirect", "Unknown"):
        opener.add_handler(getattr(request, f"{name}Handler")())
    opener.add_handler(request.HTTPErrorProcessor())
    try:
        asked = request.Request(url, headers=headers)  # noqa: S310 - download() checked it
        return opener.open(asked, timeout=timeout)
    except error.HTTPError as err:
        if err.code == 416 and "Range" in headers:
            return err
        err.close()
        raise DownloadError(f"{url}: {' '.join(str(err).split())}") from err
    except ConnectionError:  # came after connecting: urllib wraps a failure to connect
        raise
    except (OSError, HTTPException, ValueError) as err:
        raise DownloadError(f"{url}: {getattr(err, 'reason', '') or err}") from err


def _receive(
    response: Any, file: Any, start: int, total: int | None, progress: Progress, *, resumes: bool
) -> None:
    """Write the body to the part file."""
    from http.client import HTTPException

    done, chunk, broken = start, b"?", None
    while chunk:
        progress(done, total)
        try:
            chunk = response.read1(_CHUNK)
        except (OSError, HTTPException) as error:
            chunk, broken = b"", error
        file.write(chunk)
        done += len(chunk)
    if broken or total not in {None, done}:
        of = "an unknown number of" if total is None else f"{total:,}"
        again = f"running the command again {'resumes' if resumes else 'starts afresh'}"
        raise ConnectionError(f"only {done:,} of {of} bytes came; {again}") from broken


def _validator(headers: Any) -> Any:
    """Return what tells one version of the file from another; If-Range takes no weak ETag."""
    etag = headers.get("ETag", "W/")
    return headers.get("Last-Modified") if etag.startswith("W/") else etag


@_disk_errors()
def extract(
    archive: Path,
    member_folder: str,
    target: Path,
    *,
    max_files: int = 1_000_000,
    max_bytes: int = 20 << 30,
) -> Path:
    """Unpack one folder of a ``.tar.gz`` archive to `target`, completely or not at all.

    A `target` that exists is replaced; modes and times are not kept. Links, devices, absolute
    paths and ``..`` are refused, and so are more than `max_files` members or `max_bytes` bytes.
    """
    import gzip
    import tarfile
    import zlib

    broken = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, RecursionError)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Unpacked beside the target, so that the final rename stays on one file system.
    with TemporaryDirectory("", f".{target.name}-", target.parent) as work:
        fresh, old = Path(work, "new"), Path(work, "old")
        try:  # not mode "r|gz": tarfile's gzip reader looks neither for the end nor at the CRC
            with gzip.open(archive) as data, tarfile.open(fileobj=data, mode="r|") as tar:
                _unpack(tar, tuple(member_folder.split("/")), fresh, (max_files, max_bytes))
        except broken as error:
            what = f"{archive} is cut short, damaged or not a .tar.gz ({error})"
            raise DownloadError(f"{what}; run again with force=True to fetch it afresh") from error
        if target.exists():
            target.replace(old)
        fresh.replace(target)
    return target


def _unpack(tar: Any, folder: tuple[str, ...], fresh: Path, limits: tuple[int, int]) -> None:
    """Write what is below `folder`, in the order of the archive."""
    count, size, depth, others = 0, 0, len(folder), set()
    while (member := tar.next()) is not None:
        tar.members = []  # or it keeps the header of each
        parts = tuple(part for part in member.name.split("/") if part not in {"", "."})
        if _UNSAFE.search(member.name):
            raise DownloadError(f"refused: the path of member {member.name!r} could lead elsewhere")
        if parts[:depth] != folder:
            if len(parts) > depth and parts[: depth - 1] == folder[:-1]:
                others.add(parts[depth - 1])
            continue
        path = fresh.joinpath(*parts[depth:])
        plain = member.isreg() and not member.issparse() and path != fresh
        if not (plain or member.isdir()) or member.size < 0:
            raise DownloadError(f"refused: member {member.name!r} is no regular file or folder")
        count, size = count + 1, size + member.size
        if count > limits[0] or size > limits[1]:
            most = "{:,} members or {:,} bytes".format(*limits)
            raise DownloadError(f"refused: with {member.name!r} there are more than {most}")
        (path.parent if plain else path).mkdir(parents=True, exist_ok=True)
        if plain:
            with tar.extractfile(member) as source, path.open("wb") as out:
                copyfileobj(source, out, _CHUNK)
    # tarfile takes a broken header for the end of the archive, but only zeros follow the true end.
    zeros = [not chunk.strip(b"\0") for chunk in iter(lambda: tar.fileobj.read(_CHUNK), b"")]
    if not zeros or not all(zeros):
        raise ValueError("its end mark is missing")
    if not fresh.is_dir():
        missing = hint(folder[-1], filter(_NAME.fullmatch, others))
        raise DownloadError(f"the archive has no folder {'/'.join(folder)!r}: {missing}")
