"""The whole product, as a process of its own, through a loopback Discord and real discord.py."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.e2e.product import Product
from tests.peers.discord import LoopbackDiscord

pytestmark = pytest.mark.peers


def settings(world: LoopbackDiscord, **more):
    return {
        "discord": {
            "enabled": True,
            "api_url": world.api_url,
            "gateway_url": world.gateway_url,
        },
        "access": {"allow": [f"discord:{world.alice.id}"]},
        "engines": {"default": "rehearsal"},
        **more,
    }


def env(world: LoopbackDiscord) -> dict[str, str]:
    return {"MOOT__DISCORD__TOKEN": world.token}


@pytest.fixture
async def moot(world: LoopbackDiscord, tmp_path: Path):
    async with Product(tmp_path, settings(world), env(world)) as product:
        await product.start("discord")
        yield product


async def standing(world: LoopbackDiscord, place: str, count: int) -> list[str]:
    """Our posts once there are ``count`` of them and no status message."""

    def there() -> bool:
        texts = world.posts(place)
        return len(texts) == count and not any("⏳" in text for text in texts)

    await world.until(there, 90, f"{count} posts of ours in {place}")
    return world.posts(place)


async def whole_answer(world: LoopbackDiscord, place: str) -> str:
    """All our posts as one text, once the status message is gone."""

    def there() -> bool:
        texts = world.posts(place)
        return bool(texts) and not any("⏳" in text for text in texts)

    await world.until(there, 90, f"the answer in {place}")
    return "\n".join(world.posts(place))


async def opened_thread(world: LoopbackDiscord) -> str:
    await world.until(lambda: world.threads(), 30, "a thread")
    return world.threads()[-1]


def alive(pid: int) -> bool:
    try:
        with Path(f"/proc/{pid}/stat").open() as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_mention_becomes_a_threaded_answer_and_a_reply_follows_up(world, moot):
    root = world.alice.ask(world.channel, "why is the build red?")
    [answer] = await standing(world, root, 1)
    assert "why is the build red?" in answer
    assert world.posts(world.channel) == []
    assert "why is the build red?" in world.thread_name(root)
    world.alice.say(root, "and the <tests> & *more*?")
    _, second = await standing(world, root, 2)
    assert "tests" in second
    assert "more" in second


async def test_that_there_is_no_agent_is_said_at_the_start(world: LoopbackDiscord, tmp_path: Path):
    bare = {**env(world), "PATH": "/nowhere", "OLLAMA_HOST": "http://127.0.0.1:9"}
    async with Product(tmp_path, settings(world, engines={}), bare) as product:
        await product.start("discord")
        [said] = product.logged("engine.none")
        assert "moot engines" in said["fix"]


async def test_nothing_is_said_about_voice(moot: Product):
    assert not [line for line in moot.lines if "voice" in line]


async def test_an_event_that_comes_again_makes_one_turn(world, moot):
    world.gateway.duplicate = 2
    root = world.alice.ask(world.channel, "once?")
    await standing(world, root, 1)
    world.alice.say(root, "more")
    await standing(world, root, 2)
    assert world.gateway.duplicate == 0
    assert len(moot.logged("turn.queued")) == 2


async def test_a_stranger_is_told_whom_to_add_and_a_bot_is_ignored(world, moot):
    root = world.bob.ask(world.channel, "let me in")
    [note] = await standing(world, root, 1)
    assert f"discord:{world.bob.id}" in note
    ci = world.person("ci", bot=True)
    ci.ask(world.channel, "loop")
    last = world.alice.ask(world.channel, "still there?")
    await standing(world, last, 1)
    assert len(moot.logged("turn.queued")) == 1


async def test_a_direct_message_works(world, moot):
    world.alice.write("hello there")
    [answer] = await standing(world, world.alice.dm, 1)
    assert "hello there" in answer
    world.alice.write("and again")
    assert "and again" in (await standing(world, world.alice.dm, 2))[1]


async def test_ask_opens_a_thread_and_answers_privately(world, moot):
    asked = world.alice.slash(world.channel, "ask", question="why so red?", persona="critic")
    note = await asked.answer()
    assert note.ephemeral
    assert "in the thread" in note.text
    thread = await opened_thread(world)
    [answer] = await standing(world, thread, 1)
    assert "critic" in answer
    assert "why so red?" in answer
    [header] = world.posts(world.channel)
    assert "Alice" in header
    assert "why so red?" in header
    world.alice.say(thread, "a follow-up")
    assert "a follow-up" in (await standing(world, thread, 2))[1]


async def test_ask_in_a_thread_answers_there(world, moot):
    root = world.alice.ask(world.channel, "first")
    await standing(world, root, 1)
    world.alice.slash(root, "ask", question="second?")
    await world.message(root, lambda m: "second?" in m.text and "asked" in m.text)
    assert len(world.threads()) == 1


async def test_a_wrong_option_is_explained_to_the_asker_only(world, moot):
    asked = world.alice.slash(world.channel, "ask", question="x", engine="nonesuch")
    note = await asked.answer()
    assert note.ephemeral
    assert "nonesuch" in note.text
    assert world.threads() == []


async def test_roundtable_with_options(world, moot):
    asked = world.alice.slash(
        world.channel,
        "roundtable",
        topic="SQL or files?",
        participants="architect:rehearsal, critic:rehearsal",
        rounds=1,
    )
    assert "in the thread" in (await asked.answer()).text
    thread = await opened_thread(world)
    first, second, summed_up, votes = await standing(world, thread, 4)
    assert "synthesis" in summed_up.split("\n")[0]
    assert "Positions" in votes
    assert "architect" in first.split("\n")[0]
    assert "critic" in second.split("\n")[0]
    await moot.event("turn.ended", state="done")
    await world.until(lambda: "complete" in world.posts(world.channel)[0], 10, "the header")
    assert "SQL or files?" in world.posts(world.channel)[0]


async def test_status_and_context(world, moot):
    root = world.alice.ask(world.channel, "first question")
    await standing(world, root, 1)
    await moot.event("turn.ended")
    receipt = await world.alice.slash(root, "context").answer()
    assert receipt.ephemeral
    assert "platform-rules" in receipt.text
    run = moot.logged("run.closed")[0]["run"]
    again = await world.alice.slash(root, "context", run=run[:6]).answer()
    assert run[:6] in again.text
    assert "Nothing runs or waits" in (await world.alice.slash(root, "status").answer()).text
    world.alice.say(root, "long @@rehearse hang@@")
    await moot.event("turn.claimed", turn=2)
    assert "running" in (await world.alice.slash(root, "status").answer()).text
    assert "running" in (await world.alice.slash(world.channel, "status").answer()).text
    world.alice.slash(root, "stop")
    await moot.event("turn.ended", state="cancelled")


async def test_stop_in_a_thread_stops_that_conversation_only(world, moot):
    one = world.alice.ask(world.channel, "one @@rehearse hang@@")
    other = world.alice.ask(world.channel, "other @@rehearse hang@@")
    for thread in (one, other):
        await world.message(thread, "is working")
    note = await world.alice.slash(one, "stop").answer()
    assert note.ephemeral
    ended = await moot.event("turn.ended")
    assert (ended["turn"], ended["state"]) == (1, "cancelled")
    await standing(world, one, 1)
    assert not moot.logged("turn.ended", turn=2)
    world.alice.say(other, "!stop")
    await moot.event("turn.ended", turn=2, state="cancelled")
    assert "Stopped by" in (await standing(world, other, 1))[0]


async def test_stop_at_channel_level_asks_which(world, moot):
    root = world.alice.ask(world.channel, "long one @@rehearse hang@@")
    await moot.event("run.spawned")
    note = await world.alice.slash(world.channel, "stop").answer()
    assert note.ephemeral
    assert "Which one" in note.text
    [(action, _)] = note.buttons
    world.alice.click(note, action)
    await moot.event("turn.ended", state="cancelled")
    await world.message(root, "Stopped by")


async def test_a_roundtable_of_three_personas_two_rounds(world, moot):
    root = world.alice.ask(
        world.channel,
        "roundtable: SQL or files? "
        "--with architect:rehearsal,critic:rehearsal,developer:rehearsal --rounds 2",
    )
    texts = await standing(world, root, 9)  # the header, six answers, synthesis and positions
    await moot.event("turn.ended", state="done")
    speakers = [text.split("\n")[0] for text in texts[1:7]]
    for line, name in zip(speakers, ["architect", "critic", "developer"] * 2, strict=True):
        assert name in line
    assert all("round 1/2" in s for s in speakers[:3])
    assert all("round 2/2" in s for s in speakers[3:])

    def complete() -> bool:
        header = world.posts(root)[0]
        return "complete" in header and header.count("✅") == 7

    await world.until(complete, 20, "the header to say complete")
    header = next(m for m in world.messages(root) if m.by_us and not m.system)
    assert header.buttons == ()


async def test_a_pull_is_shown_small_and_followed_by_the_answer(world, moot):
    root = world.alice.ask(world.channel, "We chose JWT because of the mobile app.")
    await standing(world, root, 1)
    world.alice.say(root, 'why JWT? @@rehearse text="Let me look." pull="memory: JWT mobile"@@')
    texts = await standing(world, root, 4)
    assert "Let me look." in texts[1]
    assert "memory" in texts[2]
    assert "found" in texts[2]
    assert not any("<!--" in text for text in texts)
    assert len(moot.logged("run.closed")) == 3


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
async def test_stop_ends_the_whole_tree_within_five_seconds(world, moot):
    root = world.alice.ask(world.channel, "long @@rehearse stubborn setsid=600 child=600 hang@@")
    spawned = await moot.event("run.spawned")
    status = await world.message(root, "is working")
    began = time.monotonic()
    world.alice.click(status, label="Stop")
    await moot.event("run.exited")
    assert time.monotonic() - began < 5.5
    await moot.event("turn.ended", state="cancelled")
    assert not alive(spawned["pid"])
    assert [p for p in Path("/proc").glob("[0-9]*") if _marked(p, spawned["run"])] == []
    [note] = await standing(world, root, 1)
    assert "Stopped by" in note


def _marked(process: Path, run: str) -> bool:
    try:
        return f"MOOT_RUN={run}".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


async def test_a_failing_engine_is_explained_and_retried(world, moot):
    root = world.alice.ask(world.channel, "try @@rehearse fail=quota@@")
    notice = await world.message(root, "quota")
    assert "3:40 PM" in notice.text
    await moot.event("turn.ended", state="failed")
    asked = world.alice.click(notice, label="Retry")
    assert "Trying again" in (await asked.answer()).text
    await moot.event("turn.ended", turn=2, state="failed")


async def test_kill_between_event_and_answer_then_restart(world, moot):
    root = world.alice.ask(world.channel, "slow @@rehearse sleep=3@@")
    pid = (await moot.event("run.spawned"))["pid"]
    await moot.kill()
    await moot.start("discord")
    [answer] = await standing(world, root, 1)
    assert "slow" in answer
    assert not alive(pid)
    assert len(moot.logged("run.cut")) == 1


async def test_a_post_whose_reply_was_lost_is_seen_once(world, moot):
    world.faults.lose_reply(times=2)
    root = world.alice.ask(world.channel, "lost?")
    await standing(world, root, 1)
    await moot.event("turn.ended")
    await moot.event("post.marked", kind="answer")
    assert len(world.posts(root)) == 1


async def test_rate_limits_delay_and_lose_nothing(world, moot):
    world.faults.rate_limit(0.5, times=2)
    root = world.alice.ask(world.channel, "busy?")
    await standing(world, root, 1)


async def test_a_mention_in_an_old_thread_reads_it_once(world, tmp_path):
    starter = world.bob.say(world.channel, "build 41 failed: out of disk")
    thread = world.bob.open_thread(world.channel, "build 41", starter)
    world.bob.say(thread, "that is the third time")
    async with Product(tmp_path, settings(world), env(world)) as product:
        await product.start("discord")
        world.alice.ask(thread, 'why? @@rehearse show="context"@@')
        await product.event("turn.ended")
        shown = await whole_answer(world, thread)
        assert "build 41 failed: out of disk" in shown
        assert "that is the third time" in shown


async def test_an_old_thread_whose_starter_was_deleted_is_read_all_the_same(world, tmp_path):
    starter = world.bob.say(world.channel, "build 41 failed: out of disk")
    thread = world.bob.open_thread(world.channel, "build 41", starter)
    world.bob.say(thread, "that is the third time")
    world.bob.delete(world.channel, starter)
    async with Product(tmp_path, settings(world), env(world)) as product:
        await product.start("discord")
        world.alice.ask(thread, 'why? @@rehearse show="context"@@')
        await product.event("turn.ended", state="done")
        shown = await whole_answer(world, thread)
        assert "that is the third time" in shown
        assert "out of disk" not in shown
        assert "The message that began this thread is gone" in shown


async def test_an_archived_thread_wakes(world, moot):
    root = world.alice.ask(world.channel, "slow @@rehearse sleep=2@@")
    status = await world.message(root, "is working")
    world.archive(root)
    texts = await standing(world, root, 1)
    assert "slow" in texts[0]
    await moot.event("turn.ended", state="done")
    assert status.id not in [m.id for m in world.messages(root)]
    world.archive(root)
    world.alice.say(root, "awake?")
    await standing(world, root, 2)


async def test_a_long_answer_arrives_whole_and_in_order(world, moot):
    root = world.alice.ask(world.channel, "many @@rehearse lines=1500@@")
    text = await whole_answer(world, root)
    places = [text.find(f"line {n}\n") for n in range(1, 1500)]
    assert -1 not in places
    assert places == sorted(places)
    assert "line 1500" in text
    assert len(world.posts(root)) > 3
    assert all(len(post.encode("utf-16-le")) // 2 <= 2_000 for post in world.posts(root))


async def test_korean(world, moot):
    question = "빌드가 왜 빨간색이야? 자세히 설명해 줘 👩‍💻"
    root = world.alice.ask(world.channel, question)
    [answer] = await standing(world, root, 1)
    assert question in answer
    note = await world.alice.slash(world.channel, "ask", question="한국어로 묻는다").answer()
    assert note.ephemeral
    await world.until(lambda: len(world.threads()) == 2, 20, "the second thread")
    assert "한국어로 묻는다" in (await standing(world, world.threads()[-1], 1))[0]


async def test_a_lost_connection_loses_no_question(world, moot):
    await world.gateway.disconnect()
    root = world.alice.ask(world.channel, "meanwhile?")
    await standing(world, root, 1)
    assert world.gateway.resumes == 1


async def test_a_question_asked_during_a_restart_is_answered(world, moot):
    before = world.alice.ask(world.channel, "before?")
    await standing(world, before, 1)
    world.alice.write("directly")
    await standing(world, world.alice.dm, 1)
    await moot.stop()
    world.alice.say(before, "and a follow-up?")
    during = world.alice.ask(world.channel, "during?")
    world.alice.write("and meanwhile?")
    await moot.start("discord")
    assert "during?" in (await standing(world, during, 1))[0]
    assert "and a follow-up?" in (await standing(world, before, 2))[1]
    assert "and meanwhile?" in (await standing(world, world.alice.dm, 2))[1]
    assert len(moot.logged("turn.queued")) == 3  # what was heard before is no news


async def test_a_refused_token_is_called_by_its_name(world, tmp_path):
    refused = {"MOOT__DISCORD__TOKEN": world.token + "x"}
    async with Product(tmp_path, settings(world), refused) as product:
        await product.start()
        assert await product.ended() == 2
        assert "refuses the token" in product.lines[-1]
