"""Chroma itself: the only file that knows the library. Everything here blocks.

It holds ids, vectors and the number of a scope; no texts, and no embedding function that could
fetch a model. ``chromadb`` is imported at the first use: that takes 0.7 to 2 s.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from core.memory.embed.port import Vectors

BATCH = 500  # records that are written at once: Chroma refuses more than 5,461
PAGE = 1_000  # ids that are asked for at once: 50,000 are "too many SQL variables"
HTTP_S = 20.0  # until a server has to answer

Item = tuple[str, int]
"""An id, such as ``message:12``, and the number of its scope (``ScopeRow``)."""

Stand = tuple[int, int]
"""How an id stands: the number of its scope, and the mark of its vector (``mark_of``)."""


def mark_of(vector: bytes) -> int:
    """What tells a vector (float16, as its row has it) from the one that was there before it."""
    return zlib.crc32(vector)


def family(database: str) -> str:
    """How the names of all collections of one Moot begin: several may share a server."""
    return f"moot-{hashlib.sha256(database.encode()).hexdigest()[:12]}-"


def collection_name(database: str, embedder: str, generation: str = "") -> str:
    """The collection of a model's vectors, of a form that Chroma takes."""
    model = hashlib.sha256(embedder.encode()).hexdigest()[:16]
    return f"{family(database)}{model}{f'-{generation}' if generation else ''}"


class Collection:
    """The vectors of one model."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def put(self, items: Sequence[Item], vectors: Vectors, *, fresh: bool = False) -> bool:
        """Add or replace; whether anything that was there is replaced (``fresh``: nothing is).

        What is replaced is taken out first: in place, one of a thousand is never found again (its
        node loses all ways that lead to it). ``vectors``: (n, dim), in the order of ``items``.
        """
        replaced = False
        for at in range(0, len(items), BATCH):
            part = items[at : at + BATCH]
            ids = [name for name, _ in part]
            replaced |= not fresh and self.drop(ids)
            told = np.asarray(vectors[at : at + BATCH], np.float32)
            self._inner.upsert(
                ids=ids,
                embeddings=told,
                metadatas=[
                    {"scope": int(scope), "mark": mark_of(vector.astype("<f2").tobytes())}
                    for (_, scope), vector in zip(part, told, strict=True)
                ],
            )
        return replaced

    def drop(self, ids: Sequence[str]) -> bool:
        """Take out what is there of ``ids``; whether anything was."""
        known = [
            name for at in range(0, len(ids), PAGE) for name in self.known(ids[at : at + PAGE])
        ]
        for at in range(0, len(known), PAGE):
            self._inner.delete(ids=known[at : at + PAGE])
        return bool(known)

    def query(
        self, vector: Vectors, scopes: Sequence[int] | None, limit: int
    ) -> tuple[list[str], NDArray[np.float32]]:
        """The nearest of these scopes (``None``: of all), and their cosines, nearest first."""
        where: Any = None if scopes is None else {"scope": {"$in": [int(s) for s in scopes]}}
        found = self._inner.query(
            query_embeddings=[np.asarray(vector, np.float32)],
            n_results=limit,
            where=where,
            include=["distances"],
        )
        return found["ids"][0], 1.0 - np.asarray(found["distances"][0], np.float32)

    def known(self, ids: Sequence[str]) -> dict[str, Stand]:
        """Those of ``ids`` (at most ``PAGE``) that are there, as they stand."""
        found = self._inner.get(ids=list(ids), include=["metadatas"])
        return _stands(found)

    def page(self, offset: int) -> dict[str, Stand]:
        """``PAGE`` ids from the one at ``offset``, as they stand; empty: no more."""
        return _stands(self._inner.get(limit=PAGE, offset=offset, include=["metadatas"]))

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of those of ``ids`` (at most ``PAGE``) that are there."""
        found = self._inner.get(ids=list(ids), include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True))

    def count(self) -> int:
        """How many records there are."""
        return self._inner.count()


def load() -> None:
    """Import the library: 0.7 to 2 s. Opens nothing."""
    for module in ("chromadb.api.models.Collection", "chromadb.api.rust"):
        importlib.import_module(module)


class Store:
    """An open folder, or a server.

    Made of Chroma's own parts instead of its ``Client``: that one keeps folders by their path
    beyond their end, opens connections that nobody closes, and waits for a server without end.
    """

    def __init__(self, **settings: Any) -> None:
        from chromadb.api import ServerAPI
        from chromadb.config import Settings, System

        self._system = System(Settings(anonymized_telemetry=False, **settings))
        self._api: Any = self._system.instance(ServerAPI)

    @classmethod
    def in_folder(cls, folder: Path) -> Store:
        """Open a folder (made when it is missing). Never one that may be damaged: see ``probe``."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        store = cls(
            chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
            is_persistent=True,
            persist_directory=str(folder),
        )
        store._begin()
        return store

    @classmethod
    def at_server(cls, url: str) -> Store:
        """Connect to a server. A server that does not answer is an error of ``httpx``."""
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        store = cls(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=parts.hostname or "",
            chroma_server_http_port=parts.port or (443 if secure else 80),
            chroma_server_ssl_enabled=secure,
        )
        store._api._session.timeout = HTTP_S  # noqa: SLF001 - the library has no setting for it
        store._begin()
        return store

    def _begin(self) -> None:
        try:
            self._system.start()
        except BaseException:
            self._hang_up()  # what has not begun cannot be stopped
            raise

    def collection(self, name: str) -> Collection:
        """The collection of this name, made when it is missing."""
        from chromadb.api.models.Collection import Collection as Inner

        with warnings.catch_warnings():
            # Of a collection without an embedding function, which is meant.
            warnings.filterwarnings("ignore", "legacy embedding function", DeprecationWarning)
            model = self._api.get_or_create_collection(
                name, configuration={"hnsw": {"space": "cosine"}, "embedding_function": None}
            )
            return Collection(Inner(self._api, model, embedding_function=None))

    def names(self) -> list[str]:
        """The names of all collections."""
        return [one.name for one in self._api.list_collections()]

    def delete(self, name: str) -> None:
        """Remove a collection. Its vectors stay in the files of the folder."""
        self._api.delete_collection(name)

    def close(self) -> None:
        """Let go of files, connections and threads. Harmless when that was done."""
        if self._hang_up():
            self._system.stop()

    def _hang_up(self) -> bool:
        """Close the connections there are; whether it was open."""
        api, self._api = self._api, None
        if (session := getattr(api, "_session", None)) is not None:
            session.close()
        return api is not None


def unreachable(url: str) -> str:
    """Why a server cannot be asked just now; "" = it answers."""
    try:
        store = Store.at_server(url)
        try:
            store.names()
        finally:
            store.close()
    except Exception as error:  # noqa: BLE001 - of the library or of HTTP: it is what was asked
        return type(error).__name__
    return ""


def _stands(found: Any) -> dict[str, Stand]:
    return {
        name: (int((kept or {}).get("scope", -1)), int((kept or {}).get("mark", -1)))
        for name, kept in zip(found["ids"], found["metadatas"], strict=True)
    }
