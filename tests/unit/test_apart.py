"""Work of sources in threads of their own."""

import asyncio
import subprocess
import sys
import threading

import pytest
import structlog

from core.sources.apart import MAX_AT_ONCE, TooMany, apart


async def test_it_returns_raises_and_keeps_the_context():
    with structlog.contextvars.bound_contextvars(run="r1"):
        found = await apart("x", structlog.contextvars.get_contextvars)
    assert found == {"run": "r1"}
    with pytest.raises(KeyError):
        await apart("x", lambda: {}["nothing"])


async def test_what_hangs_is_left_behind_and_bounded_and_holds_up_nobody_else():
    over = threading.Event()
    try:
        for _ in range(MAX_AT_ONCE):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.001):
                    await apart("hung", over.wait)
        with pytest.raises(TooMany):
            await apart("hung", over.wait)
        assert await apart("well", lambda: 1) == 1
        assert await asyncio.to_thread(lambda: 2) == 2
    finally:
        over.set()


def test_a_process_ends_though_a_thread_of_it_hangs():
    program = (
        "import asyncio, threading\n"
        "from core.sources.apart import apart\n"
        "async def main():\n"
        "    try:\n"
        "        async with asyncio.timeout(0.05):\n"
        "            await apart('hung', threading.Event().wait)\n"
        "    except TimeoutError:\n"
        "        print('left')\n"
        "asyncio.run(main())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert (ran.stdout, ran.stderr) == ("left\n", "")
