"""Downloads over a real server on this machine, and archives made to do harm."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import steelyard.core.download as module
from steelyard.core.download import cache_dir, extract, get_test_set
from steelyard.core.errors import DownloadError, UsageError

ROOT = "mt-metrics-eval-v2"
BODY = random.Random(0).randbytes(300_000)
#: Tests do not wait long before they try again.
download = partial(module.download, delays=(0.01, 0.01, 0.01))
POSIX = pytest.mark.skipif(os.name != "posix", reason="about POSIX file modes")


@dataclass
class Server:
    """What the server does next, and what it did."""

    body: bytes = BODY
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"one"'})
    drops: list[int | None] = field(default_factory=list)  # bytes to send, one per request
    reset: bool = False
    ranges: bool = True
    heed_if_range: bool = True
    length: bool = True
    status: int = 200
    redirects: list[str] = field(default_factory=list)  # one per request
    silent: threading.Event | None = None
    hang_ups: int = 0  # requests to leave without any answer
    requests: list[dict[str, str]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    sent: int = 0
    url: str = ""

    def answer(self, asked: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for a request."""
        if self.redirects:
            return 302, {"Location": self.redirects.pop(0)}, b""
        if self.status != 200:
            return self.status, {}, b"an error page"
        wanted = re.fullmatch(r"bytes=(\d+)-", asked.get("range", ""))
        stale = asked.get("if-range") not in {None, *self.headers.values()}
        if not wanted or not self.ranges or (stale and self.heed_if_range):
            return 200, self.headers, self.body
        start, total = int(wanted[1]), len(self.body)
        if start >= total:
            return 416, {"Content-Range": f"bytes */{total}"}, b"no such range"
        span = {"Content-Range": f"bytes {start}-{total - 1}/{total}"}
        return 206, self.headers | span, self.body[start:]


class Handler(BaseHTTPRequestHandler):
    state: Server

    def do_GET(self) -> None:
        state = self.state
        asked = {name.lower(): value for name, value in self.headers.items()}
        state.requests.append(asked)
        if state.silent is not None:
            state.silent.wait(10)
            return
        if state.hang_ups:
            state.hang_ups -= 1
            return
        status, headers, body = state.answer(asked)
        state.statuses.append(status)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if state.length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        limit = state.drops.pop(0) if state.drops else None
        state.sent += len(body[:limit])  # before: once all is written the test may look at it
        self.wfile.write(body[:limit])
        if limit is not None and state.reset:
            linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def server(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    state = Server()
    handler = type("OneHandler", (Handler,), {"state": state})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        httpd.daemon_threads = False  # so that closing waits for all of them
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{httpd.server_port}/package.tgz"
        yield state
        httpd.shutdown()
        thread.join()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "downloads" / "package.tgz"


def entry(name: str, kind: bytes = tarfile.REGTYPE, **more: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in more.items():
        setattr(info, key, value)
    return info


def tar_bytes(*entries: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
        for info, data in entries:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def package(*more: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> bytes:
    files = {
        f"{ROOT}/README": b"read me",
        f"{ROOT}/wmt22/sources/en-de.txt": b"old\n",
        f"{ROOT}/wmt23/sources/en-de.txt": "Grüße\n".encode(),
        f"{ROOT}/wmt23/metric-scores/en-de/BLEU-refA.sys.score": BODY[:50_000],
        f"{ROOT}/wmt23.sent/sources/en-de.txt": b"sentences\n",
    }
    folders = [(entry(name, tarfile.DIRTYPE), b"") for name in (ROOT, f"{ROOT}/wmt23")]
    return tar_bytes(*folders, *((entry(n), d) for n, d in files.items()), *more, mode=mode)


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


WMT23 = {
    "sources/en-de.txt": "Grüße\n".encode(),
    "metric-scores/en-de/BLEU-refA.sys.score": BODY[:50_000],
}


# ---- the whole way


def test_one_of_the_test_sets_is_downloaded_and_unpacked(server, tmp_path):
    server.body = package()
    folder = get_test_set("wmt23", url=server.url, cache=tmp_path, sha256=sha256(server.body))
    assert folder == tmp_path / ROOT / "wmt23"
    assert tree(folder) == WMT23
    assert [path.name for path in (tmp_path / ROOT).iterdir()] == ["wmt23"]
    assert [path.suffix for path in (tmp_path / "downloads").iterdir()] == [".tgz"]


def test_a_second_test_set_needs_no_second_download(server, tmp_path):
    server.body = package()
    get_test_set("wmt23", url=server.url, cache=tmp_path)
    folder = get_test_set("wmt22", url=server.url, cache=str(tmp_path))
    assert tree(folder) == {"sources/en-de.txt": b"old\n"}
    assert len(server.requests) == 1


def test_the_packages_of_two_addresses_do_not_mix(server, tmp_path):
    server.body = package()
    get_test_set("wmt23", url=server.url, cache=tmp_path)
    get_test_set("wmt22", url=server.url + "?other", cache=tmp_path)
    assert len(server.requests) == 2


def test_a_folder_that_exists_is_returned_without_a_request(server, tmp_path):
    (tmp_path / ROOT / "wmt23").mkdir(parents=True)
    assert get_test_set("wmt23", url=server.url, cache=tmp_path) == tmp_path / ROOT / "wmt23"
    assert server.requests == []


def test_force_downloads_and_unpacks_again(server, tmp_path):
    server.body = package()
    folder = get_test_set("wmt23", url=server.url, cache=tmp_path)
    (folder / "stray").write_text("not from the package")
    server.body, server.headers = package((entry(f"{ROOT}/wmt23/new"), b"new")), {"ETag": '"two"'}
    assert get_test_set("wmt23", url=server.url, cache=tmp_path, force=True) == folder
    assert tree(folder) == WMT23 | {"new": b"new"}
    assert len(server.requests) == 2
    assert [path.name for path in (tmp_path / ROOT).iterdir()] == ["wmt23"]


def test_force_keeps_a_package_of_the_right_checksum(server, tmp_path):
    server.body = package()
    for _ in range(2):
        get_test_set(
            "wmt23", url=server.url, cache=tmp_path, force=True, sha256=sha256(server.body).upper()
        )
    assert len(server.requests) == 1


def test_force_leaves_the_old_folder_where_the_new_package_is_bad(server, tmp_path):
    server.body = package()
    folder = get_test_set("wmt23", url=server.url, cache=tmp_path)
    server.body, server.headers = b"<html>sorry</html>", {"ETag": '"two"'}
    with pytest.raises(DownloadError, match="force=True"):
        get_test_set("wmt23", url=server.url, cache=tmp_path, force=True)
    assert tree(folder) == WMT23


def test_a_kept_package_that_was_damaged_is_fetched_again(server, tmp_path):
    server.body = package()
    get_test_set("wmt23", url=server.url, cache=tmp_path)
    (archive,) = (tmp_path / "downloads").iterdir()
    archive.write_bytes(archive.read_bytes()[:1000])
    with pytest.raises(DownloadError, match=r"cut short.*force=True"):
        get_test_set("wmt22", url=server.url, cache=tmp_path)
    get_test_set("wmt22", url=server.url, cache=tmp_path, sha256=sha256(server.body))
    assert len(server.requests) == 2


def test_an_unknown_test_set_names_the_known_ones(server, tmp_path):
    server.body = package()
    with pytest.raises(DownloadError) as caught:
        get_test_set("wmt32", url=server.url, cache=tmp_path)
    assert str(caught.value) == (
        f"the archive has no folder '{ROOT}/wmt32': "
        "did you mean 'wmt23'? Known: wmt22, wmt23, wmt23.sent"
    )
    assert list((tmp_path / ROOT).iterdir()) == []


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../wmt23", "/etc", "a/b", "a\\b", ".hidden", "-x", "wmt23\n", "é"]
)
def test_a_bad_name_is_refused(name, server, tmp_path):
    with pytest.raises(UsageError, match="is not the name of a test set"):
        get_test_set(name, url=server.url, cache=tmp_path)
    assert server.requests == []
    assert list(tmp_path.iterdir()) == []


def test_address_and_cache_come_from_the_environment(server, tmp_path, monkeypatch):
    server.body = package()
    monkeypatch.setenv("STEELYARD_DATA_URL", server.url)
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    assert get_test_set("wmt23") == tmp_path / ROOT / "wmt23"


def test_cache_dir(monkeypatch):
    for name in ("STEELYARD_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert cache_dir() == Path.home() / ".cache" / "steelyard"
    monkeypatch.setenv("XDG_CACHE_HOME", "xdg")
    assert cache_dir() == Path("xdg/steelyard")
    monkeypatch.setenv("STEELYARD_CACHE", "own")
    assert cache_dir() == Path("own")


def test_importing_the_module_does_not_import_what_only_downloads_need():
    code = (
        "import sys, steelyard.core.download as d\n"
        "print(*{'tarfile', 'gzip', 'urllib.request', 'http.client', 'ssl'} & set(sys.modules))"
    )
    env = os.environ | {"PYTHONPATH": str(Path(module.__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert run.stdout.strip() == b""


# ---- the download


@pytest.mark.parametrize("drops", [[], [100_000]])
def test_progress_is_told_of_every_step(server, target, drops):
    server.drops = drops
    seen: list[tuple[int, int | None]] = []
    download(server.url, target, progress=lambda done, total: seen.append((done, total)))
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, len(BODY))
    assert {total for _, total in seen} == {len(BODY)}


@pytest.mark.parametrize("reset", [False, True])
def test_a_dropped_connection_is_taken_up_again(server, target, reset):
    server.drops, server.reset = [100_000, 50_000], reset
    download(server.url, target, sha256=sha256(BODY))
    assert target.read_bytes() == BODY
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    first, *others = server.requests
    assert "range" not in first
    assert len(others) == 2
    if not reset:  # a reset may lose what was under way, even all of it
        assert [request["range"] for request in others] == ["bytes=100000-", "bytes=150000-"]
        assert [request["if-range"] for request in others] == ['"one"', '"one"']
        assert server.sent == len(BODY)
    assert server.sent < 2 * len(BODY)


def interrupted(server: Server, target: Path, kept: int = 100_000) -> None:
    server.drops = [kept, 0, 0, 0]
    with pytest.raises(DownloadError) as caught:
        download(server.url, target)
    assert str(caught.value) == (
        f"{server.url}: only {kept:,} of 300,000 bytes came; running the command again resumes"
    )
    assert not target.exists()
    assert target.with_name("package.tgz.part").read_bytes() == BODY[:kept]
    server.requests.clear()
    server.statuses.clear()


def test_a_later_run_resumes(server, target):
    interrupted(server, target)
    note = json.loads(target.with_name("package.tgz.part.json").read_bytes())
    assert note == {"url": server.url, "validator": '"one"'}
    download(server.url, target, sha256=sha256(BODY))
    assert target.read_bytes() == BODY
    assert server.statuses == [206]
    assert server.sent == len(BODY)


def test_last_modified_does_where_there_is_no_strong_etag(server, target):
    date = "Tue, 21 Apr 2026 10:00:00 GMT"
    server.headers = {"ETag": 'W/"weak"', "Last-Modified": date}
    interrupted(server, target)
    download(server.url, target)
    assert target.read_bytes() == BODY
    assert server.requests[0]["if-range"] == date
    assert server.statuses == [206]


TWO = {"ETag": '"two"'}


@pytest.mark.parametrize(
    ("changes", "statuses"),
    [
        ({"body": BODY[::-1], "headers": TWO}, [200]),
        ({"body": BODY[::-1], "headers": TWO, "heed_if_range": False}, [206, 200]),
        ({"body": BODY[:10], "heed_if_range": False}, [416, 200]),
        ({"ranges": False}, [200]),
    ],
    ids=["changed", "changed, and not said", "shrank", "no ranges"],
)
def test_what_can_not_be_taken_up_is_downloaded_afresh(server, target, changes, statuses):
    interrupted(server, target)
    for name, value in changes.items():
        setattr(server, name, value)
    download(server.url, target, sha256=sha256(server.body))
    assert target.read_bytes() == server.body
    assert server.statuses == statuses


def test_a_part_that_is_complete_is_not_fetched_again(server, target):
    interrupted(server, target)
    target.with_name("package.tgz.part").write_bytes(BODY)
    download(server.url, target, sha256=sha256(BODY))
    assert target.read_bytes() == BODY
    assert server.statuses == [416]


def test_without_a_validator_nothing_is_resumed_nor_promised(server, target):
    server.headers, server.drops = {}, [100, 200, 300, 400]
    with pytest.raises(DownloadError, match=r"only 400 of 300,000 bytes .* starts afresh"):
        download(server.url, target)
    download(server.url, target)
    assert target.read_bytes() == BODY
    assert not any("range" in request for request in server.requests)


def test_a_connection_closed_without_an_answer_is_tried_again(server, target):
    server.hang_ups = 3
    download(server.url, target)
    assert target.read_bytes() == BODY
    server.hang_ups = 4
    with pytest.raises(DownloadError, match="closed connection without response"):
        download(server.url, target)


OTHER = '{"url": "http://other/", "validator": "\\"one\\""}'


@pytest.mark.parametrize("note", ["", "[]", '{"url": 1}', "\xff", OTHER])
def test_a_note_that_is_not_ours_is_not_believed(server, target, note):
    interrupted(server, target)
    target.with_name("package.tgz.part.json").write_text(note, encoding="latin-1")
    download(server.url, target)
    assert target.read_bytes() == BODY
    assert server.statuses == [200]


def test_a_length_that_is_not_given_is_none(server, target):
    server.length = False
    totals: list[int | None] = []
    download(server.url, target, progress=lambda _, total: totals.append(total))
    assert target.read_bytes() == BODY
    assert set(totals) == {None}


def test_a_wrong_checksum_leaves_what_was_there(server, target):
    with pytest.raises(DownloadError) as caught:
        download(server.url, target, sha256="0" * 64)
    assert "0" * 64 in str(caught.value)
    assert sha256(BODY) in str(caught.value)
    assert list(target.parent.iterdir()) == []
    target.write_bytes(b"good")
    with pytest.raises(DownloadError, match="SHA-256"):
        download(server.url, target, sha256="0" * 64)
    assert target.read_bytes() == b"good"
    download(server.url, target, sha256=sha256(BODY).upper())
    assert "range" not in server.requests[-1]


@pytest.mark.parametrize("digest", ["abc", "g" * 64, "0" * 65])
def test_a_checksum_that_is_none_is_refused(server, target, digest):
    with pytest.raises(UsageError, match="64 hexadecimal digits"):
        download(server.url, target, sha256=digest)
    assert server.requests == []


@pytest.mark.parametrize("status", [403, 404, 416, 500, 503])
def test_an_http_error_is_one_line(server, target, status):
    server.status = status
    with pytest.raises(DownloadError) as caught:
        download(server.url, target)
    assert str(caught.value).startswith(f"{server.url}: HTTP Error {status}: ")
    assert "\n" not in str(caught.value)
    assert len(server.requests) == 1


def test_a_status_that_makes_no_sense_is_named(server, target):
    server.status = 206
    with pytest.raises(DownloadError, match="status 206"):
        download(server.url, target)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://host/x", "data:,x", "/etc/passwd", "", "http://", "http:x"]
)
def test_other_schemes_are_refused(url, target):
    with pytest.raises(UsageError, match="is not an address to download from"):
        download(url, target)
    assert not target.parent.exists()


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_redirects_to_other_schemes_are_refused(server, target, to):
    server.redirects = [to]
    with pytest.raises(DownloadError) as caught:
        download(server.url, target)
    assert re.search(r"not allowed|unknown url type", str(caught.value))
    assert list(target.parent.iterdir()) == []


def test_a_redirect_in_circles_is_one_line(server, target):
    server.redirects = [server.url] * 50
    with pytest.raises(DownloadError, match="infinite loop"):
        download(server.url, target)


def test_a_redirect_to_http_is_followed_and_resumes(server, target):
    interrupted(server, target)
    server.redirects = [server.url + "?moved"]
    download(server.url, target)
    assert target.read_bytes() == BODY
    assert server.statuses == [302, 206]


def test_a_refused_connection_is_one_line(target):
    with socket.socket() as taken:  # bound, not listening: nobody else can get the port meanwhile
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/x"
        with pytest.raises(DownloadError, match="refused") as caught:
            download(url, target)
    assert str(caught.value).startswith(f"{url}: ")
    assert "\n" not in str(caught.value)


def test_a_server_that_says_nothing_times_out(server, target):
    server.silent = threading.Event()
    with pytest.raises(DownloadError, match="timed out"):
        download(server.url, target, timeout=0.1)
    server.silent.set()


@pytest.mark.parametrize("url", ["http://127.0.0.1:port/x", "http://[::1/x", "http://é é/"])
def test_an_address_that_can_not_be_is_one_line(url, target):
    with pytest.raises(DownloadError, match=re.escape(url)):
        download(url, target)


def test_a_disk_that_refuses_is_one_line(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match="could not be read or written"):
        download(server.url, tmp_path / "file" / "package.tgz")


def test_an_interrupt_keeps_what_came(server, target):
    def stop(done: int, _: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(server.url, target, progress=stop)
    download(server.url, target)
    assert target.read_bytes() == BODY
    assert "range" in server.requests[-1]


# ---- the archive


def refused(tmp_path: Path, data: bytes, match: str, **limits: int) -> None:
    """Expect a refusal and nothing left behind, neither inside nor outside of the target."""
    archive, place = tmp_path / "package.tgz", tmp_path / "place"
    archive.write_bytes(data)
    with pytest.raises(DownloadError, match=match) as caught:
        extract(archive, f"{ROOT}/wmt23", place / "wmt23", **limits)
    assert "\n" not in str(caught.value)
    assert list(place.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["package.tgz", "place"]


@pytest.mark.parametrize(
    "name",
    [
        "/tmp/evil",
        f"/{ROOT}/wmt23/evil",
        f"{ROOT}/wmt23/../evil",
        f"{ROOT}/wmt23/..",
        "../evil",
        f"{ROOT}/wmt23/a\\..\\evil",
        "C:/evil",
        f"{ROOT}/wmt23/C:evil",
    ],
)
def test_a_path_that_leads_out_is_refused(tmp_path, name):
    refused(tmp_path, package((entry(name), b"x")), re.escape(f"{name!r} could lead elsewhere"))


def test_a_nul_in_a_path_is_refused(tmp_path):
    bad = entry("short")
    bad.pax_headers = {"path": f"{ROOT}/wmt23/a\0b"}
    refused(tmp_path, package((bad, b"x")), "could lead elsewhere|damaged")


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
    ],
)
@pytest.mark.parametrize("name", ["evil", ""])
def test_links_and_devices_are_refused(tmp_path, kind, name):
    path = f"{ROOT}/wmt23/{name}".rstrip("/")
    bad = entry(path, kind, linkname="/etc/passwd")
    refused(tmp_path, package((bad, b"")), f"'{path}' is no regular file or folder")


def test_links_of_other_test_sets_do_not_matter(tmp_path):
    link = entry(f"{ROOT}/wmt22/link", tarfile.SYMTYPE, linkname="/etc/passwd")
    (tmp_path / "package.tgz").write_bytes(package((link, b"")))
    extract(tmp_path / "package.tgz", f"{ROOT}/wmt23", tmp_path / "wmt23")
    assert tree(tmp_path / "wmt23") == WMT23


def _through_a_link() -> bytes:
    link = entry(f"{ROOT}/wmt23/out", tarfile.SYMTYPE, linkname="/tmp")
    return package((link, b""), (entry(f"{ROOT}/wmt23/out/evil"), b"x"))


def _claimed() -> bytes:
    head = entry(f"{ROOT}/wmt23/huge", size=1 << 40).tobuf(tarfile.GNU_FORMAT)
    return gzip.compress(head + bytes(10_240))


def _nested() -> bytes:
    head = entry("././@LongLink", tarfile.GNUTYPE_LONGNAME, size=4).tobuf(tarfile.GNU_FORMAT)
    return gzip.compress((head + b"abc".ljust(512, b"\0")) * 5_000)


def _starts(plain: bytes | bytearray) -> list[int]:
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        return [member.offset for member in tar]


def _broken_header() -> bytes:
    plain = bytearray(package(mode="w"))
    start = _starts(plain)[-1]
    plain[start : start + 5] = b"?????"
    return gzip.compress(plain)


def _changed_byte() -> bytes:
    data = bytearray(gzip.compress(package(mode="w"), compresslevel=0))  # stored as it is
    data[data.index(b"sentences")] ^= 1
    return bytes(data)


def _damaged_compression() -> bytes:
    text = " ".join(map(str, range(50_000))).encode()
    data = bytearray(package((entry(f"{ROOT}/wmt23/text"), text)))
    data[-5_000:-4_000] = b"\xff" * 1_000
    return bytes(data)


@pytest.mark.parametrize(
    ("made", "match", "limits"),
    [
        (_through_a_link, "no regular file", {}),
        (lambda: tar_bytes((entry(f"{ROOT}/wmt23"), b"x")), "no regular file or folder", {}),
        (lambda: package((entry(f"{ROOT}/wmt23/sources"), b"x")), "not be read or written", {}),
        (package, "more than 1,000,000 members or 9,999 bytes", {"max_bytes": 9_999}),
        (package, "more than 2 members", {"max_files": 2}),
        (_claimed, "more than .* bytes", {}),
        (_nested, "damaged", {}),
        (_broken_header, "damaged.*force=True", {}),
        (_changed_byte, "damaged.*CRC.*force=True", {}),
        (_damaged_compression, "damaged.*force=True", {}),
    ],
    ids=["through a link", "file for the folder", "file for a folder", "bytes", "members",
         "claimed size", "nested headers", "broken header", "changed byte", "compression"],
)  # fmt: skip
def test_what_an_archive_must_not_be(tmp_path, made, match, limits):
    refused(tmp_path, made(), match, **limits)


def test_an_archive_cut_short_is_refused(tmp_path):
    data, plain = package(), package(mode="w")
    *_, before, last = _starts(plain)
    cut = [data[: int(len(data) * share)] for share in (0.1, 0.5, 0.99)]
    cut += [data[:-missing] for missing in (1, 8, 9)]
    # Before it was compressed: between two members, in a header, in a body.
    cut += [gzip.compress(plain[:end]) for end in (last, last + 100, before + 600)]
    for short in cut:
        refused(tmp_path, short, "cut short.*force=True")
        (tmp_path / "place").rmdir()


@pytest.mark.parametrize("size", [-1, -512, -(1 << 40)])
def test_a_negative_size_is_refused(tmp_path, size):
    head = bytearray(entry(f"{ROOT}/wmt23/odd").tobuf(tarfile.GNU_FORMAT))
    head[124:136] = b"\xff" + (256**11 + size).to_bytes(11, "big")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    refused(tmp_path, gzip.compress(bytes(head) + bytes(10_240)), "no regular file|damaged")


@pytest.mark.parametrize(  # the time in a packed file must not name a test
    "data",
    [b"", b"<html>sorry</html>", BODY, gzip.compress(b"text"), gzip.compress(BODY)],
    ids=["empty", "html", "plain", "packed text", "packed body"],
)
def test_what_is_no_archive_is_refused(tmp_path, data):
    refused(tmp_path, data, r"not a \.tar\.gz")


def test_an_archive_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(DownloadError, match="No such file"):
        extract(tmp_path / "none.tgz", "a", tmp_path / "place" / "a")
    assert list((tmp_path / "place").iterdir()) == []


def test_dots_in_front_and_unsorted_members_are_fine(tmp_path):
    data = tar_bytes(
        (entry("./", tarfile.DIRTYPE), b""),
        (entry(f"./{ROOT}/wmt23/a"), b"1"),
        (entry(f"./{ROOT}/wmt22/b"), b"2"),
        (entry(f"./{ROOT}/wmt23/c/d"), b"3"),
        (entry(f"./{ROOT}/wmt23/a"), b"the later one counts"),
    )
    (tmp_path / "package.tgz").write_bytes(data)
    extract(tmp_path / "package.tgz", f"{ROOT}/wmt23", tmp_path / "wmt23")
    assert tree(tmp_path / "wmt23") == {"a": b"the later one counts", "c/d": b"3"}


@POSIX
def test_modes_and_times_are_not_taken_from_the_archive(tmp_path):
    tool = entry(f"{ROOT}/wmt23/bin/tool", mode=0o6777, mtime=0)
    locked = entry(f"{ROOT}/wmt23/locked", tarfile.DIRTYPE, mode=0)
    (tmp_path / "package.tgz").write_bytes(package((tool, b"#!"), (locked, b"")))
    before = os.umask(0o022)
    try:
        folder = extract(tmp_path / "package.tgz", f"{ROOT}/wmt23", tmp_path / "wmt23")
    finally:
        os.umask(before)
    made = folder / "bin" / "tool"
    assert made.stat().st_mode & 0o7777 == 0o644
    assert made.stat().st_mtime > 1_000_000_000
    for path in (folder, folder / "bin", folder / "locked"):
        assert path.stat().st_mode & 0o7777 == 0o755


@POSIX
def test_an_interrupt_leaves_nothing_behind(tmp_path):
    """Send a real Ctrl-C to a process that waits for the rest of its archive."""
    code = (
        "import signal, sys, pathlib, steelyard.core.download as d\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "pipe, place = map(pathlib.Path, sys.argv[1:])\n"
        f"d.extract(pipe, '{ROOT}/wmt23', place / 'wmt23')\n"
    )
    pipe, place = tmp_path / "pipe", tmp_path / "place"
    os.mkfifo(pipe)
    env = os.environ | {"PYTHONPATH": str(Path(module.__file__).parents[2])}
    command = [sys.executable, "-c", code, str(pipe), str(place)]
    with (
        subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as process,
        pipe.open("wb") as feed,
    ):
        feed.write(package()[:40_000])
        feed.flush()
        deadline = time.monotonic() + 20
        while not list(place.glob(".wmt23-*/new/sources")) and time.monotonic() < deadline:
            time.sleep(0.01)
        half = [path.name for path in place.iterdir()]
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=20)
    assert len(half) == 1
    assert complaint.rstrip().endswith(b"KeyboardInterrupt")
    assert list(place.iterdir()) == []
