"""Where the vectors live: a folder of this process's own, or a server that several share."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Iterable
from pathlib import Path

from core.memory.chroma.place import Generation, Place
from core.memory.chroma.store import Collection, Store, collection_name, family

FOLDER = "chroma"  # below the storage folder


class Home:
    """What differs between the two. Its methods block.

    ``where``: "folder", or a server's URL. On a server a generation is a collection; what its
    files keep of vectors that are gone is in the server's hands.
    """

    def __init__(self, folder: Path, where: str) -> None:
        self.server = "" if where == "folder" else where
        digest = hashlib.sha256(where.encode()).hexdigest()[:12]
        self.place = Place(folder, f"server-{digest}.json" if self.server else "current.json")
        self.version = "" if self.server else importlib.metadata.version("chromadb")
        self.database = ""

    def own(self) -> str:
        """Become the owner; "" or, where another process is, its number. A server has none."""
        return "" if self.server else self.place.own()

    @property
    def ours(self) -> bool:
        """Whether this process may write there."""
        return bool(self.server) or self.place.owned

    def open(self, generation: str) -> Store:
        """The store of a generation."""
        if self.server:
            return Store.at_server(self.server)
        return Store.in_folder(self.place.path(generation))

    def name(self, embedder: str, generation: str) -> str:
        """The name of the collection of a model."""
        return collection_name(self.database, embedder, generation if self.server else "")

    def collection(self, store: Store, embedder: str, generation: str) -> Collection:
        """The collection of a model."""
        return store.collection(self.name(embedder, generation))

    def forget_others(self, store: Store, keep: Iterable[str], generation: str) -> bool:
        """Remove collections of ours but those of the models ``keep``; whether there were any."""
        kept = {self.name(embedder, generation) for embedder in keep}
        ours = [one for one in store.names() if one.startswith(family(self.database))]
        others = [one for one in ours if one not in kept]
        for other in others:
            store.delete(other)
        return bool(others)

    def doubtful(self, found: Generation) -> bool:
        """Whether the files have to be looked at before they are opened here."""
        if self.server:
            return False
        known = not found.open and found.chroma == self.version
        return not known or found.files != self.place.look(found.name)

    def close(self, generation: str) -> None:
        """Nobody has it open any more, and it went well."""
        files = "" if self.server else self.place.look(generation)
        self.place.note(open=False, files=files)

    def stands(self, generation: str) -> bool:
        """Whether the files are still where they were opened."""
        if self.server:
            return True
        return self.place.holds() and self.place.path(generation).is_dir()


def home_of(storage: Path, where: str) -> Home | None:
    """Where Chroma lives by the setting ``[memory] chroma``; ``None``: nowhere."""
    return None if where == "off" else Home(storage / FOLDER, where)
