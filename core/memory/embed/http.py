"""An endpoint that makes vectors: OpenAI's ``/v1/embeddings`` (as many speak it), or Ollama's."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

from core.memory.embed.port import EmbedderError, Vectors

BATCH = 32  # texts of one request
TRY_S = 20.0  # of one request
QUERY_S = 3.0  # of a question's, with what is tried again: an answer waits for it
PASSAGES_S = 60.0  # of a request's, with what is tried again
MAX_WAIT_S = 20.0  # that the endpoint may ask for
_BACKOFF = wait_exponential(multiplier=0.2, max=5.0) + wait_random(0.0, 0.2)
_OK = 200
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class _Busy(Exception):
    """It may answer later."""

    def __init__(self, why: str, wait_s: float = 0.0) -> None:
        super().__init__(why)
        self.wait_s = wait_s


class Http:
    """See ``core.memory.embed.port.Embedder``. Asks once when it is made, for the dimensions.

    Args:
        url: ``https://host/v1`` of an OpenAI-compatible server, or Ollama's ``http://host:11434``:
            an address that ends in a version is the former, one whose path ends in ``/api`` or
            that has none is the latter.
        model: its name there.
        key: sent as a bearer token, if there is one; never to another host (no redirects).

    Raises:
        EmbedderError: the address is none, it cannot be reached, or it refuses.
    """

    batch = BATCH

    def __init__(self, url: str, model: str, key: str = "") -> None:
        base = url.rstrip("/")
        parts = urlsplit(base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EmbedderError("[memory] embedder_url is no http(s) address")
        path = parts.path.rstrip("/")
        self._ollama = path in ("", "/api")
        at_ollama = f"{base.removesuffix('/api')}/api/embed"
        self._url = at_ollama if self._ollama else f"{base}/embeddings"
        self._where = parts.netloc.rpartition("@")[2]
        self._model = model
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(headers=headers, follow_redirects=False, timeout=TRY_S)
        self.dim = 0
        try:
            self.dim = int(self._ask(["ready"], QUERY_S).shape[1])
        except EmbedderError:
            self.close()
            raise
        host = hashlib.sha256(self._url.encode()).hexdigest()[:8]
        self.name = f"http-{host}-{model.replace('/', '_')}"

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def passages(self, texts: Sequence[str]) -> Vectors:
        """See the port."""
        made = [self._ask(texts[at : at + BATCH], PASSAGES_S) for at in range(0, len(texts), BATCH)]
        return np.concatenate(made) if made else np.empty((0, self.dim), np.float32)

    def query(self, text: str) -> Vectors:
        """See the port."""
        return self._ask([text], QUERY_S)[0]

    def _ask(self, texts: Sequence[str], within_s: float) -> Vectors:
        # An empty input is refused by some.
        body = {"model": self._model, "input": [text or " " for text in texts]}
        if not self._ollama:
            body["encoding_format"] = "float"
        until = time.monotonic() + within_s
        trying = Retrying(
            retry=retry_if_exception_type(_Busy),
            wait=_waiting,
            stop=stop_before_delay(within_s),
            reraise=True,
        )
        try:
            return trying(self._once, body, len(texts), until)
        except _Busy as error:
            raise EmbedderError(f"the embedder at {self._where} {error}") from None

    def _once(self, body: dict[str, Any], many: int, until: float) -> Vectors:
        left = max(0.05, min(TRY_S, until - time.monotonic()))
        try:
            response = self._client.post(self._url, json=body, timeout=left)
        except httpx.TransportError as error:
            raise _Busy(f"cannot be reached ({type(error).__name__})") from None
        if response.status_code in _PASSING:
            raise _Busy(f"is busy ({response.status_code})", _wait_of(response))
        if response.status_code != _OK:
            raise EmbedderError(
                f"the embedder at {self._where} refused: status {response.status_code}"
            )
        return self._read(response, many)

    def _read(self, response: httpx.Response, many: int) -> Vectors:
        try:
            told = response.json()
            rows = told["embeddings"] if self._ollama else _ordered(told["data"], many)
            made = np.asarray(rows, np.float32)
        except (ValueError, KeyError, TypeError, IndexError):
            raise EmbedderError(f"the embedder at {self._where} answered something else") from None
        if made.ndim != 2 or len(made) != many or not made.shape[1]:
            raise EmbedderError(f"the embedder at {self._where} answered for other texts")
        if self.dim and made.shape[1] != self.dim:
            raise EmbedderError(
                f"the embedder at {self._where} has {made.shape[1]} dimensions now, not {self.dim}"
            )
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        if not np.isfinite(made).all() or not (lengths > 0).all():
            raise EmbedderError(f"the embedder at {self._where} answered no vector")
        return made / lengths


def _ordered(data: list[dict[str, Any]], many: int) -> list[Any]:
    """Vectors in the order of their texts, whatever order they come in."""
    rows: list[Any] = [None] * many
    for place, one in enumerate(data):
        rows[int(one.get("index", place))] = one["embedding"]
    return rows


def _waiting(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.wait_s if isinstance(error, _Busy) else 0.0
    return asked or _BACKOFF(state)


def _wait_of(response: httpx.Response) -> float:
    """Seconds that it asks to wait (``Retry-After``); 0: it does not say."""
    try:
        asked = float(response.headers.get("retry-after", 0))
    except ValueError:  # a date
        return 0.0
    return min(max(asked, 0.0), MAX_WAIT_S) if math.isfinite(asked) else 0.0
