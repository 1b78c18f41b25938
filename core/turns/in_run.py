"""Pulls while a run works: bounded, each asked once, written down. What an agent's call brings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field

import structlog

from core.context.followup import in_run_text
from core.context.rules import EXAMPLES, KIND_HELP
from core.model import InRunPull, PackRequest, Pull, PulledResult
from core.pull import MAX_QUERY_CHARS, identity
from core.records import runs
from core.records.thread import Records
from core.redact import redact

log = structlog.get_logger()

Resolve = Callable[[Sequence[Pull]], Awaitable[tuple[PulledResult, ...]]]
"""Finds what Pulls ask for, within one turn's scope: ``Gather.pulled``."""
Found = MutableMapping[tuple[str, str], PulledResult]
"""What the Pulls of one chain brought, by ``core.pull.identity``."""

MAX_ANSWER_CHARS = 8_000
DEADLINE_S = 20.0
"""For one Pull. Below what the CLIs wait for a tool: the agent hears from us, not of a time-out."""

_AGAIN = "You asked this before in this answer; this is what was found then."


@dataclass(slots=True)
class InRun:
    """The Pulls of one run.

    Attributes:
        request: the run's request; only its ``pull_kinds`` may be asked for.
        resolve: finds what Pulls ask for, within the turn's scope (``Gather.pulled``).
        found: what this chain has pulled before, by markers too; filled up here.
        max_pulls: calls that are answered; repeated and wrong ones count as well.
        left_chars: characters that all answers of the run may hold together.
        drawing: told the kind before anything is looked up.
        outdated: whether a message was edited or deleted since the run began: what was found
            before is looked up anew. Both are called on the records' thread.
        deadline_s: seconds until a slow source is left behind.
    """

    run_id: str
    request: PackRequest
    resolve: Resolve
    records: Records
    found: Found
    max_pulls: int
    left_chars: int
    drawing: Callable[[Sequence[str]], None] = lambda _: None
    outdated: Callable[[], bool] = lambda: False
    deadline_s: float = DEADLINE_S
    _calls: int = 0
    _asking: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    @property
    def kinds(self) -> dict[str, str]:
        """What may be asked for, each with a line of help."""
        kinds = self.request.pull_kinds
        return {kind: f"{KIND_HELP[kind]}; such as `{EXAMPLES[kind]}`" for kind in kinds}

    async def answer(self, pull: Pull) -> str:
        """The text for the agent; see ``core.ports.AnswerPull``."""
        pull = Pull(pull.kind.strip().lower(), redact(" ".join(pull.query.split())))
        self._calls += 1
        if refused := self._refusal(pull):
            return f"[{refused}]"
        key = identity(pull)
        self._asking.add(key)
        try:
            async with asyncio.timeout(self.deadline_s):
                return await self._look_up(pull, key)
        except TimeoutError:
            log.warning("pull.late", kind=pull.kind)
            return f"[nothing after {self.deadline_s:.0f} s: ask more narrowly, or go on without]"
        except Exception as error:  # whatever it is: the run goes on without
            log.warning("pull.failed", kind=pull.kind, error=type(error).__name__)
            log.debug("pull.failure", exc_info=error)
            return "[this could not be looked up just now; go on without it]"
        finally:
            self._asking.discard(key)

    async def _look_up(self, pull: Pull, key: tuple[str, str]) -> str:
        if key in self.found and not await self.records.do(self.outdated):
            return await self._told(pull, self.found[key], again=True)
        await self.records.do(self.drawing, (pull.kind,))
        (result,) = await self.resolve((pull,))
        text = await self._told(pull, result)
        if not result.failed:
            self.found[key] = result
        log.info("pull.answered", kind=pull.kind, hits=len(result.hits), chars=len(text))
        return text

    async def _told(self, pull: Pull, result: PulledResult, *, again: bool = False) -> str:
        """What the agent gets, written down before it gets it."""
        text = self._bounded(result, _AGAIN if again else "")
        hits, chars = len(result.hits), len(text)
        told = InRunPull(pull.kind, pull.query, hits, result.note, chars, again)
        await self.records.do(runs.add_in_run_pull, self.run_id, told)
        return text

    def _refusal(self, pull: Pull) -> str:
        """Why a call is not answered, in words for the agent; "" if it is."""
        kinds = self.request.pull_kinds
        if self._calls > self.max_pulls:
            return f"{self.max_pulls} Pulls a run are the limit: answer with what you have"
        if self.left_chars <= 0:
            return "no more fits into this run: answer with what you have"
        if pull.kind not in kinds:
            return f"there is no such kind here; kinds: {', '.join(kinds)}"
        if not pull.query:
            return "the query is empty"
        if len(pull.query) > MAX_QUERY_CHARS:
            return f"the query is longer than {MAX_QUERY_CHARS} characters; ask shorter"
        if identity(pull) in self._asking:
            return "another call of yours asks the same just now; its answer is on its way"
        return ""

    def _bounded(self, result: PulledResult, note: str) -> str:
        text = in_run_text(result, min(MAX_ANSWER_CHARS, self.left_chars), note)
        self.left_chars -= len(text)
        return text
