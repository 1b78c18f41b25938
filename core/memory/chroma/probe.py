"""A look at a folder of Chroma's in a child process, since a damaged one can end the process.

``python -m core.memory.chroma.probe FOLDER``: reads a JSON object from standard input, and waits
there for its end: a child whose parent was killed ends as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.memory.embed.port import Vectors

FOUND = 0.99  # the cosine of a vector to itself, and room for how it is stored


async def probe(
    folder: Path, collection: str, canaries: Mapping[str, Vectors], within_s: float
) -> str:
    """What is wrong with a folder; "" = it can be opened, counted, listed and asked.

    The vectors of ``canaries``, as far as their ids are in it, have to find themselves.
    """
    asked = {
        "collection": collection,
        "canaries": {name: vector.tolist() for name, vector in canaries.items()},
    }
    root = Path(__file__).parents[3]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "core.memory.chroma.probe",
        str(folder),
        cwd="/",
        env={**_plain(os.environ), "PYTHONPATH": str(root)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(within_s):
            with contextlib.suppress(OSError):  # it ended before it read: its status tells
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                await process.stdin.drain()
            said = await process.stdout.read()
            await process.wait()
    except TimeoutError:
        return f"it could not be read within {within_s:.0f} s"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        process.stdin.close()
        await process.wait()
    return _judged(process.returncode, said)


def _judged(status: int | None, said: bytes) -> str:
    if status is not None and status < 0:
        return f"reading it ends the process (signal {-status})"
    try:
        told: dict[str, Any] = json.loads(said)
        return str(told["why"])
    except (ValueError, KeyError, TypeError):
        return f"reading it ends the process (status {status})"


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what is meant for Moot and its engines: keys, tokens, proxies."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "OMP_NUM_THREADS")
    return {name: environ[name] for name in kept if name in environ}


def looked_at(folder: Path, collection: str, canaries: Mapping[str, Any]) -> str:
    """What the child does; what is wrong, or ""."""
    import numpy as np

    from core.memory.chroma.store import Store

    if not (folder / "chroma.sqlite3").is_file():
        return "its database is gone"
    store = Store.in_folder(folder)
    if collection not in store.names():
        return ""  # an empty one: what is missing is put there
    held = store.collection(collection)
    many, offset = held.count(), 0
    while part := held.page(offset):
        offset += len(part)
    if offset != many:
        return f"it counts {many} vectors and lists {offset}"
    known = held.known(list(canaries)) if canaries else {}
    lost = 0
    for name in known:
        _, cosines = held.query(np.asarray(canaries[name], np.float32), None, 1)
        lost += not (len(cosines) and cosines[0] >= FOUND)
    if many and not known:  # its index is read all the same
        [vector] = held.vectors(list(held.page(0))[:1]).values()
        held.query(vector, None, 1)
    return (
        f"{lost} of {len(known)} known vectors do not find themselves"
        if lost * 10 > len(known)
        else ""
    )


def _main() -> None:
    asked = json.loads(sys.stdin.buffer.readline())

    def follow() -> None:
        sys.stdin.buffer.read()
        os._exit(1)  # nobody waits for the answer any more

    threading.Thread(target=follow, daemon=True).start()
    try:
        why = looked_at(Path(sys.argv[1]), asked["collection"], asked["canaries"])
    except BaseException as error:  # noqa: BLE001 - Chroma's Rust panics are no Exceptions
        why = f"it cannot be read ({type(error).__name__})"
    print(json.dumps({"why": why}), flush=True)  # noqa: T201 - the answer
    os._exit(0)


if __name__ == "__main__":
    _main()
