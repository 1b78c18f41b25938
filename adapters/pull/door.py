"""Who may come in: each run with the token it was given, for as long as it lives."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from core.model import Pull, PullAccess
from core.ports import AnswerPull

log = structlog.get_logger()

PATH = "/mcp"
RUN = "moot.run"
"""Where a request's ``scope`` holds the ``Admitted`` run."""

OVER = "This run is over; nothing is pulled for it any more."


@dataclass(slots=True, eq=False)
class Admitted:
    """A run that may Pull: what it may ask for, and the calls of it that are under way."""

    run_id: str
    kinds: Mapping[str, str]
    answer: AnswerPull
    calls: set[asyncio.Task[str]] = field(default_factory=set)
    over: bool = False

    async def ask(self, pull: Pull) -> str:
        """What the Pull brought. Ends at once when the run does, or when nobody waits any more."""
        if self.over:
            return OVER
        call = asyncio.ensure_future(self.answer(pull))
        self.calls.add(call)
        call.add_done_callback(self.calls.discard)
        try:
            await asyncio.wait({call})
        finally:
            call.cancel()  # does nothing to one that is done
        return OVER if call.cancelled() else call.result()

    def end(self) -> None:
        """Nothing is answered from now on."""
        self.over = True
        for call in self.calls:
            call.cancel()


class Door:
    """The tokens of the runs that live, and the gate before the server (an ASGI application).

    A request without a token that is valid now is refused before anything of it is read.
    """

    def __init__(self) -> None:
        self.url = ""
        self._by_token: dict[str, Admitted] = {}
        self._token_of: dict[str, str] = {}

    def admit(self, run_id: str, kinds: Mapping[str, str], answer: AnswerPull) -> PullAccess:
        """See ``core.ports.PullServer``."""
        self.dismiss(run_id)
        token = secrets.token_urlsafe(32)
        self._token_of[run_id] = token
        self._by_token[token] = Admitted(run_id, kinds, answer)
        return PullAccess(self.url, token)

    def dismiss(self, run_id: str) -> None:
        """See ``core.ports.PullServer``."""
        token = self._token_of.pop(run_id, None)
        if token is not None:
            self._by_token.pop(token).end()

    def dismiss_all(self) -> None:
        """Moot ends: so does every run."""
        for run_id in tuple(self._token_of):
            self.dismiss(run_id)

    def gate(self, app: Any) -> Any:
        """``app`` behind this door."""

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            assert scope["type"] == "http"  # the server is set up to know nothing else
            status, headers = 0, []
            admitted = self._by_token.get(_bearer(scope["headers"]))
            if scope["path"] != PATH:
                status = 404
            elif admitted is None:
                status, headers = 401, [(b"www-authenticate", b"Bearer")]
                log.warning("pull.refused")
            elif scope["method"] != "POST":  # no session to listen to (GET) or to end (DELETE)
                status, headers = 405, [(b"allow", b"POST")]
            if not status:
                await app({**scope, RUN: admitted}, receive, send)
                return
            await send({"type": "http.response.start", "status": status,
                        "headers": [*headers, (b"content-length", b"0")]})  # fmt: skip
            await send({"type": "http.response.body", "body": b""})

        return guarded


def _bearer(headers: list[tuple[bytes, bytes]]) -> str:
    """The token of a request's one Authorization header, else ""."""
    given = [value for name, value in headers if name == b"authorization"]
    if len(given) != 1:
        return ""
    scheme, _, token = given[0].decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
