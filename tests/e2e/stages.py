"""One way to act on both loopback platforms, for what has to be the same on each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from tests.e2e import test_discord as discord_product
from tests.e2e import test_slack as slack_product
from tests.e2e.product import Product
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import ALICE, BOB, DEV, GENERAL, GUEST, LoopbackSlack


class Stage(Protocol):
    """A platform. People are ``alice`` and ``bob``, who may decide, and ``guest``, who may not.

    A ``place`` is a thread; a ``post`` is whatever ``post`` returned.
    """

    moot: Product

    async def ask(self, text: str, who: str = "alice") -> str:
        """Mention Moot at channel level; returns the thread."""
        ...

    async def say(self, place: str, text: str, who: str = "alice") -> None: ...

    async def refused(self, place: str, text: str, told: str, who: str) -> str:
        """Say what ``who`` may not; what is ``told`` of it: on Slack to them alone."""
        ...

    async def posts(self, place: str) -> list[str]:
        """Our posts in the thread, as people read them."""
        ...

    async def post(self, place: str, text: str, timeout_s: float = 30) -> Any:
        """Our newest post there that holds this text, once there is one.

        For the number of a request (``"#1"``): its own post, not the status that waits for it.
        """
        ...

    def labels(self, post: Any) -> list[str]: ...

    async def press(self, post: Any, label: str, who: str = "alice") -> None:
        """Press a button."""
        ...

    async def click(self, post: Any, label: str, who: str = "alice") -> str:
        """Press a button; what is told to that person alone, "" for nothing."""
        ...

    async def fill(self, post: Any, label: str, who: str = "alice", **values: Any) -> str:
        """Press a button that opens a form, and send it; what is told in return."""
        ...

    async def slash(self, words: str, who: str = "alice", *, elsewhere: bool = False) -> str:
        """``/moot words`` at channel level; what is told to that person alone."""
        ...

    async def delete(self, place: str) -> None:
        """The question that opened the thread is deleted."""
        ...


def is_meant(post: str, text: str) -> bool:
    """Whether a post is the one that holds ``text``: a status names the requests it waits for."""
    return text in post and not (text.startswith("#") and "waiting for your" in post)


class OnSlack:
    def __init__(self, slack: LoopbackSlack, moot: Product) -> None:
        self.slack, self.moot = slack, moot
        self.people = {"alice": ALICE, "bob": BOB, "guest": GUEST}

    async def ask(self, text: str, who: str = "alice") -> str:
        return await self.slack.mention(text, user=self.people[who])

    async def say(self, place: str, text: str, who: str = "alice") -> None:
        await self.slack.say(text, thread=place, user=self.people[who])

    async def refused(self, place: str, text: str, told: str, who: str) -> str:
        before = await self._notes(who)
        await self.say(place, text, who)

        async def new():
            notes = await self._notes(who)
            return next((t for k, t in notes.items() if k not in before and told in t), None)

        return await self.slack.wait(new, f"a word with {told!r} for {who} alone", 30)

    async def posts(self, place: str) -> list[str]:
        return [seen.text for seen in await self.slack.answers(place)]

    async def post(self, place: str, text: str, timeout_s: float = 30) -> Any:
        async def found():
            fitting = [m for m in await self.slack.answers(place) if is_meant(m.text, text)]
            return fitting[-1] if fitting else None

        return await self.slack.wait(found, f"a post with {text!r}", timeout_s)

    def labels(self, post: Any) -> list[str]:
        return list(post.buttons)

    async def press(self, post: Any, label: str, who: str = "alice") -> None:
        await self.slack.click(post, label, user=self.people[who])

    async def _notes(self, who: str) -> dict[str, str]:
        user = self.people[who]
        return {m.ts: m.text for m in await self.slack.seen(by=user) if m.only_for == user} | {
            m.ts: m.text
            for root in {m.root or m.ts for m in await self.slack.seen(by=user)}
            for m in await self.slack.thread(root, by=user)
            if m.only_for == user
        }

    async def click(self, post: Any, label: str, who: str = "alice") -> str:
        before = await self._notes(who)
        await self.slack.click(post, label, user=self.people[who])
        await self.moot.event("event.accepted", kind="button")
        new: dict[str, str] = {}

        async def told():
            new.update({k: v for k, v in (await self._notes(who)).items() if k not in before})
            return True if new else None

        try:
            await self.slack.wait(told, "a private word", 1.5)
        except AssertionError:
            return ""  # nothing was said
        return "\n".join(new.values())

    async def fill(self, post: Any, label: str, who: str = "alice", **values: Any) -> str:
        opened = len(self.slack.api.views.modals)
        await self.slack.click(post, label, user=self.people[who])
        modal = await self.slack.modal(opened + 1)
        await self.slack.submit(modal, **values)
        return "\n".join(modal.errors.values())

    async def slash(self, words: str, who: str = "alice", *, elsewhere: bool = False) -> str:
        channel = DEV if elsewhere else GENERAL
        note = await self.slack.slash("/moot", words, channel=channel, user=self.people[who])
        return note.text if note else ""

    async def delete(self, place: str) -> None:
        await self.slack.delete(place)


class OnDiscord:
    def __init__(self, world: LoopbackDiscord, moot: Product, carol: Any) -> None:
        self.world, self.moot = world, moot
        self.people = {"alice": world.alice, "bob": world.bob, "guest": carol}
        self.elsewhere = world.make_channel("elsewhere")

    async def ask(self, text: str, who: str = "alice") -> str:
        return self.people[who].ask(self.world.channel, text)

    async def say(self, place: str, text: str, who: str = "alice") -> None:
        self.people[who].say(place, text)

    async def refused(self, place: str, text: str, told: str, who: str) -> str:
        await self.say(place, text, who)
        return (await self.post(place, told)).text

    async def posts(self, place: str) -> list[str]:
        return self.world.posts(place) if self.world.has_thread(place) else []

    async def post(self, place: str, text: str, timeout_s: float = 30) -> Any:
        await self.world.until(lambda: self.world.has_thread(place), timeout_s, "the thread")

        def fitting() -> list[Any]:
            posts = self.world.messages(place)
            return [m for m in posts if m.by_us and is_meant(m.text, text)]

        await self.world.until(lambda: bool(fitting()), timeout_s, f"a post with {text!r}")
        return fitting()[-1]

    def labels(self, post: Any) -> list[str]:
        return [label for _, label in post.buttons]

    async def press(self, post: Any, label: str, who: str = "alice") -> None:
        self.people[who].click(post, label=label)

    async def click(self, post: Any, label: str, who: str = "alice") -> str:
        asked = self.people[who].click(post, label=label)
        await asked.done()
        return "\n".join(m.text for m in asked.messages)

    async def fill(self, post: Any, label: str, who: str = "alice", **values: Any) -> str:
        asked = self.people[who].click(post, label=label)
        await asked.modal()
        sent = self.people[who].submit(asked, **values)
        return (await sent.answer()).text

    async def slash(self, words: str, who: str = "alice", *, elsewhere: bool = False) -> str:
        channel = self.elsewhere if elsewhere else self.world.channel
        return (await self.people[who].slash(channel, "moot", words=words).answer()).text

    async def delete(self, place: str) -> None:
        self.people["alice"].delete(self.world.channel, place)


def slack_stage(slack: LoopbackSlack, folder: Path, more: Mapping[str, Any]) -> OnSlack:
    settings = slack_product.settings(slack, **more)
    settings["access"] = {"allow": ["*", f"slack:{GUEST}"]}
    return OnSlack(slack, Product(folder, settings, slack.env()))


def discord_stage(world: LoopbackDiscord, folder: Path, more: Mapping[str, Any]) -> OnDiscord:
    carol = world.person("carol")
    settings = discord_product.settings(world, **more)
    people = [f"discord:{person.id}" for person in (world.alice, world.bob)]
    settings["access"] = {"allow": [*people, f"discord:{carol.id}"], "approvers": people}
    return OnDiscord(world, Product(folder, settings, discord_product.env(world)), carol)


@asynccontextmanager
async def started(
    platform: str, folder: Path, more: Mapping[str, Any]
) -> AsyncIterator[tuple[Any, Product]]:
    """The product on a loopback platform of its own; for tests that act by the platform itself."""
    if platform == "slack":
        async with LoopbackSlack() as slack:
            settings = slack_product.settings(slack, **more)
            async with Product(folder, settings, slack.env()) as moot:
                await moot.start("slack")
                yield slack, moot
    else:
        async with LoopbackDiscord() as world:
            settings = discord_product.settings(world, **more)
            async with Product(folder, settings, discord_product.env(world)) as moot:
                await moot.start("discord")
                yield world, moot
