"""What is said of how the platforms are heard, and of what could not be posted."""

from __future__ import annotations

from datetime import UTC, datetime

from core.model import Check
from core.records import closed, heard, outbox
from core.tongue import say, say_many
from core.words import moment

SILENT_S = 300.0  # a chat that was not heard for so long, while Moot runs, is worth a word


def say_heard(now: float) -> str:
    """What ``!status`` adds: when each chat was heard last, and what waits for closed places."""
    lines: list[str] = []
    for chat, until, event_at in heard.last_events():
        if now - until > SILENT_S:
            lines.append(
                say("⚠️ I have not heard {chat} since {when}.", chat=chat, when=moment(until))
            )
        elif event_at:
            lines.append(say("Last event of {chat}: {when}.", chat=chat, when=moment(event_at)))
    places, posts = closed.waiting()
    if places:
        lines.append(
            say_many(
                "One thread takes no posts from me ({posts} kept until it does).",
                "{count} threads take no posts from me ({posts} kept until they do).",
                places,
                posts=posts,
            )
            + " "
            + say("`!resend` in a direct message brings you yours.")
        )
    return "\n".join(lines)


def heard_checks() -> list[Check]:
    """The lines of ``moot doctor``; in a transaction on the records, beside a running Moot."""
    checks = [
        Check(f"{chat} heard", ok=True, detail=f"until {_utc(until)}; {_last(event_at)}")
        for chat, until, event_at in heard.last_events()
    ]
    owed, dead = outbox.undelivered()
    places, kept = closed.waiting()
    detail = f"{owed} on their way, {kept} kept for {places} closed threads, {dead} given up"
    fix = "The log says why they were refused; they are posted when the place takes posts again."
    return [*checks, Check("posts", ok=not places, detail=detail, fix=fix)]


def _last(event_at: float) -> str:
    if event_at:
        return f"last event {_utc(event_at)}"
    return (
        "no event yet: mention Moot where it is a member; if nothing comes, look at the event "
        "subscriptions (Slack) or the Message Content intent (Discord)"
    )


def _utc(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC"
