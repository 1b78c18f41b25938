"""One question, one thread, as plain text: for scripts (``moot try --once``)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from adapters.console.chat import ConsoleChat
from adapters.console.ledger import FIRST_CHANNEL, RoomMessage
from adapters.console.render import clean, one_line, render_plain, split_label
from adapters.console.typed import Command, read_line


async def ask(
    chat: ConsoleChat,
    question: str,
    settled: Callable[[str], Awaitable[None]],
    *,
    channel: str = FIRST_CHANNEL,
    width: int = 0,
) -> list[str]:
    """Ask in a new thread and return its messages once ``settled`` returns, oldest first.

    ``settled`` is given the id of the thread's root. What is found by ``/recall`` is for one person
    and no post: it is the one text then, and no thread is opened.
    One text a message, ``who: text``; several lines stay lines. Status messages are gone by then.
    ``width`` > 0 lays Markdown out for so many columns. The chat must be running. When cancelled
    (Ctrl+C), the question is taken back: it would be gone on with at the next start.

    Raises:
        OSError: the room cannot be written.
    """
    typed = read_line(question.replace("!", "/", 1) if question.startswith("!recall") else question)
    if isinstance(typed, Command) and typed.name == "recall":
        return await _recalled(chat, channel, typed.text, width)
    if isinstance(typed, Command):  # the same words as a message, for its answer to be a thread
        own = typed.text or "help" if typed.name == "moot" else f"{typed.name} {typed.text}"
        question = f"!{own}"
    said = await chat.room.say(channel, "", chat.owner, question)
    try:
        await chat.idle()
        await settled(said.root)
    except asyncio.CancelledError:
        await chat.room.say(channel, said.root, chat.owner, "!stop")
        await chat.idle()
        raise
    return [_line(message, width) for message in chat.room.thread(said.root)]


async def _recalled(chat: ConsoleChat, channel: str, question: str, width: int) -> list[str]:
    told: list[str] = []
    stop = chat.hear(lambda whisper: told.append(render_plain(whisper.reply.text, width)))
    try:
        await chat.command(channel, "", "recall", question)
        await chat.idle()
    finally:
        stop()
    return told


def _line(message: RoomMessage, width: int) -> str:
    if not message.ours:
        return f"{one_line(message.author)}: {clean(message.text)}"
    speaker, _ = split_label(message.text)
    return f"{speaker or message.author}: {render_plain(message.text, width)}"
