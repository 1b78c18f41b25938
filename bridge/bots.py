"""Other bots: heard as data, and those that the settings name may ask, within a budget.

What they may do is asked at the same door as for people (``bridge.access.Door``): to ask by
mentioning Moot, and nothing else. Two bots that answer each other end by their budget, told once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from bridge.commands import MISSPELT, parse, typed_command
from core.errors import BadInput, NotAllowed
from core.model import Author, ChatEvent, Conversation, Permission, Reply
from core.records import exchanges, outbox, places
from core.tongue import say, say_many
from core.words import literal

if TYPE_CHECKING:
    from bridge.access import Door
    from bridge.acts import Acts

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BotTerms:
    """What a bot may have; ``name`` is its entry in ``[bots]``.

    ``at_most`` is what its questions may lead to, ``exchanges`` how many it may ask in a thread
    until a person writes there, ``per_hour`` how many within an hour in all threads.
    """

    name: str
    at_most: Permission = "plan"
    exchanges: int = 3
    per_hour: int = 12


def named(bots: Mapping[str, BotTerms], author: Author) -> BotTerms | None:
    """The terms of a bot that the settings name; ``None`` for other bots, and for people."""
    if author.kind != "bot":
        return None
    return next((bots[grant] for grant in author.grants if grant in bots), None)


def is_addressed(event: ChatEvent, known: Conversation | None, door: Door) -> bool:
    """Whether a message is meant for Moot.

    A person's by a mention, in a direct message, or in a thread that Moot takes part in; a bot's
    only by a mention that asks something, where the settings name the bot.
    """
    typed = typed_command(event.text)
    if event.author.kind != "human":
        if not event.mentions_us:
            return False
        if door.bot(event.author) is None:
            log.info("bot.not_named", chat=event.key.chat, bot=event.author.grants[:1])
            return False
        return typed is None or typed[0] == "ask"
    if event.mentions_us or event.direct:
        return True
    # A command is ours, whoever is named in it; a question may be for those who are.
    commands = typed is not None and typed[0] != MISSPELT and event.text.startswith("!")
    to_others = event.mentions_others and not commands
    # One that Moot opened is its own also where what it knew of it is lost.
    engaged = known.engaged if known else event.our_thread
    return engaged and event.in_thread and not to_others


def ask_for_bot(acts: Acts, conversation: Conversation, message_id: int) -> None:
    """Queue what a bot asks. What there is to tell is told once: a bot may answer each notice."""
    event, terms = acts.event, acts.door.bot(acts.event.author)
    if terms is None:
        raise NotAllowed(say("Bots that [bots] in moot.toml does not name start nothing."))
    verdict = exchanges.take(
        terms.name,
        conversation.id,
        sent_at=event.sent_at,
        now=acts.now,
        in_thread=terms.exchanges,
        per_hour=terms.per_hour,
    )
    if verdict.refused:
        log.info("bot.refused", bot=terms.name, budget=verdict.refused, thread=conversation.id)
        if verdict.first:
            acts.notice(conversation, Reply(_over(verdict.refused, event.author, terms)))
        return
    places.set_engaged(conversation.id)
    _, text = typed_command(event.text) or ("ask", event.text)
    try:
        reply = acts.act(parse("ask", text, acts.policy.names), conversation, message_id)
    except (BadInput, NotAllowed) as error:
        reply = Reply(str(error))
    if reply and not outbox.said_in(conversation.id, acts.render(event.key.chat, reply.text)[0]):
        acts.notice(conversation, reply, fleeting=False)


def _over(which: exchanges.Refusal, author: Author, terms: BotTerms) -> str:
    if which == "hour":
        return say_many(
            "⏸️ The bot {name} has asked once within an hour, and moot.toml lets it ask no more "
            "often. Moot answers it again when the hour is over.",
            "⏸️ The bot {name} has asked {count} times within an hour, and moot.toml lets it ask "
            "no more often. Moot answers it again when the hour is over.",
            terms.per_hour,
            name=literal(author.name),
        )
    return say_many(
        "⏸️ The bot {name} has asked once here without a person in between, and moot.toml lets it "
        "ask no more often. Moot answers it again here when a person has written in this thread.",
        "⏸️ The bot {name} has asked {count} times here without a person in between, and moot.toml "
        "lets it ask no more often. Moot answers it again here when a person has written in this "
        "thread.",
        terms.exchanges,
        name=literal(author.name),
    )
