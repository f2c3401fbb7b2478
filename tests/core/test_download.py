"""Downloads over a real server on this machine, and archives made to do harm."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
import re
import tarfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.main import run
from steelyard.core.download import get_test_set
from steelyard.core.errors import DownloadError, UsageError

ROOT = "mt-metrics-eval-v2"
BODY = random.Random(0).randbytes(300_000)
POSIX = pytest.mark.skipif(os.name != "posix", reason="about POSIX file modes")


@dataclass
class Server:
    """What the server does next, and what it did."""

    body: bytes = BODY
    sends: int | None = None  # bytes of the body before it hangs up
    length: bool = True
    status: int = 200
    redirects: list[str] = field(default_factory=list)  # one per request
    requests: int = 0
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    state: Server

    def do_GET(self) -> None:
        state = self.state
        state.requests += 1
        if state.redirects:
            self.send_response(302)
            self.send_header("Location", state.redirects.pop(0))
            self.end_headers()
            return
        self.send_response(state.status)
        if state.length:
            self.send_header("Content-Length", str(len(state.body)))
        self.end_headers()
        self.wfile.write(state.body[: state.sends])

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


def test_the_command_prints_the_folder(server, tmp_path, capsys):
    server.body = package()
    options = ["--url", server.url, "--cache", str(tmp_path), "--json"]
    assert run(["data", "get", "wmt23", *options]) == 0
    assert tree(Path(json.loads(capsys.readouterr().out)["path"])) == WMT23
    assert run(["data", "get", "wmt32", *options]) == 1
    assert "did you mean 'wmt23'?" in capsys.readouterr().err


def test_a_second_test_set_needs_no_second_download(server, tmp_path):
    server.body = package()
    get_test_set("wmt23", url=server.url, cache=tmp_path)
    folder = get_test_set("wmt22", url=server.url, cache=str(tmp_path))
    assert tree(folder) == {"sources/en-de.txt": b"old\n"}
    assert server.requests == 1


def test_force_downloads_and_unpacks_again(server, tmp_path):
    server.body = package()
    folder = get_test_set("wmt23", url=server.url, cache=tmp_path)
    (folder / "stray").write_text("not from the package")
    server.body = package((entry(f"{ROOT}/wmt23/new"), b"new"))
    assert get_test_set("wmt23", url=server.url, cache=tmp_path, force=True) == folder
    assert tree(folder) == WMT23 | {"new": b"new"}
    assert server.requests == 2
    assert [path.name for path in (tmp_path / ROOT).iterdir()] == ["wmt23"]


def test_force_leaves_the_old_folder_where_the_new_package_is_bad(server, tmp_path):
    server.body = package()
    folder = get_test_set("wmt23", url=server.url, cache=tmp_path)
    server.body = b"<html>sorry</html>"
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
    assert server.requests == 2


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../wmt23", "/etc", "a/b", "a\\b", ".hidden", "-x", "wmt23\n", "é"]
)
def test_a_bad_name_is_refused(name, server, tmp_path):
    with pytest.raises(UsageError, match="is not the name of a test set"):
        get_test_set(name, url=server.url, cache=tmp_path)
    assert server.requests == 0
    assert list(tmp_path.iterdir()) == []


def test_address_and_cache_come_from_the_environment(server, tmp_path, monkeypatch):
    server.body = package()
    monkeypatch.setenv("STEELYARD_DATA_URL", server.url)
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    assert get_test_set("wmt23") == tmp_path / ROOT / "wmt23"


# ---- the download


def fails(server: Server, tmp_path: Path, match: str, **settings: Any) -> None:
    """Expect a refusal in one line, and nothing left behind inside or outside of the cache."""
    settings = {"url": server.url, "cache": tmp_path / "cache", **settings}
    with pytest.raises(DownloadError, match=match) as caught:
        get_test_set("wmt23", **settings)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert not [*tmp_path.rglob("*.part"), *tmp_path.rglob(".*")]


def test_a_dropped_connection_leaves_nothing(server, tmp_path):
    server.body, server.sends = package(), 1_000
    fails(server, tmp_path, rf"only 1,000 of {len(server.body):,} bytes came")


def test_a_wrong_checksum_leaves_what_was_there(server, tmp_path):
    server.body = package()
    get_test_set("wmt22", url=server.url, cache=tmp_path / "cache")
    fails(server, tmp_path, f"SHA-256 is {sha256(server.body)}, expected {'0' * 64}",
          sha256="0" * 64)  # fmt: skip
    assert get_test_set("wmt23", url=server.url, cache=tmp_path / "cache").is_dir()
    assert server.requests == 2


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_an_http_error_is_one_line(server, tmp_path, status):
    server.status = status
    fails(server, tmp_path, re.escape(server.url))


@pytest.mark.parametrize("url", ["wmt.tgz", "file:///etc/passwd", "ftp://x/y", "http:///x"])
def test_other_schemes_are_refused(url, tmp_path):
    with pytest.raises(UsageError, match=re.escape(f"{url!r} is not an address")):
        get_test_set("wmt23", url=url, cache=tmp_path)


def test_redirects_are_followed_but_not_to_files(server, tmp_path):
    server.body, server.redirects = package(), [f"{server.url}?moved"]
    assert get_test_set("wmt23", url=server.url, cache=tmp_path / "cache").is_dir()
    server.redirects = ["file:///etc/passwd"]
    fails(server, tmp_path, "not allowed|302", force=True)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/x", "http://127.0.0.1:port/x", "http://[::1/x", "http://\xe9 \xe9/"],
)
def test_an_address_without_a_server_is_one_line(server, tmp_path, url):
    fails(server, tmp_path, re.escape(url), url=url)


# ---- the archive


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
def test_a_path_that_leads_out_is_refused(server, tmp_path, name):
    server.body = package((entry(name), b"x"))
    fails(server, tmp_path, re.escape(f"{name!r} could lead elsewhere"))


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE],
)
@pytest.mark.parametrize("name", ["evil", ""])
def test_links_and_devices_are_refused(server, tmp_path, kind, name):
    path = f"{ROOT}/wmt23/{name}".rstrip("/")
    server.body = package((entry(path, kind, linkname="/etc/passwd"), b""))
    fails(server, tmp_path, f"'{path}' is no regular file")


def _nul() -> bytes:
    bad = entry("short")
    bad.pax_headers = {"path": f"{ROOT}/wmt23/a\0b"}
    return package((bad, b"x"))


def _through_a_link() -> bytes:
    link = entry(f"{ROOT}/wmt23/out", tarfile.SYMTYPE, linkname="/tmp")
    return package((link, b""), (entry(f"{ROOT}/wmt23/out/evil"), b"x"))


def _claimed() -> bytes:
    head = entry(f"{ROOT}/wmt23/huge", size=1 << 40).tobuf(tarfile.GNU_FORMAT)
    return gzip.compress(head + bytes(10_240))


def _negative() -> bytes:
    head = bytearray(entry(f"{ROOT}/wmt23/odd").tobuf(tarfile.GNU_FORMAT))
    head[124:136] = b"\xff" + (256**11 - 512).to_bytes(11, "big")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return gzip.compress(bytes(head) + bytes(10_240))


def _nested() -> bytes:
    head = entry("././@LongLink", tarfile.GNUTYPE_LONGNAME, size=4).tobuf(tarfile.GNU_FORMAT)
    return gzip.compress((head + b"abc".ljust(512, b"\0")) * 5_000)


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
    ("made", "match"),
    [
        (_nul, "could lead elsewhere|damaged"),
        (_through_a_link, "no regular file"),
        (lambda: tar_bytes((entry(f"{ROOT}/wmt23"), b"x")), "no regular file"),
        (lambda: package((entry(f"{ROOT}/wmt23/sources"), b"x")), "not be read or written"),
        (_claimed, "more than .* bytes"),
        (_negative, "no regular file|damaged"),
        (_nested, "damaged"),
        (_changed_byte, "damaged.*CRC.*force=True"),
        (_damaged_compression, "damaged.*force=True"),
        (lambda: package()[:-9], "cut short.*force=True"),
        (lambda: package()[:5_000], "cut short.*force=True"),
        (lambda: b"", r"not a \.tar\.gz"),
        (lambda: b"<html>sorry</html>", r"not a \.tar\.gz"),
        (lambda: gzip.compress(BODY), r"not a \.tar\.gz"),
    ],
    ids=["nul", "through a link", "file for the folder", "file for a folder", "claimed size",
         "negative size", "nested headers", "changed byte", "compression", "no end", "half",
         "empty", "html", "no tar"],
)  # fmt: skip
def test_what_an_archive_must_not_be(server, tmp_path, made, match):
    server.body = made()
    fails(server, tmp_path, match)
    assert list((tmp_path / "cache" / ROOT).iterdir()) == []


def test_dots_in_front_unsorted_members_and_links_elsewhere_are_fine(server, tmp_path):
    server.body = tar_bytes(
        (entry("./", tarfile.DIRTYPE), b""),
        (entry(f"./{ROOT}/wmt23/a"), b"1"),
        (entry(f"./{ROOT}/wmt22/b"), b"2"),
        (entry(f"{ROOT}/wmt22/link", tarfile.SYMTYPE, linkname="/etc/passwd"), b""),
        (entry(f"./{ROOT}/wmt23/c/d"), b"3"),
        (entry(f"./{ROOT}/wmt23/a"), b"the later one counts"),
    )
    folder = get_test_set("wmt23", url=server.url, cache=tmp_path)
    assert tree(folder) == {"a": b"the later one counts", "c/d": b"3"}


@POSIX
def test_modes_and_times_are_not_taken_from_the_archive(server, tmp_path):
    tool = entry(f"{ROOT}/wmt23/bin/tool", mode=0o6777, mtime=0)
    locked = entry(f"{ROOT}/wmt23/locked", tarfile.DIRTYPE, mode=0)
    server.body = package((tool, b"#!"), (locked, b""))
    before = os.umask(0o022)
    try:
        folder = get_test_set("wmt23", url=server.url, cache=tmp_path)
    finally:
        os.umask(before)
    made = folder / "bin" / "tool"
    assert made.stat().st_mode & 0o7777 == 0o644
    assert made.stat().st_mtime > 1_000_000_000
    for path in (folder, folder / "bin", folder / "locked"):
        assert path.stat().st_mode & 0o7777 == 0o755
