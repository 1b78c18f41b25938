"""The console's room: durable, ordered, never the same post twice; and what may be typed in it."""

from __future__ import annotations

import asyncio
import os

import pytest

from adapters.console.ledger import FIRST_CHANNEL, Change
from adapters.console.look import voice
from adapters.console.render import clean, render, render_plain, split_label
from adapters.console.room import NoSuchPlace, Room
from adapters.console.typed import Command, Leave, NewChannel, Words, read_line
from core.errors import AlreadyRunning, BadInput, BadSettings
from core.model import Button

G = FIRST_CHANNEL
STOP = (Button("stop:1", "Stop", "danger"),)


async def test_all_is_there_again_after_a_restart(tmp_path):
    async with Room(tmp_path) as room:
        await room.add_channel("Design Talk")
        said = await room.say(G, "", "kim", "왜 느린가요?\n둘째 줄 \U0001f468‍\U0001f469")
        posted = await room.post(G, said.root, "Moot", "first", nonce="n1", buttons=STOP)
        gone = await room.post(G, said.root, "Moot", "status", nonce="n2")
        await room.edit(posted.message_id, "second")
        await room.edit(posted.message_id, "third", ())
        await room.delete(gone.message_id)
        await room.mark_taken(said.id)
        before = (room.channels, room.threads(G), room.thread(said.root), room.untaken())
    async with Room(tmp_path) as again:
        assert before == (again.channels, again.threads(G), again.thread(said.root), ())
        assert again.channels == (G, "design-talk")
        texts = [(m.author, m.text, m.buttons) for m in again.thread(said.root)]
        assert texts == [
            ("kim", "왜 느린가요?\n둘째 줄 \U0001f468‍\U0001f469", ()),
            ("Moot", "third", ()),
        ]


async def test_a_known_nonce_gives_the_message_that_is_there(tmp_path):
    async with Room(tmp_path) as room:
        posts = [room.post(G, "", "Moot", "once", nonce="same") for _ in range(5)]
        results = await asyncio.gather(*posts)
    assert len(set(results)) == 1
    async with Room(tmp_path) as room:
        assert await room.post(G, "", "Moot", "once", nonce="same") == results[0]
        assert len(room.thread(results[0].root)) == 1


@pytest.mark.parametrize("torn", [b'{"op":"post","id":"17', b"\xff\xfe\x00", b'{"op":"delete"}'])
async def test_a_torn_last_line_costs_only_itself(tmp_path, torn):
    async with Room(tmp_path) as room:
        said = await room.say(G, "", "kim", "kept")
    with (tmp_path / "room.jsonl").open("ab") as out:
        out.write(torn)
    async with Room(tmp_path) as room:
        assert [m.text for m in room.thread(said.root)] == ["kept"]
        await room.say(G, said.root, "kim", "after")
    async with Room(tmp_path) as room:
        assert [m.text for m in room.thread(said.root)] == ["kept", "after"]


async def test_a_folder_that_cannot_be_used_is_told_with_the_setting_to_change(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadSettings, match=r"\[storage\] dir"):
        await Room(tmp_path / "file" / "room").open()


async def test_one_process_at_a_time(tmp_path):
    async with Room(tmp_path) as room:
        with pytest.raises(AlreadyRunning):
            await Room(tmp_path).open()
        await room.say(G, "", "kim", "still mine")
    async with Room(tmp_path):
        pass


async def test_a_bad_line_in_the_middle_costs_only_itself(tmp_path):
    async with Room(tmp_path) as room:
        said = await room.say(G, "", "kim", "kept")
    with (tmp_path / "room.jsonl").open("ab") as out:
        out.write(b'not json\n[1]\n{"op":"post"}\n{"op":"dance"}\n')
    async with Room(tmp_path) as room:
        await room.say(G, said.root, "kim", "after")
        assert [m.text for m in room.thread(said.root)] == ["kept", "after"]


async def test_ids_grow_and_are_not_given_twice_even_when_the_last_one_is_deleted(tmp_path):
    async with Room(tmp_path) as room:
        said = await asyncio.gather(*(room.say(G, "", "kim", str(n)) for n in range(20)))
        ids = [m.id for m in said]
        assert ids == sorted(set(ids), key=int)
        await room.delete(ids[-1])
    async with Room(tmp_path) as room:
        assert int((await room.say(G, "", "kim", "next")).id) > int(ids[-1])


async def test_a_failed_write_changes_nothing_and_the_room_goes_on(tmp_path, monkeypatch):
    async with Room(tmp_path) as room:
        said = await room.say(G, "", "kim", "before")
        real, calls = os.write, []

        def full(fd, data):
            calls.append(len(data))
            if len(calls) == 1:
                return real(fd, data[:10])  # half a line, then no space
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            await room.say(G, said.root, "kim", "lost")
        monkeypatch.undo()
        assert [m.text for m in room.thread(said.root)] == ["before"]
        await room.say(G, said.root, "kim", "after")
    async with Room(tmp_path) as room:
        assert [m.text for m in room.thread(said.root)] == ["before", "after"]


async def test_a_cancelled_writer_leaves_memory_and_file_alike(tmp_path):
    async with Room(tmp_path) as room:
        task = asyncio.create_task(room.say(G, "", "kim", "hurried"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await room.say(G, "", "kim", "next")
        seen = [m.text for root in room.threads(G) for m in room.thread(root)]
    async with Room(tmp_path) as room:
        assert seen == [m.text for root in room.threads(G) for m in room.thread(root)]


async def test_watchers_are_told_in_order(tmp_path):
    changes: list[Change] = []
    async with Room(tmp_path) as room:
        unwatch = room.watch(changes.append)
        said = await room.say(G, "", "kim", "hi")
        await room.edit(said.id, "hello")
        await room.mark_taken(said.id)
        await room.delete(said.id)
        await room.add_channel("design")
        await room.add_channel("design")
        unwatch()
        await room.say(G, "", "kim", "unseen")
    assert [c.kind for c in changes] == ["posted", "edited", "deleted", "channel"]
    assert changes[1].message is not None
    assert changes[1].message.text == "hello"


async def test_a_long_history_of_edits_is_forgotten_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr("adapters.console.room._SPARE_RECORDS", 20)
    async with Room(tmp_path) as room:
        await room.add_channel("design")
        header = await room.post(G, "", "Moot", "header", nonce="h")
        reply = await room.post(G, header.root, "Moot", "0", nonce="r")
        for n in range(60):
            await room.edit(reply.message_id, str(n))
        await room.delete(header.message_id)
    async with Room(tmp_path) as room:
        before = (room.channels, room.thread(header.root), room.has_thread(G, header.root))
        assert len((tmp_path / "room.jsonl").read_bytes().splitlines()) == 3
        assert (await room.post(G, header.root, "Moot", "0", nonce="r")) == reply
        await room.say(G, header.root, "kim", "on")
    async with Room(tmp_path) as room:
        assert room.thread(header.root)[:-1] == before[1]
        assert (room.channels, room.has_thread(G, header.root)) == (before[0], True)


async def test_unknown_places_are_told(tmp_path):
    async with Room(tmp_path) as room:
        said = await room.say(G, "", "kim", "hi")
        await room.add_channel("other")
        for channel, root in (("nowhere", ""), (G, "42"), ("other", said.root)):
            with pytest.raises(NoSuchPlace):
                await room.say(channel, root, "kim", "lost")
        with pytest.raises(NoSuchPlace):
            await room.edit("42", "x")
        await room.delete("42")


@pytest.mark.parametrize("name", ["", "  ", "../x", "a/b", "-x", "x" * 41, "a\x1b[31m", "\u202ex"])
async def test_what_cannot_be_a_channel(tmp_path, name):
    async with Room(tmp_path) as room:
        with pytest.raises(BadInput):
            await room.add_channel(name)


@pytest.mark.parametrize(
    ("name", "kept"), [("#General", G), ("디자인", "디자인"), ("API v2", "api-v2")]
)
async def test_what_a_channel_is_called(tmp_path, name, kept):
    async with Room(tmp_path) as room:
        assert await room.add_channel(name) == kept
        assert kept in room.channels


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("why?", Words("why?")),
        ("  !rt topic ", Words("!rt topic")),
        ("/etc/hosts is odd", Words("/etc/hosts is odd")),
        ("/", Words("/")),
        ("/ask why?\nreally", Command("ask", "why?\nreally")),
        ("/ASK\nwhy", Command("ask", "why")),
        ("/rt SQL?", Command("roundtable", "SQL?")),
        ("/moot rt SQL?", Command("roundtable", "SQL?")),
        ("/moot", Command("moot", "")),
        ("/moot plan new A\n- b", Command("moot", "plan new A\n- b")),
        ("/stop", Command("stop", "")),
        ("/allow 1", Command("moot", "allow 1")),
        ("/Deny 4 not\nhere", Command("moot", "Deny 4 not\nhere")),
        ("/resume", Command("moot", "resume")),
        ("/moot allow 1", Command("moot", "allow 1")),
        ("/frobnicate it", Command("moot", "frobnicate it")),
        ("/2 is odd", Words("/2 is odd")),
        ("// is a comment", Words("// is a comment")),
        ("/channel Design Talk", NewChannel("Design Talk")),
        ("/quit", Leave()),
    ],
)
def test_what_was_typed(text, typed):
    assert read_line(text) == typed


# --- rendering -----------------------------------------------------------------------------

_ESC = "\x1b"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (f"{_ESC}[31mred{_ESC}[0m", "red"),
        (f"{_ESC}]0;title\x07after", "after"),
        (f"{_ESC}]8;;https://evil.test{_ESC}\\link{_ESC}]8;;{_ESC}\\", "link"),
        (f"{_ESC}]52;c;cGF5bG9hZA=={_ESC}\\x", "x"),
        (f"{_ESC}Pq#0{_ESC}\\x", "x"),
        (f"{_ESC}cx{_ESC}", "x"),
        ("\x9b31mx", "x"),
        ("a\x00\x07\x08\x7f\x85b", "ab"),
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("\u202eevil\u2066", "evil"),
        ("half \ud83d.", "half \ufffd."),
        ("한글 👨‍👩‍👧 é [b]x[/b] :smile:", "한글 👨‍👩‍👧 é [b]x[/b] :smile:"),
    ],
)
def test_nothing_a_terminal_would_obey(text, cleaned):
    assert clean(text) == cleaned
    assert clean(clean(text)) == cleaned


def test_an_unfinished_escape_hides_nothing_dangerous():
    for text in (f"{_ESC}[", f"{_ESC}]0;never ends", f"x{_ESC}[12", f"{_ESC}{_ESC}[1mz"):
        assert _ESC not in clean(text)


def test_one_piece_under_the_speakers_name():
    (text,) = render("**한글**은 좋다\n\n- a", "architect (claude)")
    assert split_label(text) == ("architect (claude)", "**한글**은 좋다\n\n- a")
    assert split_label(render("plain")[0]) == ("", "plain")
    assert render(" \n\u200b\x1b[0m") == ()


def test_nobody_can_speak_under_another_name():
    (text,) = render("boss\u2063\ndo as I say", "critic\u2063\nx")
    assert split_label(text) == ("critic x", "boss\ndo as I say")
    assert split_label(render("boss\u2063\nhello")[0])[0] == ""


def test_a_very_long_answer_is_cut_between_lines_and_code_stays_code():
    code = "\n".join(f"line_{n} = {n}" for n in range(400))
    prose = "\n\n".join(f"Paragraph {n} with **bold** words. " * 3 for n in range(60))
    pieces = render(f"{prose}\n\n```python\n{code}\n```\n\nEnd.", "codex", limit=2_000)
    assert len(pieces) > 3
    assert all(len(piece) <= 2_000 for piece in pieces)
    bodies = [split_label(piece)[1] for piece in pieces]
    assert split_label(pieces[1])[0] == f"codex (2/{len(pieces)})"
    assert all(body.count("```") % 2 == 0 for body in bodies)
    joined = "\n".join(bodies)
    for n in range(400):
        assert f"line_{n} = {n}\n" in joined
    assert bodies[-1].endswith("End.")
    one_line = render("긴" * 50_000)
    assert "".join(one_line) == "긴" * 50_000
    assert all(len(piece) <= 20_000 for piece in one_line)


def test_a_fence_that_is_never_closed_loses_no_line():
    pieces = render("```\n" + "\n".join(f"l{n}." for n in range(500)), limit=500)
    joined = "\n".join(pieces)
    assert all(f"l{n}." in joined for n in range(500))
    assert all(piece.startswith("```\n") and piece.endswith("\n```") for piece in pieces)


def test_plain_output():
    (text,) = render(
        "# Why\n\n**한글**은 [a](https://x.test) `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |", "x"
    )
    assert render_plain(text).startswith("# Why\n\n**한글**은")
    laid_out = render_plain(text, 60)
    assert "한글은 a (https://x.test) code" in laid_out
    assert "**" not in laid_out
    assert _ESC not in laid_out


def test_the_shipped_personas_have_colours_of_their_own():
    names = ("architect", "developer", "critic", "reviewer", "synthesizer")
    assert len({voice(name) for name in names}) == len(names)
    assert voice("누구") == voice("누구")
