"""Files of ours on Discord: with the text, without the one that is refused, and never twice."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import ChatRefused, ChatUnsure
from core.model import OutFile
from tests.integration.discord.room import asked, post


def files(folder: Path, **sizes: int) -> tuple[OutFile, ...]:
    made: list[OutFile] = []
    for name, size in sizes.items():
        path = folder / name
        path.write_bytes(b"x" * size)
        made.append(OutFile(f"{name}.txt", path, size))
    return tuple(made)


async def test_files_are_attachments_of_the_message_itself(world, chat, ears, tmp_path):
    event = await asked(world, ears)
    await chat.post(event.key, post("first"))
    posted = await chat.post(event.key, post("answer", files=files(tmp_path, a=1, b=2)))
    _, message = [m for m in world.messages(event.key.root) if m.by_us and not m.system]
    assert (message.text, message.files, posted.lost) == ("answer", ("a.txt", "b.txt"), ())
    assert world.uploads.taken == [("a.txt", b"x"), ("b.txt", b"xx")]


async def test_what_is_too_large_is_named_and_the_rest_posted(world, chat, ears, tmp_path):
    event = await asked(world, ears)
    world.uploads.max_bytes = 10
    made = files(tmp_path, a=1, large=50, b=2, larger=60)
    posted = await chat.post(event.key, post("answer", files=made))
    (message,) = [m for m in world.messages(event.key.root) if m.by_us and not m.system]
    assert (message.text, message.files) == ("answer", ("a.txt", "b.txt"))
    assert sorted(name for name, _ in posted.lost) == ["large.txt", "larger.txt"]


async def test_more_than_ten_go_without_the_last(world, chat, ears, tmp_path):
    event = await asked(world, ears)
    made = files(tmp_path, **{f"f{n}": 1 for n in range(12)})
    posted = await chat.post(event.key, post("answer", files=made))
    assert [name for name, _ in posted.lost] == ["f10.txt", "f11.txt"]


async def test_without_the_right_to_attach_the_text_is_posted(world, chat, ears, tmp_path):
    event = await asked(world, ears)
    await chat.post(event.key, post("first"))
    path = f"/channels/{event.key.root}/messages"
    world.faults.refuse(403, 50013, "Missing Permissions", "POST", path)
    posted = await chat.post(event.key, post("answer", files=files(tmp_path, a=1)))
    assert world.posts(event.key.root)[-1] == "answer"
    assert [name for name, _ in posted.lost] == ["a.txt"]
    # Where the text is refused, too, it is no matter of the files.
    world.faults.refuse(403, 50013, "Missing Permissions", "POST", path, times=2)
    with pytest.raises(ChatRefused):
        await chat.post(event.key, post("again", files=files(tmp_path, b=1)))


async def test_a_file_that_cannot_be_read_is_named_and_the_text_posted(world, chat, ears, tmp_path):
    """No further try would help: the text must not wait for it."""
    event = await asked(world, ears)
    await chat.post(event.key, post("first"))
    there, gone = files(tmp_path, a=1, gone=2)
    gone.path.unlink()
    posted = await chat.post(event.key, post("answer", files=(there, gone)))
    _, message = [m for m in world.messages(event.key.root) if m.by_us and not m.system]
    assert (message.text, message.files) == ("answer", ("a.txt",))
    assert [name for name, _ in posted.lost] == ["gone.txt"]
    posted = await chat.post(event.key, post("alone", files=(gone,)))
    assert world.posts(event.key.root)[-1] == "alone"
    assert [name for name, _ in posted.lost] == ["gone.txt"]


async def test_a_lost_reply_shows_nothing_twice(world, chat, ears, tmp_path):
    event = await asked(world, ears)
    await chat.post(event.key, post("first"))
    answer = post("answer", files=files(tmp_path, a=1))
    world.faults.lose_reply()
    at = time.time()
    with pytest.raises(ChatUnsure):
        await chat.post(event.key, answer)
    world.rest.forget_nonces()
    posted = await chat.post(event.key, replace(answer, tried_at=at))
    assert posted.lost == ()
    assert world.posts(event.key.root) == ["first", "answer"]
