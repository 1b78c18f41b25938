"""A child that is talked to while it works: what it asks, and what people decide."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import psutil
import pytest

from core.model import EngineTask, Limits, Spawn, Verdict
from core.streams import LineReader
from tests.integration.supervised import ANSWER, NAP, Stage, Talk, TalkReader

ASK = "say(type='ask', id='1')\n"
ENDS_AS_TOLD = "told = hear(); say(type='text', text=str(told)); say(type='end')\n"


async def test_a_verdict_reaches_the_child_and_no_limit_counts_the_wait(stage: Stage) -> None:
    limits = Limits(idle_s=2, total_s=2.5)
    running = asyncio.create_task(stage.run(Talk(ASK + ENDS_AS_TOLD), limits=limits))
    await stage.until("request")
    await asyncio.sleep(3)  # longer than both
    assert not running.done()
    stage.verdicts.put_nowait(Verdict("1", "once"))
    outcome = await running
    assert (outcome.kind, outcome.text) == ("answered", "{'id': '1', 'choice': 'once'}")
    assert [e.kind for e in stage.events] == ["request", "message"]


async def test_after_the_verdict_the_limits_count_again(stage: Stage) -> None:
    engine = Talk(ASK + "hear(); say(type='delta', text='on it'); time.sleep(600)")
    running = asyncio.create_task(stage.run(engine, limits=Limits(idle_s=1, total_s=60)))
    await stage.until("request")
    stage.verdicts.put_nowait(Verdict("1", "once"))
    outcome = await asyncio.wait_for(running, 30)
    assert (outcome.kind, outcome.text) == ("stalled", "on it")
    assert stage.left() == []


async def test_with_two_requests_open_one_verdict_is_not_enough(stage: Stage) -> None:
    engine = Talk(ASK + "say(type='ask', id='2'); hear()\n" + ENDS_AS_TOLD)
    running = asyncio.create_task(stage.run(engine, limits=Limits(idle_s=1, total_s=2)))
    await stage.until("request", count=2)
    stage.verdicts.put_nowait(Verdict("1", "deny"))
    await asyncio.sleep(1.5)
    assert not running.done()
    stage.verdicts.put_nowait(Verdict("2", "once"))
    assert (await running).text == "{'id': '2', 'choice': 'once'}"


async def test_a_verdict_on_what_was_withdrawn_changes_nothing(stage: Stage) -> None:
    engine = Talk(ASK + "say(type='withdraw', id='1'); say(type='ask', id='2')\n" + ENDS_AS_TOLD)
    running = asyncio.create_task(stage.run(engine, limits=Limits(idle_s=1, total_s=2)))
    await stage.until("request", count=2)
    stage.verdicts.put_nowait(Verdict("1", "once"))
    stage.verdicts.put_nowait(Verdict("never asked", "once"))
    await asyncio.sleep(1.5)  # the second one still holds the clocks
    assert not running.done()
    stage.verdicts.put_nowait(Verdict("2", "session"))
    assert (await running).text == "{'id': '2', 'choice': 'session'}"


async def test_what_is_withdrawn_holds_no_clock(stage: Stage) -> None:
    engine = Talk(ASK + "say(type='withdraw', id='1'); time.sleep(600)")
    outcome = await asyncio.wait_for(stage.run(engine, limits=Limits(idle_s=1, total_s=60)), 30)
    assert outcome.kind == "stalled"


async def test_a_one_shot_run_that_asks_waits_for_nobody(stage: Stage) -> None:
    """Nothing could reach it: its input is closed."""

    class Deaf(Talk):
        def start(self, task: EngineTask) -> Spawn:
            return replace(super().start(task), dialogue=False)

    limits = Limits(idle_s=1, total_s=60)
    outcome = await asyncio.wait_for(stage.run(Deaf(ASK + "time.sleep(600)"), limits=limits), 30)
    assert outcome.kind == "stalled"


async def test_the_input_is_closed_once_the_reader_has_settled(stage: Stage) -> None:
    """C107: who waits for the end of its input gets it, and ends by itself."""
    engine = Talk(ANSWER + "assert sys.stdin.read() == 'go on\\n'; sys.exit(0)", first=b"go on\n")
    outcome = await asyncio.wait_for(stage.run(engine, limits=Limits(30, 60, linger_s=25)), 20)
    assert (outcome.kind, outcome.unclean) == ("answered", False)


async def test_who_stays_after_that_is_ended(stage: Stage) -> None:
    engine = Talk(ANSWER + "sys.stdin.read(); time.sleep(600)")
    outcome = await stage.run(engine, limits=Limits(30, 60, linger_s=0.3))
    assert (outcome.kind, outcome.text) == ("answered", "A")
    assert stage.left() == []


async def test_a_closing_event_ends_the_wait_for_people(stage: Stage) -> None:
    engine = Talk(ASK + ANSWER + "time.sleep(600)")
    outcome = await asyncio.wait_for(stage.run(engine, limits=Limits(30, 60, linger_s=0.3)), 20)
    assert outcome.text == "A"


async def test_a_child_that_closes_its_input_can_be_told_nothing(stage: Stage) -> None:
    """What it asked is taken back, for people would decide it in vain; the limits count."""
    engine = Talk(ASK + "os.close(0); time.sleep(600)")
    outcome = await asyncio.wait_for(stage.run(engine, limits=Limits(idle_s=1, total_s=60)), 30)
    assert outcome.kind == "stalled"
    assert [(e.kind, e.id) for e in stage.events if e.kind != "request"] == [("withdrawn", "1")]


async def test_a_child_may_close_its_input_and_answer_all_the_same(stage: Stage) -> None:
    engine = Talk("os.close(0)\nsay(type='delta', text='.')\ntime.sleep(0.2)\n" + ANSWER)
    running = asyncio.create_task(stage.run(engine))
    await stage.until("delta")
    for _ in range(20):  # asyncio warns of many writes to a closed pipe
        stage.verdicts.put_nowait(Verdict("1", "once"))
    assert (await running).text == "A"


async def test_a_child_that_never_reads(stage: Stage) -> None:
    outcome = await stage.run(Talk(ANSWER, first=b"x" * 8_000_000))
    assert (outcome.kind, outcome.unclean) == ("answered", False)


async def test_much_goes_in_while_much_comes_out(stage: Stage) -> None:
    engine = Talk(
        "for _ in range(80): say(type='delta', text='d' * 100_000)\n"
        "n = len(sys.stdin.readline()); say(type='text', text=str(n)); say(type='end')",
        first=b"x" * 8_000_000 + b"\n",
    )
    outcome = await stage.run(engine)
    assert outcome.text == "8000001"
    assert sum(len(e.text) for e in stage.events if e.kind == "delta") == 8_000_000


async def test_a_verdict_after_the_exit_is_too_late(stage: Stage) -> None:
    class Late(Stage):
        async def on_spawn(self, pid: int, started: float) -> None:
            await self.until("request")
            while psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie":
                await asyncio.sleep(0.01)
            self.verdicts.put_nowait(Verdict("1", "once"))

    late = Late(stage.folder)
    outcome = await late.run(Talk(ASK + "say(type='text', text='A')"))
    assert (outcome.kind, outcome.text, outcome.unclean) == ("answered", "A", True)


@pytest.mark.parametrize("how", ["stopped", "abandoned"])
async def test_a_run_that_waits_for_people_can_be_stopped(stage: Stage, how: str) -> None:
    engine = Talk(
        f"subprocess.Popen({NAP}, start_new_session=True); say(type='delta', text='so far')\n"
        + ASK + "hear()"
    )  # fmt: skip
    running = asyncio.create_task(stage.run(engine))
    await stage.until("request")
    before = time.monotonic()
    if how == "stopped":
        stage.cancel.set()
        stage.verdicts.put_nowait(Verdict("1", "once"))  # both at once: the stop counts
        outcome = await running
        assert (outcome.kind, outcome.text) == ("cancelled", "so far")
    else:
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert time.monotonic() - before < 5
    assert [e.kind for e in stage.events] == ["delta", "request"]
    assert stage.left() == []


@pytest.mark.parametrize("where", ["decide", "to_send", "to_send at the start", "settled"])
async def test_an_error_of_the_reader_ends_the_run(stage: Stage, where: str) -> None:
    class Breaks(TalkReader):
        def decide(self, verdict: Verdict) -> None:
            if where == "decide":
                raise RuntimeError("ours")
            super().decide(verdict)

        def to_send(self) -> bytes:
            if where == "to_send at the start" or (where == "to_send" and self._to_send):
                raise RuntimeError("ours")
            return super().to_send()

        def settled(self) -> bool:
            if where == "settled" and self.partial:
                raise RuntimeError("ours")
            return super().settled()

    class Broken(Talk):
        def reader(self, task: EngineTask) -> LineReader:
            return Breaks(b"")

    engine = Broken("say(type='delta', text='x')\n" + ASK + "hear(); time.sleep(600)")
    running = asyncio.create_task(stage.run(engine))
    if where in ("decide", "to_send"):
        await stage.until("request")
        stage.verdicts.put_nowait(Verdict("1", "once"))
    with pytest.raises(RuntimeError, match="ours"):
        await asyncio.wait_for(running, 20)
    assert stage.left() == []
