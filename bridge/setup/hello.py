"""The first words: a mention is heard and answered, and a reply without a mention is heard."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress

from core.errors import MootError
from core.model import ChatEvent, Check, ConversationKey, Post, Reply
from core.ports import Chat, Onboarding
from core.words import literal

READY_S = 60.0
HINT_S = 30.0
GIVE_UP_S = 900.0
_UNNAMED = (
    "A message came in that does not mention me. Type `@`, then choose me from the list that opens."
)
_ANOTHER = "Does another Moot run with the same tokens? End it: it takes a part of what is written."


class NothingHeard(MootError):
    """Nobody said anything for too long."""


class Hello:
    """One meeting with a platform; ``tell`` is told (Markdown) what to do next, and hints."""

    def __init__(self, chat: Chat, guide: Onboarding, tell: Callable[[str], None]) -> None:
        self._chat = chat
        self._guide = guide
        self._tell = tell
        self._heard: asyncio.Queue[ChatEvent] = asyncio.Queue()
        self._seen: set[str] = set()

    async def meet(self) -> tuple[ChatEvent, list[Check]]:
        """Listen, answer the first mention in a channel, hear a reply; the mention, what was seen.

        Raises:
            MootError: the platform cannot be reached, or nobody says anything.
        """
        ready = asyncio.Event()
        running = asyncio.create_task(self._chat.run(self._accept, ready.set))
        meeting = asyncio.create_task(self._meet(ready))
        try:
            await asyncio.wait((running, meeting), return_when=asyncio.FIRST_COMPLETED)
            if not meeting.done():
                await running  # it ends by raising only
            return await meeting
        finally:
            for task in (meeting, running):
                task.cancel()
            await asyncio.gather(meeting, running, return_exceptions=True)

    async def _accept(self, event: ChatEvent) -> Reply | None:
        known = event.message_id in self._seen  # Slack tells of a mention twice
        if event.kind == "message" and event.author.kind == "human" and not known:
            self._seen.add(event.message_id)
            self._heard.put_nowait(event)
        return None

    async def _meet(self, ready: asyncio.Event) -> tuple[ChatEvent, list[Check]]:
        try:
            async with asyncio.timeout(READY_S):
                await ready.wait()
        except TimeoutError:
            raise NothingHeard("No link could be opened in a minute. Try again.") from None
        guide = self._guide
        self._tell(f"{guide.invite} Then write there: **@moot hello**.\n\nListening …")
        mention = await self._next(_is_mention, guide.unheard, _UNNAMED)
        found = [Check("mention", ok=True, detail=f"heard {mention.author.name}")]
        key = mention.key
        hello = (
            f"Hello {literal(mention.author.name)}, I hear you. Now write anything in this thread, "
            "without mentioning me."
        )
        thread = await self._post(key, hello)
        found += [Check("answer", ok=True, detail="posted into the thread"), await self._look(key)]
        self._tell("Heard, and answered there. Now write anything in that thread, without @.")
        await self._next(
            lambda event: event.in_thread and not event.mentions_us and event.key.root == thread,
            guide.unheard_reply,
            "That was not it: a message in that thread, without mentioning me, please.",
        )
        found.append(Check("reply without a mention", ok=True, detail="heard"))
        found.append(await self._react(mention))
        await self._post(key, "That was it: we can talk. Once Moot runs, I answer questions here.")
        return mention, found

    async def _next(
        self, wanted: Callable[[ChatEvent], bool], hint: str, instead: str
    ) -> ChatEvent:
        """The next message that is ``wanted``; now and then a hint while there is none.

        ``instead`` is told once, when another one came: a busy channel has many.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(GIVE_UP_S):
                while True:
                    try:
                        async with asyncio.timeout(HINT_S):
                            event = await self._heard.get()
                    except TimeoutError:
                        self._tell(f"{hint} {_ANOTHER}")
                        continue
                    if wanted(event):
                        return event
                    if event.direct:
                        self._tell("A direct message came in; now one in a channel, please.")
                    elif instead:
                        self._tell(instead)
                        instead = ""
        raise NothingHeard("Nothing arrived for a quarter of an hour. Run `moot setup` again.")

    async def _post(self, key: ConversationKey, text: str) -> str:
        """Say something in the thread; its root."""
        [shown, *_] = self._chat.render(text)
        post = Post(nonce=secrets.token_hex(8), text=shown, opens=not key.root, title="Hello")
        return (await self._chat.post(key, post)).root

    async def _look(self, key: ConversationKey) -> Check:
        """Whether what was said before in a thread can be read."""
        try:
            said = await self._chat.thread(key, 5)
        except MootError as error:
            fix = "see the scopes or permissions above"
            return Check("history", ok=False, detail=str(error), fix=fix)
        ok = bool(said)
        return Check("history", ok, "the thread can be read" if ok else "the thread reads empty")

    async def _react(self, mention: ChatEvent) -> Check:
        """A reaction under the first mention: how a question stands is shown by one."""
        try:
            await self._chat.react(mention.key, mention.message_id, "done")
        except MootError as error:
            fix = "questions show no reactions until that is put right; all else works"
            return Check("reaction", ok=False, detail=str(error), fix=fix)
        return Check("reaction", ok=True, detail="see your first message (or the scope above)")


def _is_mention(event: ChatEvent) -> bool:
    return event.mentions_us and not event.direct
