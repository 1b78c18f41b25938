"""Files that an agent made, and code too long for a chat, as people get them on both platforms."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.e2e import test_slack as on_slack
from tests.e2e.product import Product
from tests.e2e.stages import started
from tests.peers.discord import LoopbackDiscord
from tests.peers.slack import LoopbackSlack
from tests.peers.slack_api import Fault

pytestmark = pytest.mark.peers

MORE = {
    "projects": {"acme": {"path": ".", "channels": ["*"], "permission": "edit"}},
    "attachments": {"max_file_mb": 0.0001},
}
CODE = "```python long.py\\n" + "x = 1\\n" * 80 + "```"


class Stage(Protocol):
    moot: Product

    async def ask(self, text: str) -> str: ...

    async def say(self, place: str, text: str) -> None: ...

    async def seen(self, place: str, *names: str, text: str = "") -> str:
        """Our posts there as one text, once all these files and the text are there."""
        ...

    def count(self, place: str, name: str) -> int: ...

    def loses_the_reply(self) -> None:
        """The next time files are sent it takes effect, and nobody hears of it."""
        ...

    def refuses_files(self) -> None: ...


class OnSlack:
    def __init__(self, slack: LoopbackSlack, moot: Product) -> None:
        self.slack, self.moot = slack, moot
        self.names: list[str] = []

    async def ask(self, text: str) -> str:
        return await self.slack.mention(text)

    async def say(self, place: str, text: str) -> None:
        await self.slack.say(text, thread=place)

    async def seen(self, place: str, *names: str, text: str = "") -> str:
        async def found():
            posts = await self.slack.answers(place)
            self.names = [f["name"] for post in posts for f in post.raw.get("files") or ()]
            said = "\n".join(post.text for post in posts)
            return said if {*names} <= {*self.names} and text in said else None

        return await self.slack.wait(found, f"{names} and {text!r} in {place}", 30)

    def count(self, place: str, name: str) -> int:
        return self.names.count(name)

    def loses_the_reply(self) -> None:
        fault = Fault("files.completeUploadExternal", takes_effect=True, cut=True)
        self.slack.api.faults.append(fault)

    def refuses_files(self) -> None:
        body = {"ok": False, "error": "missing_scope", "needed": "files:write"}
        self.slack.api.faults.append(Fault("files.getUploadURLExternal", times=9, body=body))


class OnDiscord:
    def __init__(self, world: LoopbackDiscord, moot: Product) -> None:
        self.world, self.moot = world, moot

    async def ask(self, text: str) -> str:
        return self.world.alice.ask(self.world.channel, text)

    async def say(self, place: str, text: str) -> None:
        self.world.alice.say(place, text)

    def _names(self, place: str) -> list[str]:
        return [name for m in self.world.messages(place) if m.by_us for name in m.files]

    async def seen(self, place: str, *names: str, text: str = "") -> str:
        def there() -> bool:
            return {*names} <= {*self._names(place)} and text in "\n".join(self.world.posts(place))

        await self.world.until(lambda: self.world.has_thread(place), 30, "the thread")
        await self.world.until(there, 30, f"{names} and {text!r} in {place}")
        return "\n".join(self.world.posts(place))

    def count(self, place: str, name: str) -> int:
        return self._names(place).count(name)

    def loses_the_reply(self) -> None:
        self.world.faults.lose_reply()

    def refuses_files(self) -> None:
        self.world.uploads.max_bytes = 0


@pytest.fixture(params=["slack", "discord"])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    more = {**MORE, "projects": {"acme": {**MORE["projects"]["acme"], "path": str(tmp_path)}}}
    async with started(request.param, tmp_path, more) as (peer, moot):
        yield OnSlack(peer, moot) if request.param == "slack" else OnDiscord(peer, moot)


async def test_what_an_agent_made_comes_back_and_long_code_as_a_file(stage):
    made = 'make="chart.svg: <svg/>||notes/plan.md: # Plan||.env: KEY=1||big.txt: ' + "y" * 120
    text = f"See ![the chart](chart.svg) and this:\\n\\n{CODE}\\n\\nThe end."
    place = await stage.ask(f'@@rehearse {made}" text="{text}"@@')
    said = await stage.seen(place, "chart.svg", "plan.md", "long.py", text="Not posted")
    assert "the chart (`chart.svg`)" in said
    assert "The end." in said
    assert "80 lines in all" in said
    assert said.count("x = 1") == 12
    assert "larger than 100 bytes" in said
    assert "files of this name may hold secrets" in said
    out = stage.moot.folder / "data" / "out"
    # What the others are told is the answer itself.
    await stage.moot.event("turn.ended")
    with sqlite3.connect(stage.moot.folder / "data" / "moot.sqlite") as db:
        ((told,),) = db.execute("SELECT text FROM message WHERE author_kind = 'agent'")
    assert told.count("x = 1") == 80
    # A reply that is lost does not show a file twice.
    stage.loses_the_reply()
    await stage.say(place, '@@rehearse make="once.txt: 1" text="Sent once."@@')
    await stage.seen(place, "once.txt", text="Sent once.")
    await stage.say(place, '@@rehearse make="after.txt: 1" text="Afterwards."@@')
    await stage.seen(place, "after.txt", text="Afterwards.")
    assert stage.count(place, "once.txt") == 1
    # Refused: named, and where it lies; the code of the answer itself comes as text.
    stage.refuses_files()
    await stage.say(place, f'@@rehearse make="lost.txt: 1" text="Before.\\n\\n{CODE}"@@')
    said = await stage.seen(place, text="lost.txt")
    kept = [path for path in out.rglob("*") if path.is_file()]
    assert [path.read_text() for path in kept] == ["1"]
    assert str(kept[0]) in said


async def test_a_crash_in_the_middle_of_sharing_loses_no_file_and_shows_none_twice(slack, tmp_path):
    project = {"acme": {**MORE["projects"]["acme"], "path": str(tmp_path)}}
    settings = on_slack.settings(slack, **{**MORE, "projects": project})
    async with Product(tmp_path, settings, slack.env()) as moot:
        await moot.start("slack")
        stage = OnSlack(slack, moot)
        slack.api.hang.add("files.completeUploadExternal")
        place = await stage.ask('@@rehearse make="made.txt: 1" text="Here it is."@@')

        async def shares():
            return slack.calls("files.completeUploadExternal")

        await slack.wait(shares, "the file to be shared", 30)
        await moot.kill()
        slack.api.hang.clear()
        # What an earlier life left in the store and no post needs.
        stale = tmp_path / "data" / "out" / "gone" / "file-1"
        stale.parent.mkdir()
        stale.write_text("x")
        await moot.start("slack")
        said = await stage.seen(place, "made.txt", text="Here it is.")
        assert said.count("Here it is.") == 1
        assert stage.count(place, "made.txt") == 1
        await slack.wait(lambda: _empty(tmp_path / "data" / "out"), "an empty store", 30)


async def _empty(folder: Path) -> bool:
    return not list(folder.rglob("*"))
