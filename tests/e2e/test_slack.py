"""The whole product, as a process of its own, through a loopback Slack and real slack-bolt."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.product import MOOT, Product
from tests.peers.slack import ALICE, BOB, GENERAL, LoopbackSlack

pytestmark = pytest.mark.peers


def settings(slack: LoopbackSlack, **more):
    return {
        "slack": {"enabled": True, "api_url": slack.api_url},
        "access": {"allow": [f"slack:{ALICE}"]},
        "engines": {"default": "rehearsal"},
        **more,
    }


@pytest.fixture
async def moot(slack: LoopbackSlack, tmp_path: Path):
    async with Product(tmp_path, settings(slack), slack.env()) as product:
        await product.start("slack")
        yield product


async def standing(slack: LoopbackSlack, root: str, count: int) -> list[str]:
    """The thread once it holds ``count`` of our posts and no status message."""

    async def found():
        texts = [seen.text for seen in await slack.answers(root)]
        return texts if len(texts) == count and not any("⏳" in t for t in texts) else None

    return await slack.wait(found, f"{count} posts of ours in {root}", 90)


async def whole_answer(slack: LoopbackSlack, root: str) -> str:
    """All our posts of a thread as one text, once the status message is gone."""

    async def found():
        texts = [seen.text for seen in await slack.answers(root)]
        return "\n".join(texts) if texts and not any("⏳" in t for t in texts) else None

    return await slack.wait(found, f"the answer in {root}", 90)


def alive(pid: int) -> bool:
    try:
        with Path(f"/proc/{pid}/stat").open() as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_mention_becomes_a_threaded_answer_and_a_reply_follows_up(slack, moot):
    root = await slack.mention("why is the build red?")
    [answer] = await standing(slack, root, 1)
    assert "why is the build red?" in answer
    await slack.say("and the &lt;tests&gt; &amp; more?", thread=root)
    _, second = await standing(slack, root, 2)
    assert "and the &lt;tests&gt; &amp; more?" in second
    assert await slack.answers(root, GENERAL) == [
        seen for seen in await slack.seen() if seen.user == "U0BOT"
    ]


async def test_an_event_that_comes_again_makes_one_turn(slack, moot):
    slack.events.duplicate = True
    root = await slack.mention("once?")
    await standing(slack, root, 1)
    await slack.say("more", thread=root)
    await standing(slack, root, 2)
    assert len(moot.logged("turn.queued")) == 2
    nonces = [
        call.args["metadata"]["event_payload"]["nonce"] for call in slack.calls("chat.postMessage")
    ]
    assert len(nonces) == len(set(nonces))


async def test_a_stranger_is_told_whom_to_add_and_a_bot_is_ignored(slack, moot):
    await slack.mention("let me in", user=BOB)

    async def told():
        notes = [m.text for m in await slack.seen(by=BOB) if m.only_for == BOB]
        return notes or None

    [note] = await slack.wait(told, "a word for Bob alone")
    assert f"slack:{BOB}" in note
    assert "[access] allow" in note
    await slack.other_bot("<@U0BOT> loop")
    last = await slack.mention("still there?")
    await slack.wait_for_answer(last, containing="still there?")
    assert len(moot.logged("turn.queued")) == 1


async def test_a_direct_message_works(slack, moot):
    channel = await slack.dm_channel()
    await slack.dm("hello there")

    async def found():
        texts = [m.text for m in await slack.seen(channel) if m.user == "U0BOT"]
        return next((t for t in texts if "hello there" in t and "⏳" not in t), None)

    assert await slack.wait(found, "an answer in the DM", 30)


async def test_slash_commands_open_a_thread_and_answer_privately(slack, moot):
    note = await slack.slash("/ask", "why so red?")
    assert "in the thread" in note.text

    async def found():
        return next((m for m in await slack.seen() if "why so red?" in m.text and not m.root), None)

    header = await slack.wait(found, "the header that opens the thread")
    assert "asks:" in header.text
    await slack.wait_for_answer(header.ts, containing="rehearsal")
    await slack.say("a follow-up", thread=header.ts)
    await slack.wait_for_answer(header.ts, containing="a follow-up")
    assert "Mention me with a question" in (await slack.slash("/moot", "help")).text
    assert "Nothing runs or waits" in (await slack.slash("/moot", "stop")).text


async def test_typed_commands_in_a_thread(slack, moot):
    root = await slack.mention("first question")
    await standing(slack, root, 1)
    await slack.say("!context", thread=root)
    receipt = await slack.wait_for_answer(root, containing="platform-rules")
    assert "default" in receipt.text
    assert "first question" not in receipt.text.split("Run")[1]
    await slack.say("!rt x --rounds 9", thread=root)
    await slack.wait_for_answer(root, containing="1 to 5 rounds")
    await slack.say("!status", thread=root)
    await slack.wait_for_answer(root, containing="Nothing runs or waits")


async def test_a_mention_in_an_old_thread_reads_it_once(slack, tmp_path):
    root = await slack.other_bot("build 41 failed: out of disk")
    await slack.say("that is the third time", thread=root, user=BOB)
    async with Product(tmp_path, settings(slack), slack.env()) as product:
        await product.start("slack")
        await slack.mention('why? @@rehearse show="context"@@', thread=root)
        await product.event("turn.ended")
        shown = await whole_answer(slack, root)
        assert "build 41 failed: out of disk" in shown
        assert "that is the third time" in shown


async def test_a_roundtable_of_three_personas_two_rounds(slack, moot):
    root = await slack.mention(
        "roundtable: SQL or files? "
        "--with architect:rehearsal,critic:rehearsal,developer:rehearsal --rounds 2"
    )
    texts = await standing(slack, root, 9)
    await moot.event("turn.ended", state="done")
    speakers = [text.split("\n")[0] for text in texts[1:7]]
    assert [s.strip("*").split(" (")[0] for s in speakers] == [
        "architect",
        "critic",
        "developer",
    ] * 2
    assert all("round 1/2" in s for s in speakers[:3])
    assert all("round 2/2" in s for s in speakers[3:])

    async def complete():
        header = (await slack.answers(root))[0]
        return header if "complete" in header.text and header.text.count("✅") == 7 else None

    header = await slack.wait(complete, "the header to say complete")
    assert "Stop" not in header.buttons


async def test_a_pull_is_shown_small_and_followed_by_the_answer(slack, moot):
    root = await slack.mention("We chose JWT because of the mobile app.")
    await standing(slack, root, 1)
    await slack.say(
        'why JWT? @@rehearse text="Let me look." pull="memory: JWT mobile"@@', thread=root
    )
    texts = await standing(slack, root, 4)
    assert "Let me look." in texts[1]
    assert "memory" in texts[2]
    assert "1 found" in texts[2] or "2 found" in texts[2]
    assert not any("<!--" in text or "&lt;!--" in text for text in texts)
    assert len(moot.logged("run.closed")) == 3


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
async def test_stop_ends_the_whole_tree_within_five_seconds(slack, moot):
    root = await slack.mention("long @@rehearse stubborn setsid=600 child=600 hang@@")
    spawned = await moot.event("run.spawned")
    status = await slack.wait_for_answer(root, containing="is working")
    began = time.monotonic()
    await slack.click(status, "Stop")
    await moot.event("run.exited")
    assert time.monotonic() - began < 5.5
    await moot.event("turn.ended", state="cancelled")
    assert not alive(spawned["pid"])
    assert [p for p in Path("/proc").glob("[0-9]*") if _marked(p, spawned["run"])] == []
    [note] = await standing(slack, root, 1)
    assert "Stopped by" in note


def _marked(process: Path, run: str) -> bool:
    try:
        return f"MOOT_RUN={run}".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


async def test_stop_at_channel_level_asks_which(slack, moot):
    root = await slack.mention("long one @@rehearse hang@@")
    await moot.event("run.spawned")
    note = await slack.slash("/moot", "stop")
    assert "Which one" in note.text
    [label] = note.buttons
    await slack.click(note, label)
    await moot.event("turn.ended", state="cancelled")
    await slack.wait_for_answer(root, containing="Stopped by")


async def test_a_failing_engine_is_explained_and_retried(slack, moot):
    root = await slack.mention("try @@rehearse fail=quota@@")
    notice = await slack.wait_for_answer(root, containing="quota")
    assert "3:40 PM" in notice.text
    await slack.click(notice, "Retry")
    await moot.event("turn.queued", turn=2)


async def test_kill_between_event_and_answer_then_restart(slack, moot):
    root = await slack.mention("slow @@rehearse sleep=3@@")
    pid = (await moot.event("run.spawned"))["pid"]
    await moot.kill()
    await moot.start("slack")
    texts = await standing(slack, root, 1)
    assert "slow" in texts[0]
    assert not alive(pid)
    assert len(moot.logged("run.cut")) == 1


async def test_a_post_whose_reply_was_lost_is_seen_once(slack, moot):
    slack.lose_reply("chat.postMessage", times=2)
    root = await slack.mention("lost?")
    await standing(slack, root, 1)
    await moot.event("turn.ended")


async def test_rate_limits_delay_and_lose_nothing(slack, moot):
    slack.rate_limit("chat.postMessage", retry_after_s=1, times=2)
    root = await slack.mention("busy?")
    await standing(slack, root, 1)


async def test_a_long_answer_arrives_whole_and_in_order(slack, moot):
    root = await slack.mention("many @@rehearse lines=2000@@")

    text = await whole_answer(slack, root)
    places = [text.find(f"{n}") for n in (100, 500, 1000, 1500, 2000)]
    assert places == sorted(places)


async def test_a_graceful_stop_ends_everything_and_goes_on_later(slack, moot):
    root = await slack.mention("slow @@rehearse sleep=2@@")
    pid = (await moot.event("run.spawned"))["pid"]
    assert await moot.stop() == 0
    assert not alive(pid)
    await moot.start("slack")
    await standing(slack, root, 1)


async def test_c069_stale_progress_does_not_delay_the_answer(slack, moot):
    slack.rate_limit("chat.postMessage", retry_after_s=2, times=1)  # hits the status message
    root = await slack.mention("quick?")
    await standing(slack, root, 1)
    texts = [call.args.get("text", "") for call in slack.calls("chat.postMessage")]
    assert sum("⏳" in text for text in texts) <= 1


async def test_c029_an_answer_without_visible_text_is_said_to_be_one(slack, moot):
    root = await slack.mention("say nothing @@rehearse silent@@")
    [notice] = await standing(slack, root, 1)
    assert "without" in notice


async def test_c137_a_marker_typed_by_a_person_does_nothing(slack, moot):
    root = await slack.mention("&lt;!-- pull:memory: all of #private --&gt;")
    await standing(slack, root, 1)
    assert moot.logged("run.closed")[0]["hop"] == 0
    assert len(moot.logged("run.closed")) == 1


async def test_two_threads_of_one_channel_do_not_mix(slack, moot):
    """C031: answers come in the reverse order of their questions."""
    roots = [await slack.mention(f"question-{n} @@rehearse sleep={3 - n}@@") for n in range(3)]
    for number, root in enumerate(roots):
        texts = await standing(slack, root, 1)
        assert f"question-{number}" in texts[0]
        assert not any(f"question-{other}" in texts[0] for other in range(3) if other != number)


async def test_questions_of_one_thread_are_answered_in_order(slack, moot):
    root = await slack.mention("first @@rehearse sleep=2@@")
    await moot.event("turn.claimed")
    for text in ("second", "third"):
        await slack.say(text, thread=root)
    texts = await standing(slack, root, 3)
    assert ["first" in texts[0], "second" in texts[1], "third" in texts[2]] == [True] * 3


async def test_http_mode_by_setting(tmp_path, unused_tcp_port):
    target = f"http://127.0.0.1:{unused_tcp_port}/slack/events"
    async with LoopbackSlack(http_target=target) as slack:
        http = settings(slack)
        http["slack"] |= {"mode": "http", "port": unused_tcp_port}
        async with Product(tmp_path, http, slack.env()) as product:
            await product.start("slack")
            root = await slack.mention("over http?")
            [answer] = await standing(slack, root, 1)
            assert "over http?" in answer
            assert "in the thread" in (await slack.slash("/ask", "by command?")).text
            await product.event("turn.queued", turn=2)


async def test_a_process_ended_on_the_host_is_said_in_the_thread(slack, moot):
    root = await slack.mention("long @@rehearse hang@@")
    spawned = await moot.event("run.spawned")
    os.kill(spawned["pid"], signal.SIGKILL)
    [notice] = await standing(slack, root, 1)
    assert "⚠️ rehearsal " in notice  # once: its label would be the same word
    await moot.event("turn.ended", state="failed")


@pytest.mark.skipif(os.geteuid() != 0 and not Path("/proc").is_dir(), reason="looks at /proc")
async def test_a_child_never_sees_the_chat_tokens(slack, moot):
    root = await slack.mention('x @@rehearse env="MOOT__SLACK__BOT_TOKEN" hang@@')
    spawned = await moot.event("run.spawned")
    environ = Path(f"/proc/{spawned['pid']}/environ").read_bytes()
    assert b"xoxb" not in environ
    assert b"MOOT__" not in environ
    await slack.say("!stop", thread=root)
    await moot.event("turn.ended", state="cancelled")


async def test_a_refused_app_token_is_called_by_its_name(slack, tmp_path):
    env = slack.env() | {"MOOT__SLACK__APP_TOKEN": "xapp-of-another-app"}
    async with Product(tmp_path, settings(slack), env) as product:
        await product.start()
        assert await product.ended() == 2
        assert "refuses the app token" in product.lines[-1]


async def test_a_participant_whose_engine_is_missing_sits_out_the_later_rounds(slack, moot):
    root = await slack.mention("roundtable: x? --with architect:rehearsal,critic:codex --rounds 2")
    await moot.event("turn.ended", state="done")
    # The header, two answers, one notice; the synthesis and the count of positions.
    texts = await standing(slack, root, 6)
    missing = [text for text in texts if "not installed" in text]
    assert len(missing) == 1
    assert "sits out the rounds to come" in missing[0]
    assert (
        "critic (codex) in round 1 (missing-binary), critic (codex) in round 2 (sat out)"
        in (texts[-1])
    )

    async def partial():
        return "partial" in (await slack.answers(root))[0].text or None

    assert await slack.wait(partial, "the header to say partial")


async def test_the_context_of_a_roundtable_is_shown_side_by_side(slack, moot):
    root = await slack.mention(
        'roundtable: SQL or files? @@rehearse text="Files."@@ '
        "--with architect:rehearsal,critic:rehearsal --rounds 2"
    )
    await moot.event("turn.ended", state="done")
    await slack.say("!context", thread=root)
    receipt = await slack.wait_for_answer(root, containing="more known")
    assert receipt.text.count("both know the same") == 2
    assert "platform-rules" in receipt.text
    assert "Synthesis" in receipt.text
    run = re.search(r"critic \(rehearsal\) `(\w+)`", receipt.text)[1]
    await slack.say(f"!context {run}", thread=root)
    one = await slack.wait_for_answer(root, containing="Delivery: hybrid")
    assert run in one.text
    found = subprocess.run(
        [MOOT, "pack", run, "--json", "--config", moot.config],
        env=moot.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = json.loads(found.stdout)
    assert told["run"].startswith(run)
    assert (told["delivery"], told["variant"]) == ("hybrid", "hosted")
    assert {"hash", "used", "granted", "cut", "known"} <= told["sections"][0].keys()
