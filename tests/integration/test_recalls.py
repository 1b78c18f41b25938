"""Recall and marks on real records: who is shown what, and what a mark does."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge.access import Door
from bridge.intake import Intake
from bridge.recalls import MOST, Recalls
from core.model import Author, ChatEvent, ConversationKey, Near, Pull, Reply, Scene
from core.records import forgetting, marks, messages, scope
from core.records.tables import AuditRow, ConversationRow, MarkRow, OutboxRow
from core.records.thread import Records
from core.sources import recall, retrieval
from tests.integration.scenes import scene_of
from tests.integration.test_intake import POLICY

KIM = Author("U1", "Kim", grants=("slack:U1",))
LEE = Author("U2", "*Lee*", grants=("slack:U2",))
GUS = Author("U3", "Gus", grants=("slack:U3",), trusted=False)
EVE = Author("U9", "Eve", grants=("slack:U9",))
DAY = 86_400.0


class House:
    """An intake; ``near`` are (message id, cosine) that memory finds for whatever is asked."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.near: tuple[tuple[int, float], ...] | None = None
        self.count = 0
        self.intake = Intake(
            records,
            Door(("slack:U1", "slack:U2", "slack:U3")),
            replace(POLICY, recalls=Recalls(self._near)),
            lambda _chat, text: (text,),
            on_turn=lambda: None,
            on_post=lambda: None,
            on_stop=lambda _: None,
            on_skip=lambda _turn, _steps: None,
        )

    async def _near(self, scene: Scene, text: str, *, within_s: float) -> Near | None:
        del scene, text, within_s
        if self.near is None:
            return None
        return Near("test", *map(tuple, zip(*self.near, strict=True))) if self.near else Near("t")

    async def act(
        self, kind: Any, text: str, who: Author = KIM, *, root: str = "1", channel: str = "C",
        command: str = "", public: bool | None = True, age_s: float = 0.0, **more: Any,
    ) -> Reply | None:  # fmt: skip
        self.count += 1
        name, _, rest = text.partition(" ") if kind == "command" else (command, "", text)
        event = ChatEvent(
            key=ConversationKey("slack", "T", channel, root), event_id=f"e{self.count}",
            message_id=f"m{self.count}", author=who, text=rest, kind=kind, command=name,
            sent_at=time.time() - age_s, mentions_us=kind == "command", in_thread=bool(root),
            public=public,
        )  # fmt: skip
        return await self.intake.accept(replace(event, **more))

    async def said(self, text: str, who: Author = KIM, **where: Any) -> int:
        """A message in a thread that Moot knows; its number."""
        key = ConversationKey("slack", "T", where.get("channel", "C"), where.get("root", "1"))
        opened = {"direct": where.get("direct", False), "in_thread": True, "now": 1.0}
        await self.records.do(lambda: messages.open_conversation(key, **opened))
        await self.act("message", text, who, **where)
        here = await self.records.do(messages.find_conversation, key)
        return (await self.records.do(messages.recent, here.id, 1))[0].id

    async def scene(self, number: int = 1) -> Scene:
        return await self.records.do(scene_of, number)

    async def told(self, kind: Any, text: str, who: Author = KIM, **where: Any) -> Reply:
        reply = await self.act(kind, text, who, **where)
        assert reply is not None
        return reply

    async def recall(self, question: str, who: Author = KIM, **where: Any) -> Reply:
        return await self.told("command", f"recall {question}", who, **where)

    async def press(self, reply: Reply, label: str, who: Author = KIM, **where: Any) -> Reply:
        [action] = [b.action for b in reply.buttons if b.label == label]
        return await self.told("button", action, who, **where)


def unlike(n: int) -> str:
    """A message about zebras that is like no other: what is alike is folded when it is found."""
    return " ".join(("zebra", *(f"{chr(97 + n % 26)}{word}{n * n}" for word in "klmnop")))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    yield House(records)
    await records.close()


async def test_a_hit_has_its_author_time_age_place_link_and_words(house: House) -> None:
    number = await house.said("We chose JWT since sessions do not scale", LEE, age_s=3 * DAY + 60)
    reply = await house.recall("why JWT?", root="2")
    assert f"**#{number}** \\*Lee\\*" in reply.text
    assert "(3 days ago)" in reply.text
    assert time.strftime("%Y", time.gmtime()) in reply.text
    assert f"[in another thread here](https://chat.test/C/1/m{number})" in reply.text
    assert "> We chose JWT since sessions do not scale" in reply.text
    assert "Only you see this" in reply.text
    assert "in this thread" in (await house.recall("why JWT?")).text


async def test_nothing_found_says_where_it_was_looked_for(house: House) -> None:
    await house.said("hello")
    reply = await house.recall("zebra **bold**")
    assert "Nothing found for “zebra \\*\\*bold\\*\\*” in 1 message of this channel" in reply.text
    assert "by words alone" in reply.text
    assert reply.buttons == ()


async def test_typed_in_a_thread_nothing_of_it_is_posted(house: House) -> None:
    await house.said("the zebra release is called off")
    assert await house.act("message", "!recall zebra", mentions_us=True) is None
    [post] = await house.records.do(lambda: list(OutboxRow.select()))
    assert "zebra" not in post.text
    assert "recall:1:" in post.buttons
    action = f"recall:1:{(await house.records.do(messages.recent, 1, 1))[0].id}"
    shown = await house.told("button", action, LEE)
    assert "called off" in shown.text
    # What was asked of memory is no answer, to agents neither.
    assert "!recall zebra" not in shown.text
    pulled = await house.records.do(retrieval.answer, Pull("memory", "zebra"), await house.scene())
    assert "called off" in "".join(pulled.hits)
    assert "!recall" not in "".join(pulled.hits)
    assert await house.records.do(lambda: OutboxRow.select().count()) == 1


async def test_a_private_channel_is_told_only_there(house: House) -> None:
    await house.said("the zebra budget is 5 million", channel="P", public=False)
    await house.said("the zebra party is on Friday", channel="Q")
    assert "5 million" in (await house.recall("zebra", channel="P", public=False)).text
    here = await house.recall("zebra")
    assert "5 million" not in here.text
    assert "[in another channel]" in here.text
    assert "party" in here.text
    # What turns private meanwhile is not on the next page either.
    await house.said("now the zebra is private", channel="Q", public=False)
    assert "Nothing found" in (await house.recall("zebra")).text


async def test_a_guest_sees_the_channel_only_and_a_stranger_nothing(house: House) -> None:
    number = await house.said("zebra here")
    await house.said("zebra elsewhere", channel="Q")
    reply = await house.recall("zebra", GUS)
    assert "zebra here" in reply.text
    assert "elsewhere" not in reply.text
    assert reply.buttons == ()  # a guest marks nothing
    assert "!mark" not in reply.text
    refused = await house.told("command", f"moot mark {number} wrong", GUS)
    assert "members" in refused.text
    assert "members" in (await house.told("button", f"mark:1:{number}:wrong", GUS)).text
    assert "may not use Moot" in (await house.recall("zebra", EVE)).text
    assert await house.records.do(lambda: MarkRow.select().count()) == 0


async def test_a_mark_lowers_is_told_and_is_taken_back(house: House) -> None:
    old = await house.said("deploy on Friday: the deploy window is Friday", LEE)
    new = await house.said("deploy window moved", root="3")
    first = await house.recall("deploy window Friday", root="2")
    assert first.text.index(f"#{old}") < first.text.index(f"#{new}")
    marked = await house.press(first, f"#{old} is outdated", root="2")
    assert f"**#{old}** is marked as outdated by Kim" in marked.text
    again = await house.press(marked, "Back to the list", root="2")
    assert again.text.index(f"#{new}") < again.text.index(f"#{old}")
    assert "⚠️ outdated, says Kim (just now)" in again.text

    # Another person says something else; the first one changes their mind: one mark each.
    assert (
        await house.act("message", f"!mark {old} wrong never <!here> so", LEE, mentions_us=True)
        is None
    )
    await house.told("command", f"moot mark #{old} wrong [it was Thursday]\nreally")
    shown = (await house.recall("deploy window Friday", root="2")).text
    assert "⚠️ wrong, says \\*Lee\\* (just now): “never \\<\\!here\\> so”" in shown
    assert "⚠️ wrong, says Kim (just now): “\\[it was Thursday\\] really”" in shown
    assert "outdated, says" not in shown

    # Agents see it beside the message, the note as somebody's words.
    def pulled() -> tuple[str, ...]:
        scene = scene_of(1, address=lambda key, message: f"https://x.test/{key.root}/{message}")
        found = retrieval.answer(Pull("memory", "deploy window"), scene)
        one = recall.answer(Pull("messages", f"#{old}"), scene)
        return ("\n".join(found.hits), "\n".join(one.hits))

    for text in await house.records.do(pulled):
        assert "[marked wrong by *Lee* on 20" in text
        assert "with this note:]\n> never <!here> so\n[marked wrong by Kim" in text
        assert "\n> [it was Thursday] really" in text
        assert f"(within the hour), https://x.test/1/m{old}:" in text

    assert "taken back" in (await house.told("command", f"moot unmark {old}", LEE)).text
    assert "no mark" in (await house.told("command", f"moot unmark {old}", LEE)).text
    assert "\\*Lee\\* (just now)" not in (await house.recall("deploy window", root="2")).text
    audit = await house.records.do(lambda: [(r.actor_name, r.action) for r in AuditRow.select()])
    assert audit == [("Kim", "stale"), ("*Lee*", "wrong"), ("Kim", "wrong"), ("*Lee*", "removed")]


async def test_a_button_counts_only_where_it_belongs_and_while_its_message_stands(
    house: House,
) -> None:
    number = await house.said("zebra", channel="C")
    listed = await house.recall("zebra")
    wrong = f"#{number} is wrong"
    assert "another channel" in (await house.press(listed, wrong, channel="Q")).text
    secret = await house.said("zebra secret", channel="P", public=False)
    refused = await house.told("button", f"mark:1:{secret}:wrong")
    assert "There is no message" in refused.text
    await house.press(listed, wrong)
    await house.act("delete", "", message_id="m1")
    for kind in ("wrong", "outdated"):
        assert "was deleted" in (await house.press(listed, f"#{number} is {kind}")).text
    assert "Nothing found" in (await house.recall("zebra")).text
    assert await house.records.do(marks.marks_of, [number]) == {}
    for value in ("mark:1", "mark:1:2:3", "more:x:1", "recall:1", "recall:x:1"):
        assert "another version" in (await house.told("button", value)).text


async def test_a_direct_message_and_a_private_thread_stay_to_themselves(house: House) -> None:
    await house.said("zebra in the channel")
    alone = {"channel": "D", "root": "", "public": False, "direct": True}
    await house.said("zebra in private", **alone)
    inside = await house.recall("zebra", **alone)
    assert "zebra in private" in inside.text
    assert "in the channel" not in inside.text
    assert "1 message of this direct message" in inside.text
    assert await house.act("message", "!recall zebra", **alone) is None
    typed = (await house.records.do(messages.recent, 2, 1))[0].id
    shown = await house.told("button", f"recall:2:{typed}", **alone)
    assert "zebra in private" in shown.text

    await house.said("zebra of a few", root="apart", apart=True)
    few = await house.recall("zebra", root="apart", apart=True)
    assert "zebra of a few" in few.text
    assert "zebra in the channel" in few.text
    outside = await house.recall("zebra")
    assert "of a few" not in outside.text
    [label] = [b.label for b in few.buttons if b.label.endswith("is wrong")][:1]
    assert "another channel" in (await house.press(few, label)).text  # in its channel: not there


async def test_pages_are_turned_by_who_asked(house: House) -> None:
    numbers = [await house.said(unlike(n), root=f"r{n}", age_s=100 - n) for n in range(7)]
    first = await house.recall("zebra")
    assert sum(f"**#{n}**" in first.text for n in numbers) == 5
    [more] = [b.action for b in first.buttons if b.label == "More"]
    assert "not kept" in (await house.told("button", more, LEE)).text
    second = await house.told("button", more)
    assert sum(f"**#{n}**" in second.text for n in numbers) == 2
    assert "From the 6th on" in second.text
    assert "More" not in [b.label for b in second.buttons]
    assert all(f"**#{n}**" in first.text + second.text for n in numbers)
    assert all(len(b.action) <= 80 for b in first.buttons)
    # After a restart of Moot the list is gone.
    after = House(house.records)
    after.count = 1_000
    assert "ask again" in (await after.told("button", more)).text


async def test_the_question_of_a_button_is_as_it_reads_now(house: House) -> None:
    await house.said("zebra and horse")
    await house.act("message", "!recall zebra", mentions_us=True, message_id="q")
    asked = (await house.records.do(messages.recent, 1, 1))[0].id
    await house.act("edit", "so what?", message_id="q")
    assert "was changed" in (await house.told("button", f"recall:1:{asked}")).text
    await house.act("delete", "", message_id="q")
    assert "was deleted" in (await house.told("button", f"recall:1:{asked}")).text


async def test_words_of_others_are_literal_and_cut_around_what_was_asked(house: House) -> None:
    wild = "# <!channel> **b** `c` [x](http://a.test) \u202e" + "filler " * 300 + "the zebra"
    await house.said(f"{wild} ran\n\n> away\n- " + "tail " * 200)
    [excerpt] = [n for n in (await house.recall("zebra")).text.split("\n") if n.startswith("> ")]
    assert "the zebra ran \\> away" in excerpt
    assert excerpt.startswith("> … ")
    assert excerpt.endswith(" …")
    assert len(excerpt) < 400
    first = (await house.recall("filler channel")).text
    assert "\\# \\<\\!channel\\> \\*\\*b\\*\\*" in first
    assert "\u202e" not in first


async def test_what_memory_finds_by_meaning_is_shown_if_it_may_be_seen(house: House) -> None:
    horse = await house.said("the striped horse is late")
    secret = await house.said("a secret horse", channel="P", public=False)
    house.near = ((secret, 0.9), (horse, 0.8))
    reply = await house.recall("zebra delay")
    assert "striped horse" in reply.text
    assert "secret" not in reply.text
    assert "by words alone" not in reply.text
    house.near = ()
    assert "Nothing found" in (await house.recall("zebra delay")).text


async def test_no_more_than_can_be_paged_through(house: House) -> None:
    for n in range(MOST + 5):
        await house.said(unlike(n), root=f"r{n}")
    reply = await house.recall("zebra")
    pages = 1
    while any(b.label == "More" for b in reply.buttons):
        reply = await house.press(reply, "More")
        pages += 1
    assert pages == MOST // 5


async def test_marks_go_with_who_set_them_and_with_the_text_they_are_of(house: House) -> None:
    number = await house.said("zebra", LEE)
    await house.told("command", f"moot mark {number} wrong")
    await house.told("command", f"moot mark {number} stale", LEE)
    await house.records.do(forgetting.forget_person, "slack:U1", time.time(), 0.0)
    [left] = (await house.records.do(marks.marks_of, [number]))[number]
    assert (left.by, left.kind) == ("*Lee*", "stale")
    await house.act("edit", "a horse", LEE, message_id="m1")
    assert await house.records.do(marks.marks_of, [number]) == {}


async def test_why_something_is_marked_goes_with_what_was_typed(house: House) -> None:
    number = await house.said("zebra", LEE)
    await house.act("message", f"!mark {number} wrong it is a quagga", KIM, mentions_us=True)
    typed = f"m{house.count}"
    assert "quagga" in (await house.recall("zebra")).text
    await house.act("delete", "", message_id=typed)
    [left] = (await house.records.do(marks.marks_of, [number]))[number]
    assert (left.kind, left.note) == ("wrong", "")


async def test_why_is_not_told_beyond_the_private_place_where_it_was_typed(house: House) -> None:
    number = await house.said("zebra", LEE)
    await house.said("hello", channel="P", public=False)
    await house.said("hello", root="few", apart=True)
    for where in (
        {"channel": "P", "public": False},
        {"channel": "P", "public": None},
        {"channel": "new", "public": None},
        {"root": "few", "apart": True},
    ):
        told = await house.told("command", f"moot mark {number} wrong it is a quagga", **where)
        assert "Why is not kept" in told.text
        [mark] = (await house.records.do(marks.marks_of, [number]))[number]
        assert (mark.kind, mark.note) == ("wrong", "")
    secret = await house.said("a horse", channel="P", public=False)
    inside = {"channel": "P", "public": False}
    await house.told("command", f"moot mark {secret} wrong a mule", **inside)
    await house.told("command", f"moot mark {number} wrong a quagga", root="9")
    found = await house.records.do(marks.marks_of, [secret, number])
    assert [mark.note for (mark,) in found.values()] == ["a mule", "a quagga"]


async def test_half_a_character_neither_stops_a_message_nor_its_recall(house: House) -> None:
    cut = replace(KIM, name="K\ud83dim")
    await house.said("zebra \ud83d cut, \ud83e\udd93 whole", cut)
    found = await house.recall("zebra \udd93", cut)
    assert "K�im" in found.text
    assert "zebra � cut, 🦓 whole" in found.text


async def test_in_a_channel_that_others_share_only_itself_is_told(house: House) -> None:
    await house.said("zebra in the open")
    await house.said("zebra among friends", channel="S", public=False, shared=True)
    for shared in (True, None):
        found = await house.recall("zebra", channel="S", public=None, shared=shared, root="2")
        assert "among friends" in found.text
        assert "in the open" not in found.text
        assert "1 message of this channel " in found.text
    # A thread that begins there later is one, too, and so is what an agent is told in it.
    await house.act("command", "ask zebra?", channel="S", public=None, root="")
    later = await house.records.do(lambda: max(row.id for row in ConversationRow.select()))
    scene = await house.records.do(lambda: scene_of(later, project_channels=("*",)))
    assert not scope.is_wide(scene)
    assert "among friends" not in (await house.recall("zebra")).text
    # It is shared no more.
    await house.act("message", "hello", channel="S", public=True, shared=False)
    assert "in the open" in (await house.recall("zebra", channel="S", root="2")).text
