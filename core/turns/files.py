"""Files that people attached, brought into the folder of each run that is told of them."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from core.context.attached import safe_name, size_text
from core.context.contents import not_a_file, noted
from core.errors import ChatBusy, ChatRefused, ChatUnsure
from core.model import Brought, ContextPack, Conversation, Turn
from core.records import files as rows
from core.records import outbox
from core.records.files import Kept
from core.tongue import say_later, say_many, say_now
from core.turns.house import FileTerms, House
from core.words import literal

log = structlog.get_logger()

FOLDER = "attachments"
DEADLINE_S = 60.0  # for all files of a run together
AT_ONCE = 4
MOST_TOLD = 20
OFF = say_later("files are switched off ([attachments] enabled)")
LATE = say_later("it did not come in time")
INLINE_SHARE = 3  # of an engine's budget, text of files takes at most a third


@dataclass(frozen=True, slots=True)
class _Got:
    """A file as it was fetched for this turn: where it is kept, or why it is not.

    ``note``: what its agent is told of it beside its name.
    """

    path: Path | None = None
    size: int = 0
    why: str = ""
    note: str = ""


class Files:
    """The files of one turn. Each is fetched once, and copied into the folder of every run.

    Args:
        house: where to fetch them, and what is allowed.
        turn: what is being answered.
        conversation: where; files of other conversations are never fetched.
    """

    def __init__(self, house: House, turn: Turn, conversation: Conversation) -> None:
        self._house = house
        self._turn = turn
        self._conversation = conversation
        self._got: dict[int, _Got] = {}
        self._kept = house.policy.scratch / f"turn-{turn.id}-{id(self):x}"
        self._one_by_one = asyncio.Lock()  # the participants of a parallel round come at once

    async def bring(
        self,
        there: Sequence[Kept],
        pack: ContextPack,
        scratch: Path,
        cancel: asyncio.Event,
        *,
        reads: bool,
        budget_chars: int,
    ) -> tuple[Brought, ...]:
        """Fetch the files of the question and of what ``pack`` tells whole, into ``scratch``.

        ``there`` are the files of the conversation. An engine that ``reads`` none gets the text of
        those that are text, within a part of ``budget_chars``. What cannot be fetched is told, to
        the agent and (once) in the thread; nothing is raised. Where ``cancel`` is set meanwhile,
        nothing comes of it.
        """
        asked, about = self._turn.prompt_message_id, self._turn.about
        whole = [piece.id for piece in pack.conversation if piece.whole == piece.shown]
        place = {id_: n for n, id_ in enumerate(whole)}
        place |= {about: len(whole), asked: len(whole) + 1}
        wanted = [kept for kept in there if kept.message_id in place and not kept.heard]
        # The question's first, then the newest: a history's records are younger than its words.
        wanted.sort(key=lambda kept: (-place[kept.message_id], kept.id))
        if not wanted:
            return ()
        async with self._one_by_one:
            await self._fetch(wanted, cancel)
            if cancel.is_set():
                return ()
            await self._say(wanted)
            room = 0 if reads else budget_chars // INLINE_SHARE
            placed = await asyncio.to_thread(
                self._place, wanted[:MOST_TOLD], scratch / FOLDER, room
            )
        log.info("files.brought", wanted=len(wanted), there=sum(bool(one.file) for one in placed))
        return placed

    async def close(self) -> None:
        """The turn is over: what was kept for it goes."""
        if self._got:
            await asyncio.to_thread(shutil.rmtree, self._kept, ignore_errors=True)

    # --- fetching -------------------------------------------------------------------------

    async def _fetch(self, wanted: Iterable[Kept], cancel: asyncio.Event) -> None:
        terms = self._house.policy.files
        new = [kept for kept in wanted if kept.id not in self._got]
        room = terms.max_files - sum(got.path is not None for got in self._got.values())
        total = terms.max_total_bytes - sum(got.size for got in self._got.values() if got.path)
        due: list[Kept] = []
        for kept in new:
            if why := _refused(kept, terms, room - len(due), total):
                self._got[kept.id] = _Got(size=kept.attachment.size, why=why)
            else:
                due.append(kept)
                total -= kept.attachment.size
        if not due:
            return
        await asyncio.to_thread(_make_private, self._kept)
        slots = asyncio.Semaphore(AT_ONCE)
        work = {asyncio.create_task(self._one(kept, slots)): kept for kept in due}
        stopped: asyncio.Task[bool] = asyncio.create_task(_when(cancel))
        try:
            await _until_done(work, stopped)
        finally:
            for task in (*work, stopped):
                task.cancel()
            await asyncio.wait((*work, stopped))
        for task, kept in work.items():
            if task.cancelled() and cancel.is_set():
                continue  # of this step alone, maybe: another one asks again
            late = _Got(size=kept.attachment.size, why=LATE)
            self._got[kept.id] = late if task.cancelled() else task.result()
        self._keep_to_total(due, terms)

    async def _one(self, kept: Kept, slots: asyncio.Semaphore) -> _Got:
        terms, size = self._house.policy.files, kept.attachment.size
        async with slots:
            try:
                async with asyncio.timeout(terms.patience_s):
                    data = await self._patiently(kept, terms.max_file_bytes)
                sent = kept.attachment
                if why := not_a_file(sent.name, sent.mime, data):
                    return _Got(size=size, why=why)
                path = self._kept / str(kept.id)
                await asyncio.to_thread(_write_private, path, data)
                return _Got(path, len(data), note=noted(sent.name, sent.mime, data))
            except TimeoutError:
                return _Got(size=size, why=LATE)
            except (ChatBusy, ChatRefused, ChatUnsure) as error:
                return _Got(size=size, why=str(error).rstrip("."))
            except OSError as error:
                return _Got(
                    size=size,
                    why=say_later("it could not be kept ({strerror})", strerror=error.strerror),
                )
            except Exception as error:  # a fault of an adapter costs no answer
                log.exception("files.failed", file=kept.id)
                return _Got(
                    size=size,
                    why=say_later("it could not be fetched ({name})", name=type(error).__name__),
                )

    async def _patiently(self, kept: Kept, limit_bytes: int) -> bytes:
        """Once more when the platform asks to wait; the deadline is the caller's."""
        chat = self._conversation.key.chat
        try:
            return await self._house.download(chat, kept.attachment, limit_bytes)
        except ChatBusy as busy:
            if busy.retry_after_s > self._house.policy.files.patience_s:
                raise
            await asyncio.sleep(busy.retry_after_s)
            return await self._house.download(chat, kept.attachment, limit_bytes)

    def _keep_to_total(self, due: Iterable[Kept], terms: FileTerms) -> None:
        """Sizes that were told wrongly: what is over the limit in the end is not brought."""
        others = {kept.id for kept in due}
        used = sum(got.size for id_, got in self._got.items() if got.path and id_ not in others)
        for kept in due:
            got = self._got.get(kept.id, _Got())
            if got.path is None:
                continue
            if used + got.size > terms.max_total_bytes:
                self._got[kept.id] = _Got(size=got.size, why=_over(terms))
            else:
                used += got.size

    # --- what comes of it -----------------------------------------------------------------

    async def _say(self, wanted: Iterable[Kept]) -> None:
        """One line in the thread for those that could not be fetched; each is told once."""
        lost = [
            kept for kept in wanted if not kept.told and self._got[kept.id].why not in ("", OFF)
        ]
        if not lost:
            return
        house, turn = self._house, self._turn
        chat = self._conversation.key.chat

        def say() -> bool:
            new = rows.untold(kept.id for kept in lost)
            told = [kept for kept in lost if kept.id in new][:MOST_TOLD]
            if not told:
                return False
            listed = "; ".join(
                f"{literal(kept.attachment.name, 60)} ({self._why(kept.id)})" for kept in told
            )
            text = say_many(
                "📎 A file was not read, so the answer goes without: {listed}",
                "📎 {count} files were not read, so the answer goes without: {listed}",
                len(told),
                listed=listed,
            )
            texts = house.voice(chat, text, "")
            outbox.add_post(turn.conversation_id, "notice", texts, turn_id=turn.id, now=time.time())
            return True

        if await house.records.do(say):
            house.wake_delivery()

    def _why(self, kept: int) -> str:
        return literal(say_now(self._got[kept].why), 200)

    def _place(self, wanted: Sequence[Kept], folder: Path, room: int) -> tuple[Brought, ...]:
        """Copies in the run's own folder; with ``room`` so much of what they say. Blocking."""
        placed: list[Brought] = []
        for number, kept in enumerate(wanted, 1):
            got, name = self._got[kept.id], kept.attachment.name
            if got.path is None:
                placed.append(Brought(kept.message_id, name, got.size, why=got.why))
                continue
            file = safe_name(name, number)
            try:
                _make_private(folder)
                _write_private(folder / file, got.path.read_bytes())
            except OSError as error:
                why = say_later("it could not be kept ({strerror})", strerror=error.strerror)
                placed.append(Brought(kept.message_id, name, got.size, why=why))
                continue
            whole = _text_of(folder / file) if room else ""
            text = whole[:room]
            room -= len(text)
            left = len(whole) - len(text)
            placed.append(Brought(kept.message_id, name, got.size, file, "", text, left, got.note))
        return tuple(placed)


async def _when(cancel: asyncio.Event) -> bool:
    return await cancel.wait()


async def _until_done(work: Collection[asyncio.Task[_Got]], stopped: asyncio.Task[bool]) -> None:
    """Until all are done, the time is over or the turn was stopped."""
    loop = asyncio.get_running_loop()
    until = loop.time() + DEADLINE_S
    while not stopped.done() and loop.time() < until:
        left = [task for task in work if not task.done()]
        if not left:
            return
        await asyncio.wait(
            (*left, stopped),
            timeout=until - loop.time(),
            return_when=asyncio.FIRST_COMPLETED,
        )


def _refused(kept: Kept, terms: FileTerms, room: int, total: int) -> str:
    """Why a file is not even asked for; "" = it is."""
    size = kept.attachment.size
    if not terms.enabled:
        return OFF
    if size > terms.max_file_bytes:
        return say_later("it is larger than {size_text}", size_text=size_text(terms.max_file_bytes))
    if room <= 0:
        return say_later("only {max_files} files are taken", max_files=terms.max_files)
    return _over(terms) if size > total else ""


def _over(terms: FileTerms) -> str:
    return say_later(
        "the files are larger than {size_text} together", size_text=size_text(terms.max_total_bytes)
    )


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def _write_private(path: Path, data: bytes) -> None:
    """A new file that only we may read; what is there already is not written to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as out:
        out.write(data)


def _text_of(path: Path) -> str:
    """What stands in a file, if it is text; "" for everything else."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else text
