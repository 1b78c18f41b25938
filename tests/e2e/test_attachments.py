"""Files that people attach: into the run's own folder, through both platforms, or told as lost."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.e2e import test_discord as on_discord
from tests.e2e import test_slack as on_slack
from tests.e2e.product import Product
from tests.e2e.stages import started
from tests.peers.discord import LoopbackDiscord
from tests.peers.files import FileStore, elsewhere
from tests.peers.slack import BOB, BOT, GENERAL, LoopbackSlack

pytestmark = pytest.mark.peers

LOOK = "@@rehearse text=Seen: show=files@@"
HOSTILE = {
    "../../x": "1-x",
    "-rf": "2-rf",
    ".env": "3-env",
    "CON": "4-CON",
    "\u202egnp.exe": "6-gnp.exe",
    "a\nb.txt": "7-a_b.txt",
    "CLAUDE.md": "8-CLAUDE.md",
    "same.txt": "9-same.txt",
    "same.TXT": "10-same.TXT",
}
KOREAN = "보" * 100 + ".txt"


class Stage(Protocol):
    """People are ``alice``, who may use Moot, and ``bob``, who may not; a place is a thread."""

    moot: Product
    files: FileStore

    def file(self, name: str, data: bytes = b"", **how: Any) -> Any: ...

    async def ask(self, text: str, *files: Any) -> str: ...

    async def say(self, place: str, text: str, *files: Any, who: str = "alice") -> str: ...

    async def begin(self, text: str, *files: Any) -> str:
        """A thread that is none of Moot's yet."""
        ...

    async def answer(self, place: str, count: int = 1) -> str:
        """All our posts in the thread, once there are so many and no status message."""
        ...

    async def until(self, place: str, *texts: str) -> str:
        """The same, once all these texts are in it."""
        ...

    async def delete(self, place: str, message: str) -> None: ...


class OnSlack:
    def __init__(self, slack: LoopbackSlack, moot: Product) -> None:
        self.slack, self.moot, self.files, self.file = slack, moot, slack.files, slack.file

    async def ask(self, text: str, *files: Any) -> str:
        return await self.slack.share(f"<@{self.slack.bot_user}> {text}", *files)

    async def say(self, place: str, text: str, *files: Any, who: str = "alice") -> str:
        user = {"user": BOB} if who == "bob" else {}
        return await self.slack.share(text, *files, thread=place, **user)

    async def begin(self, text: str, *files: Any) -> str:
        return await self.slack.share(text, *files)

    async def answer(self, place: str, count: int = 1) -> str:
        return "\n".join(await on_slack.standing(self.slack, place, count))

    async def until(self, place: str, *texts: str) -> str:
        async def found():
            said = plain("\n".join(seen.text for seen in await self.slack.answers(place)))
            return said if all(text in said for text in texts) else None

        return await self.slack.wait(found, f"{texts} in {place}", 30)

    async def delete(self, place: str, message: str) -> None:
        await self.slack.delete(message, channel=GENERAL)


class OnDiscord:
    def __init__(self, world: LoopbackDiscord, moot: Product) -> None:
        self.world, self.moot, self.files = world, moot, world.files
        self.people = {"alice": world.alice, "bob": world.bob}

    def file(self, name: str, data: bytes = b"", **how: Any) -> Any:
        return self.world.alice.file(self.world.channel, name, data, **how)

    async def ask(self, text: str, *files: Any) -> str:
        return self.world.alice.share(self.world.channel, f"{self.world.mention} {text}", *files)

    async def say(self, place: str, text: str, *files: Any, who: str = "alice") -> str:
        return self.people[who].share(place, text, *files)

    async def begin(self, text: str, *files: Any) -> str:
        root = self.world.alice.share(self.world.channel, text, *files)
        return self.world.alice.open_thread(self.world.channel, "ours", root)

    async def answer(self, place: str, count: int = 1) -> str:
        await self.world.until(lambda: self.world.has_thread(place), 30, "the thread")
        return "\n".join(await on_discord.standing(self.world, place, count))

    async def until(self, place: str, *texts: str) -> str:
        def said() -> str:
            return plain("\n".join(self.world.posts(place)))

        await self.world.until(
            lambda: self.world.has_thread(place) and all(text in said() for text in texts),
            30,
            f"{texts} in {place}",
        )
        return said()

    async def delete(self, place: str, message: str) -> None:
        self.world.alice.delete(place, message)


@pytest.fixture(params=["slack", "discord"])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    more = {"attachments": {"max_file_mb": 0.1, "max_files": 12, "max_total_mb": 0.25}}
    async with started(request.param, tmp_path, more) as (peer, moot):
        yield OnSlack(peer, moot) if request.param == "slack" else OnDiscord(peer, moot)


def plain(text: str) -> str:
    """Without what keeps it from being markup."""
    return re.sub(r"\\(\W)", r"\1", text).replace("&gt;", ">").replace("\u200b", "")


def shown(text: str) -> dict[str, str]:
    """What the rehearsal engine found: name -> what it says of it."""
    return dict(re.findall(r"^> (\S+) (\(\d+ in \d+\): .*)$", plain(text), re.MULTILINE))


def kept(moot: Product) -> list[tuple[str, str]]:
    with sqlite3.connect(moot.folder / "data" / "moot.sqlite") as db:
        return db.execute("SELECT name, url FROM attachment").fetchall()


async def test_files_with_hostile_names_reach_the_run_under_safe_ones(stage):
    names = [*[*HOSTILE][:4], KOREAN, *[*HOSTILE][4:]]
    files = [stage.file(name, f"content {n}".encode()) for n, name in enumerate(names, 1)]
    place = await stage.ask(LOOK, *files)
    found = shown(await stage.answer(place))
    safe = [*HOSTILE.values()]
    korean = next(name for name in found if name.startswith("5-보"))
    assert len(korean.encode()) <= 100
    assert korean.endswith("보.txt")
    wanted = [*safe[:4], korean, *safe[4:]]
    assert found == {name: f"(600 in 700): content {n}" for n, name in enumerate(wanted, 1)}
    scratch = stage.moot.folder / "data" / "scratch"
    await stage.moot.event("turn.ended")
    assert list(scratch.iterdir()) == []
    assert not (stage.moot.folder / "x").exists()


async def test_what_cannot_be_fetched_is_said_and_the_question_answered(stage):
    async with elsewhere() as other:
        lost = [
            stage.file("declared.bin", b"x", size=200_000),
            stage.file("larger.bin", b"x" * 200_000, size=10),
            stage.file("endless.bin", b"x" * 200_000, size=0, chunked=True),
            stage.file("gone.txt", b"x", status=404),
            stage.file("moved.txt", b"x", to=other.put("stolen", b"theirs")),
        ]
        context = LOOK.replace("show=files", "show=context")
        place = await stage.ask(context, *lost, stage.file("good.txt", b"fine"))
        text = await stage.until(place, "files were not read", "6-good.txt, 4 bytes")
        assert other.asked == []  # neither a request nor the token left
    notice = next(line for line in text.splitlines() if "📎" in line)
    assert "5 files were not read" in notice
    for name in ("declared", "larger", "endless", "gone", "moved"):
        assert name in notice
    assert "good" not in notice
    assert "6-good.txt, 4 bytes, sent as “good.txt”" in text
    assert text.count(": not there, ") == 5
    # What was told once is not told again.
    await stage.say(place, LOOK)
    again = await stage.until(place, "6-good.txt (600")
    assert again.count("📎") == 1
    assert list(shown(again)) == ["6-good.txt"]


async def test_a_file_without_a_word_is_a_question(stage):
    place = await stage.ask("hello")
    await stage.answer(place)
    await stage.say(place, "", stage.file("crash.log", b"Traceback"))
    text = await stage.answer(place, 2)
    assert "[attached file: crash.log]" in plain(text)
    assert [name for name, _ in kept(stage.moot)] == ["crash.log"]
    await stage.moot.event("files.brought", there=1)


async def test_files_of_the_thread_before_moot_came_and_of_others(stage):
    place = await stage.begin("look at this", stage.file("before.txt", b"early"))
    us = stage.world.mention if isinstance(stage, OnDiscord) else f"<@{BOT}>"
    await stage.say(place, f"{us} {LOOK}", stage.file("with.txt", b"now"))
    found = shown(await stage.answer(place))
    assert found == {"1-with.txt": "(600 in 700): now", "2-before.txt": "(600 in 700): early"}
    # Whoever may not use Moot is heard, but their files are not fetched.
    await stage.say(place, "mine, too", stage.file("bobs.txt", b"no"), who="bob")
    later = await stage.say(place, LOOK, stage.file("third.txt", b"more"))
    text = await stage.answer(place, 2)
    here = {name.partition("-")[2] for name in shown(text.rpartition("Seen:")[2])}
    assert here == {"third.txt", "with.txt", "before.txt"}
    assert "bobs.txt" not in dict(kept(stage.moot))
    # What was deleted leaves no trace of its file.
    await stage.delete(place, later)
    await stage.moot.event("event.accepted", kind="delete")
    assert "third.txt" not in dict(kept(stage.moot))


async def test_slack_without_the_scope_sends_a_page_that_is_no_file(slack, tmp_path):
    async with Product(tmp_path, on_slack.settings(slack), slack.env()) as moot:
        await moot.start("slack")
        stage = OnSlack(slack, moot)
        place = await stage.ask(LOOK, stage.file("page.txt", b"x", page=True))
        text = await stage.answer(place, 2)
        assert "files:read" in text
        assert shown(text) == {}
        assert slack.files.asked[0][1] == f"Bearer {slack.bot_token}"


async def test_discord_tells_a_new_address_when_the_old_one_has_run_out(world, tmp_path):
    async with Product(tmp_path, on_discord.settings(world), on_discord.env(world)) as moot:
        await moot.start("discord")
        stage = OnDiscord(world, moot)
        place = await stage.ask(LOOK, stage.file("old.txt", b"still there", expired=1))
        assert shown(await stage.answer(place)) == {"1-old.txt": "(600 in 700): still there"}
        assert [auth for _, auth in world.files.asked] == ["", ""]


async def test_a_roundtable_fetches_a_file_once(world, tmp_path):
    async with Product(tmp_path, on_discord.settings(world), on_discord.env(world)) as moot:
        await moot.start("discord")
        stage = OnDiscord(world, moot)
        text = f"!rt {LOOK} --with architect:rehearsal,critic:rehearsal --rounds 2"
        place = await stage.ask(text, stage.file("plan.txt", b"the plan"))
        await moot.event("turn.ended", 60, state="done")
        assert len(world.files.asked) == 1
        said = await stage.until(place, "synthesis", "round 2/2")
        assert said.count("1-plan.txt (600 in 700): the plan") >= 4


async def test_what_a_question_replies_to_is_before_it_with_its_files(world, tmp_path):
    async with Product(tmp_path, on_discord.settings(world), on_discord.env(world)) as moot:
        await moot.start("discord")
        stage = OnDiscord(world, moot)
        picture = stage.file("before.txt", b"early")
        shown_before = world.alice.share(world.channel, "the picture", picture)
        ask = f"{world.mention} {LOOK}"
        place = world.alice.share(world.channel, ask, reply_to=shown_before)
        assert shown(await stage.answer(place)) == {"1-before.txt": "(600 in 700): early"}
        # Of whoever may not use Moot the words are told, and no files are fetched.
        strange = world.bob.share(world.channel, "mine", stage.file("bobs.txt", b"no"))
        context = LOOK.replace("show=files", "show=context")
        place = world.alice.share(world.channel, f"{world.mention} {context}", reply_to=strange)
        text = await stage.until(place, "[attached file: bobs.txt]")
        assert shown(text) == {}
        # It stands in two places now, and goes from both.
        world.alice.delete(world.channel, shown_before)
        await moot.event("event.accepted", kind="delete")
        assert "before.txt" not in dict(kept(moot))


async def test_slack_files_of_a_shared_message_and_of_the_teams_bots(slack, tmp_path):
    async with Product(tmp_path, on_slack.settings(slack), slack.env()) as moot:
        await moot.start("slack")
        stage = OnSlack(slack, moot)
        forwarded = stage.file("forwarded.txt", b"from elsewhere")
        share = {"is_share": True, "text": "look", "author_name": "Kim", "files": [forwarded]}
        amend = {"attachments": [share]}
        place = await slack.say(f"<@{BOT}> {LOOK}", amend=amend)
        text = await stage.answer(place)
        assert shown(text) == {"1-forwarded.txt": "(600 in 700): from elsewhere"}
        log = stage.file("failed.log", b"ERROR")
        await slack.other_bot("the build failed", log, thread=place)
        await stage.say(place, LOOK)
        text = await stage.until(place, "failed.log (600")
        assert "failed.log (600 in 700): ERROR" in text
