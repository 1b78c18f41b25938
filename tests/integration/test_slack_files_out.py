"""Files of ours on Slack: shared below their text, looked for before they are shared again."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.slack.chat import SlackChat, SlackConfig
from core.errors import ChatUnsure
from core.model import ConversationKey, OutFile, Post
from tests.peers.slack import GENERAL, TEAM, Fault, LoopbackSlack

pytestmark = pytest.mark.peers
UPLOAD, SHARE = "files.getUploadURLExternal", "files.completeUploadExternal"


@pytest.fixture
async def slack() -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack() as running_slack:
        yield running_slack


@pytest.fixture
def chat(slack) -> SlackChat:
    return SlackChat(SlackConfig(bot_token=slack.bot_token, api_url=slack.api_url.rstrip("/")))


@pytest.fixture
def answer(tmp_path: Path) -> Post:
    made: list[OutFile] = []
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
        made.append(OutFile(name, tmp_path / name, len(name)))
    return Post("n1", "answer", files=tuple(made))


async def shown(slack: LoopbackSlack, root: str) -> list[str]:
    """Texts and files of ours in the thread, in order."""
    found: list[str] = []
    for seen in await slack.answers(root):
        found += [seen.text] if seen.text else []
        found += [file["name"] for file in seen.raw.get("files") or ()]
    return found


async def test_files_stand_below_their_text_in_the_thread(slack, chat, answer) -> None:
    root = await slack.say("q")
    key = ConversationKey("slack", TEAM, GENERAL, root)
    posted = await chat.post(key, answer)
    await chat.post(key, Post("n2", "next"))
    assert await shown(slack, root) == ["answer", "a.txt", "b.txt", "next"]
    assert posted.lost == ()


async def test_what_is_refused_is_named_and_the_rest_shared(slack, chat, answer) -> None:
    root = await slack.say("q")
    key = ConversationKey("slack", TEAM, GENERAL, root)
    body = {"ok": False, "error": "file_upload_size_restricted"}
    slack.api.faults.append(Fault(UPLOAD, body=body, match=lambda a: a["filename"] == "a.txt"))
    posted = await chat.post(key, answer)
    assert await shown(slack, root) == ["answer", "b.txt"]
    assert [name for name, _ in posted.lost] == ["a.txt"]
    missing = {"ok": False, "error": "missing_scope", "needed": "files:write"}
    slack.api.faults.append(Fault(SHARE, body=missing))
    posted = await chat.post(key, replace(answer, nonce="n2"))
    assert [name for name, _ in posted.lost] == ["a.txt", "b.txt"]
    assert "files:write" in posted.lost[0][1]


async def test_a_limit_is_waited_for_and_a_lost_reply_shows_nothing_twice(
    slack, chat, answer
) -> None:
    root = await slack.say("q")
    key = ConversationKey("slack", TEAM, GENERAL, root)
    body = {"ok": False, "error": "ratelimited"}
    slack.api.faults.append(Fault(UPLOAD, status=429, body=body, headers={"Retry-After": "0"}))
    slack.api.faults.append(Fault(SHARE, takes_effect=True, cut=True))
    slack.api.faults.append(Fault("files.info", cut=True))
    at = time.time()
    with pytest.raises(ChatUnsure):
        await chat.post(key, answer)
    posted = await chat.post(key, replace(answer, tried_at=at))
    assert await shown(slack, root) == ["answer", "a.txt", "b.txt"]
    assert posted.lost == ()


async def test_a_share_whose_reply_was_lost_is_waited_for_at_once(slack, chat, answer) -> None:
    """Slack shares in its own time: a later call could look too early, and share twice."""
    root = await slack.say("q")
    slack.api.faults.append(Fault(SHARE, takes_effect=True, cut=True))
    # Not in sight yet.
    slack.api.faults.append(Fault("files.info", body={"ok": True, "file": {"id": "F1"}}))
    posted = await chat.post(ConversationKey("slack", TEAM, GENERAL, root), answer)
    assert posted.lost == ()
    assert await shown(slack, root) == ["answer", "a.txt", "b.txt"]


async def test_without_the_scope_it_takes_no_files(slack, chat) -> None:
    assert chat.limits.file_bytes > 10**8
    slack.api.scopes = "chat:write,files:read"
    root = await slack.say("q")
    await chat.post(ConversationKey("slack", TEAM, GENERAL, root), Post("n1", "x"))
    assert chat.limits.file_bytes == 0
