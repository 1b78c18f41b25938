"""Who writes down what is said in a voice message: a program of the host, or a server."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from core.errors import MootError
from core.sources.programs import run_program
from core.tongue import say

MAX_OUT_BYTES = 1_000_000


class NotHeard(MootError):
    """What was said could not be written down; says why, for people."""


@dataclass(frozen=True, slots=True)
class TranscribeTerms:
    """``argv`` is a program with its arguments, ``url`` a server's ``https://host/v1``: either.

    With neither nobody writes anything down.
    """

    argv: tuple[str, ...] = ()
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)
    within_s: float = 120.0

    @property
    def on(self) -> bool:
        """Whether there is anybody to ask."""
        return bool(self.argv or self.url)


async def transcribe(path: Path, terms: TranscribeTerms) -> str:
    """What is said in an audio file, as plain text; "" where nothing is. Cancelling ends it.

    Raises:
        NotHeard: it did not work, or not in time.
    """
    if terms.argv:
        return (await _by_program(path, terms)).strip()
    try:
        async with asyncio.timeout(terms.within_s):
            return (await _by_server(path, terms)).strip()
    except TimeoutError:
        raise NotHeard(say("the transcriber gave no answer in time")) from None


async def _by_program(path: Path, terms: TranscribeTerms) -> str:
    program = await asyncio.to_thread(shutil.which, terms.argv[0])
    if program is None:
        name = terms.argv[0]
        raise NotHeard(say("the transcriber {name} was not found on Moot's host", name=name))
    stop = threading.Event()
    work = asyncio.ensure_future(
        asyncio.to_thread(_run, [program, *terms.argv[1:], str(path)], path.parent, terms, stop)
    )
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait((work,))  # it is killed within a moment
        raise


def _run(argv: Sequence[str], folder: Path, terms: TranscribeTerms, stop: threading.Event) -> str:
    try:
        ran = run_program(
            argv, folder, deadline_s=terms.within_s, max_bytes=MAX_OUT_BYTES, stop=stop
        )
    except OSError as error:
        why = say("the transcriber could not be started ({why})", why=error.strerror)
        raise NotHeard(why) from error
    if ran.why:
        last = ran.err.splitlines()[-1][:200] if ran.err else ""
        failed = say("the transcriber failed ({why})", why=ran.why)
        raise NotHeard(f"{failed}: {last}" if last else failed)
    return ran.out.decode("utf-8", "replace")


async def _by_server(path: Path, terms: TranscribeTerms) -> str:
    """OpenAI's ``POST /v1/audio/transcriptions``, as many servers speak it; no redirects."""
    headers = {"Authorization": f"Bearer {terms.key}"} if terms.key else {}
    data = {"model": terms.model or "whisper-1", "response_format": "json"}
    sound = await asyncio.to_thread(path.read_bytes)
    try:
        async with httpx.AsyncClient(timeout=terms.within_s, trust_env=False) as client:
            answer = await client.post(
                f"{terms.url.rstrip('/')}/audio/transcriptions",
                headers=headers,
                data=data,
                files={"file": (path.name, sound)},
            )
    except httpx.HTTPError as error:
        why = say("the transcriber does not answer ({why})", why=type(error).__name__)
        raise NotHeard(why) from error
    if answer.status_code != 200:
        status = answer.status_code
        raise NotHeard(say("the transcriber answered {status}", status=status))
    try:
        return str(answer.json()["text"])
    except (ValueError, KeyError, TypeError) as error:
        why = say("the transcriber answered something else than a transcript")
        raise NotHeard(why) from error
