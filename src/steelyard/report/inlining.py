"""What stands inside the page: data that can't be markup, code that is named by its hash."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Sequence

from steelyard.core.table import dumps

_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def script_json(value: object) -> str:
    r"""Write JSON that can stand in a script element: no character of it can begin markup.

    Examples
    --------
    >>> print(script_json({"name": "</script><b>&"}))
    {"name": "\u003c/script\u003e\u003cb\u003e\u0026"}
    """
    return dumps(value, indent=None).translate(_ESCAPES)


def packed(data: bytes) -> str:
    """Pack bytes as gzip in base64, which a browser unpacks itself; same bytes, same text."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


def content_hash(text: str) -> str:
    """Give the hash by which a content security policy allows an inline script or style.

    Examples
    --------
    >>> content_hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Give a policy that forbids everything but these scripts and styles."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(content_hash, scripts))}",
            f"style-src {' '.join(map(content_hash, styles))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
