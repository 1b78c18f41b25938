"""From an event to rows: one transaction, and a repeated event changes nothing.

This is the only door for messages, commands and buttons. What the platforms deliver is data; what
may be done with it is decided here, by who acts.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import structlog

from bridge import recalls, terminals
from bridge.access import Door
from bridge.acts import Acts
from bridge.arrivals import (
    in_unicode,
)
from bridge.completing import complete
from bridge.forget_acts import Hiding, hide
from bridge.intake_policy import IntakePolicy
from bridge.secrets import reply_without_secrets
from bridge.taken import Taken
from core.model import ChatEvent, Reply, Step
from core.records import heard
from core.records.thread import CannotWrite, Records
from core.tongue import say, speaking, to_say

log = structlog.get_logger()

CANNOT_WRITE = to_say(
    "⚠️ Moot cannot write to its disk just now ({why}), so nothing was done. "
    "Try again when there is space on the host."
)
MAX_SETTLED = 1_000


class Intake:
    """Takes events in and says what to wake.

    After the commit ``on_turn`` is called if a turn was queued, ``on_post`` if something is to be
    posted, ``on_stop`` with the turns whose processes must end, ``on_skip`` with the steps,
    ``on_ruled`` with the run and the number of each request that was decided, and ``on_gone`` when
    words were deleted or changed.
    """

    def __init__(
        self,
        records: Records,
        door: Door,
        policy: IntakePolicy,
        render: Callable[[str, str], tuple[str, ...]],
        *,
        on_turn: Callable[[], None],
        on_post: Callable[[], None],
        on_stop: Callable[[tuple[int, ...]], None],
        on_skip: Callable[[int, tuple[Step, ...]], None],
        on_gone: Callable[[], None] = lambda: None,
        on_ruled: Callable[[str, int], None] = lambda _run, _number: None,
    ) -> None:
        self._on_ruled = on_ruled
        self._records = records
        self._door = door
        self._policy = policy
        self._render = render
        self._on_turn = on_turn
        self._on_post = on_post
        self._on_stop = on_stop
        self._on_skip = on_skip
        self._on_gone = on_gone
        # Messages that are rows already and were found to be meant for us. The rows would say the
        # same; but the second event of a mention comes just when its run is to start.
        self._settled: OrderedDict[str, int] = OrderedDict()  # with how many files it had

    async def accept(self, event: ChatEvent) -> Reply | None:
        """Take ``event`` in durably; when this returns, it is a row or it changed nothing."""
        with speaking(self._policy.languages.of_key(event.key)):
            if event.kind == "complete":
                return await complete(event, self._door, self._policy, self._records)
            reply = await self._accept(event)
            return reply and reply_without_secrets(reply)

    async def _accept(self, event: ChatEvent) -> Reply | None:
        event = in_unicode(event)
        if event.kind == "delete" and not event.message_id:
            return await self._thread_gone(event)
        files = len(event.attachments)  # of two events for a message one may not tell them
        if event.kind == "message" and self._settled.get(event.event_id, -1) >= files:
            log.debug(
                "event.accepted", kind="message", chat=event.key.chat, event_id=event.event_id
            )
            return None
        taken = Taken(event, time.time(), self._policy, self._render, self._door)
        try:
            reply = await self._records.do(taken.transaction)
        except CannotWrite as error:
            if event.kind not in ("command", "button", "form", "shortcut", "home"):
                raise  # not acknowledged, so the platform brings it again
            log.error("event.not_written", kind=event.kind, error=str(error))  # noqa: TRY400
            return taken.refused(say(CANNOT_WRITE, why=error))
        if taken.echo:
            log.debug("event.echo", kind=event.kind, chat=event.key.chat, event_id=event.event_id)
            return None
        log.debug("event.accepted", kind=event.kind, chat=event.key.chat, event_id=event.event_id)
        if taken.acts.look is not None:
            reply = await self._look(taken.acts, taken.acts.look)
        if taken.settled:
            self._settled[event.event_id] = files
            while len(self._settled) > MAX_SETTLED:
                self._settled.popitem(last=False)
        self._tell(taken.acts)
        return reply

    async def _thread_gone(self, event: ChatEvent) -> None:
        """A whole thread was deleted: so was each message in it."""
        for message_id in await self._records.do(heard.told_in, event.key):
            one = f"{event.event_id}:{message_id}"
            await self._accept(replace(event, message_id=message_id, event_id=one))

    def _tell(self, acts: Acts) -> None:
        """Wake whoever has something to do now."""
        if acts.language is not None:
            self._policy.languages.note(*acts.language)
        if acts.stopped:
            self._on_stop(tuple(acts.stopped))
        for turn_id, step in acts.skipped:
            self._on_skip(turn_id, (step,))
        for run_id, number in acts.ruled:
            self._on_ruled(run_id, number)
        # Only for what there is: looking for it in vain would hold up the run that is to start.
        if acts.queued:
            self._on_turn()
        if acts.owes:
            self._on_post()
        if acts.gone or acts.event.kind in ("edit", "delete"):
            self._on_gone()

    async def _look(self, acts: Acts, look: terminals.Look | recalls.Look | Hiding) -> Reply | None:
        """What needs a look at the host comes after the commit: the rows wait for no program."""
        try:
            if isinstance(look, Hiding):
                if acts.stopped:
                    self._on_stop(tuple(acts.stopped))
                return await hide(acts, look, self._records)
            if isinstance(look, recalls.Look):
                return await self._policy.recalls.look(acts, look, self._records)
            reply = await self._policy.terminals.look(acts, look, self._records)
            if reply is None or acts.event.kind != "message":
                return reply
            await self._records.do(acts.notice, look.conversation, reply)
        except CannotWrite as error:
            log.error("event.not_written", kind=acts.event.kind, error=str(error))  # noqa: TRY400
            if isinstance(look, Hiding):
                return Reply(look.late)
            return Reply(say(CANNOT_WRITE, why=error))
        return None

    @property
    def door(self) -> Door:
        """Who may act."""
        return self._door

    @property
    def policy(self) -> IntakePolicy:
        """What intake goes by."""
        return self._policy

    def render(self, chat: str, markdown: str) -> tuple[str, ...]:
        """Markdown as the platform's texts."""
        return self._render(chat, markdown)
