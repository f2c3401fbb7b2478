"""Options of KoBE. They are a file of their own because help reads them, without NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import Options, choice, flag, source, text

if TYPE_CHECKING:
    from steelyard.kobe.mention import Linker

#: Tiers of a knowledge base, by number: names, and common nouns.
TIERS = ("core", "concept")


@dataclass(frozen=True)
class KobeOptions(Options):
    """How the score is computed.

    Parameters
    ----------
    against
        ``src``, or the name of a reference for the reference-based score.
    rounded
        Whether recall is rounded before the penalty, as in the authors' script.
    language_filter
        ``sentence`` (letters and language identifier, and scripts of mentions) or ``off``; ``auto``
        is ``sentence``, but ``off`` for links from files.
    links
        Annotations of another linker, or the file or folder of them, in place of our links.
    """

    against: str = text("src")
    rounded: bool = flag()
    language_filter: str = choice("auto", ("auto", "sentence", "off"))
    links: Any = source(None)  # noqa: RUF009

    def settled(self, *, linked: bool = False) -> KobeOptions:
        """Decide on the language filter; ``linked`` if links come from files."""
        if self.language_filter != "auto":
            return self
        return replace(self, language_filter="off" if linked else "sentence")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> KobeOptions:
        """Make options from settings by name."""
        names = [item.name for item in fields(cls)]
        for name in settings:
            if name not in names:
                raise UsageError(f"kobe has no option '{name}'; {hint(name, names)}")
        return cls(**settings)

    def signature(self, linker: Linker, src: str | None, tgt: str | None) -> str:
        """Name everything that the score depends on."""
        parts = (
            f"pair:{src}-{tgt}" if src and tgt else "",
            f"against:{self.against}",
            "match:strict|ecp:yes",
            "rounded:yes" if self.rounded else "",
            f"lid:{self.language_filter}",
            linker.signature,
        )
        return "|".join(filter(None, parts))
