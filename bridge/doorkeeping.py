"""The door as the settings say."""

from __future__ import annotations

from collections.abc import Iterable

from bridge.access import Door
from bridge.bots import BotTerms
from bridge.often import Counter, Often
from config.settings import Settings
from core.model import Author, Check, ConversationKey
from core.ports import Chat


def door_of(settings: Settings, owners: tuple[str, ...] = ()) -> Door:
    """Who may do what where; ``owners`` are admins beside those whom the settings name."""
    access = settings.access
    return Door(
        access.allow,
        access.approvers,
        settings.permissions.at_most,
        viewers=access.viewers,
        admins=(*access.admins, *owners),
        channels={
            name: channel.access.given
            for name, channel in settings.channels.items()
            if channel.access is not None
        },
        bots={name: BotTerms(name, **dict(entry)) for name, entry in settings.bots.items()},
    )


def often_of(settings: Settings, owners: tuple[str, ...] = ()) -> Counter:
    """How much one person may do in a while; whose host it is, is not held up there."""
    access = settings.access
    return Counter(
        Often(
            access.per_minute,
            access.per_hour,
            access.acts_per_minute,
            frozenset((*access.unlimited, *owners)),
        )
    )


def admits(door: Door, author: Author, key: ConversationKey) -> bool:
    """Whether what somebody said is an own word or that of a person who may use Moot there.

    Of nobody else files are fetched, and whoever reads it is told so.
    """
    return author.kind == "agent" or door.allows(author, key)


def whispering(chats: Iterable[Chat]) -> frozenset[str]:
    """The chats that can show a reply to a message to its author alone."""
    return frozenset(chat.name for chat in chats if chat.limits.whispers)


def people_named(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Everybody whom the settings give anything, by the setting that names them."""
    access = settings.access
    lists = {
        **{f"[access] {name}": getattr(access, name) for name in (*_LISTS, "unlimited")},
        **{
            f'[channels."{channel}".access] {name}': people
            for channel, entry in settings.channels.items()
            if entry.access is not None
            for name, people in entry.access.given.items()
        },
        "[permissions.at_most]": tuple(settings.permissions.at_most),
        "[usage] viewers": settings.usage.viewers,
    }
    return {where: people for where, people in lists.items() if people}


def lets_everybody_in(settings: Settings) -> bool:
    """Whether ``"*"`` stands in a list that lets people in (among approvers it does not)."""
    letting = ("viewers", "allow")
    return any(
        "*" in people and where.endswith(letting)
        for where, people in people_named(settings).items()
    )


_LISTS = ("viewers", "allow", "approvers", "admins")
GROUP = "slack:group:"


def groups_named(settings: Settings) -> tuple[str, ...]:
    """The ids of all user groups of Slack that the settings name."""
    named = (one for people in people_named(settings).values() for one in people)
    return tuple(dict.fromkeys(n.removeprefix(GROUP) for n in named if n.startswith(GROUP)))


def everybody_named(settings: Settings) -> tuple[str, ...]:
    """The same, each once."""
    named = dict.fromkeys(one for people in people_named(settings).values() for one in people)
    if not lets_everybody_in(settings):
        named.pop("*", None)
    return tuple(named)


def nobody_gets_in(settings: Settings) -> bool:
    """Whether no list lets anybody in; ``"*"`` among approvers does not."""
    letting = ("viewers", "allow", "admins")
    return not any(
        where.endswith(letting) or (where.endswith("approvers") and set(people) - {"*"})
        for where, people in people_named(settings).items()
        if "access]" in where
    )


def access_check(settings: Settings, *, serves: bool) -> Check:
    """The line of ``moot doctor``: who is let in by which list. ``serves``: a chat is on."""
    if nobody_gets_in(settings):
        if not serves:
            return Check("access", ok=True, detail="empty; `moot try` needs none")
        fix = (
            "Add people to [access] allow in moot.toml: "
            '"slack:U123", "discord:42", "*" (all members).'
        )
        detail = "the allow-list is empty: nobody may use Moot"
        return Check("access", ok=False, detail=detail, fix=fix)
    lists = {w: p for w, p in people_named(settings).items() if "access]" in w}
    told = "; ".join(
        f"{where.removeprefix('[access] ')}: {', '.join(people)}" for where, people in lists.items()
    )
    return Check("access", ok=True, detail=told)
