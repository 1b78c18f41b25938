"""Ollama over HTTP: the window, the model that is missing, the stream that breaks, the stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from core.engines.ollama import ENGINE, address, tokens
from core.engines.process import probe, run
from core.model import EngineConfig, EngineEvent, EngineTask, Limits, Outcome
from tests.peers.models import FakeModels


async def ask(url: str, prompt: str, context: str = "", **rest: object) -> Outcome:
    config = EngineConfig(base_url=url, model=str(rest.pop("model", "")))
    task = EngineTask("r1", context, prompt, "/", "/")
    events: list[EngineEvent] = []

    async def on_spawn(pid: int, started: float) -> None:
        pytest.fail("there is no process")

    limits, cancel = rest.pop("limits", Limits(10, 20)), rest.pop("cancel", asyncio.Event())
    return await run(
        ENGINE(config), task, on_event=events.append, on_spawn=on_spawn, limits=limits,
        cancel=cancel, base_env={},
    )  # fmt: skip


async def test_takes_the_first_model_where_none_is_named(models: FakeModels) -> None:
    assert (await ask(models.url, "hi")).kind == "answered"
    assert models.seen[-1].model == "fake-local:latest"
    assert [s.path for s in models.seen] == ["/api/tags", "/api/show", "/api/chat"]


async def test_the_window_is_set_so_that_the_prompt_fits(models: FakeModels) -> None:
    """C125: the default window silently drops the front of the prompt."""
    context = "The secret word is WOMBAT.\n" + "배포 기록 " * 3000
    outcome = await ask(models.url, "@@fake find text=WOMBAT@@", context, model="fake-coder:7b")
    assert outcome.text == "found in: system"
    window = models.seen[-1].body["options"]["num_ctx"]
    assert tokens(context)[1] < window <= 32_768


async def test_a_pack_that_cannot_fit_is_refused_before_it_is_sent(models: FakeModels) -> None:
    outcome = await ask(models.url, "hi", "word " * 50_000)
    assert outcome.kind == "context-too-long"
    assert "32768" in outcome.detail
    assert [s.path for s in models.seen] == ["/api/tags", "/api/show"]


async def test_a_missing_model_is_named_with_the_fix(models: FakeModels) -> None:
    outcome = await ask(models.url, "hi @@fake error status=404@@", model="llama9:1b")
    assert outcome.kind == "bad-model"
    assert "ollama pull llama9:1b" in outcome.fix


async def test_no_model_at_all() -> None:
    async with FakeModels(ollama_models=()) as server:
        outcome = await ask(server.url, "hi")
        assert outcome.kind == "bad-config"
        assert "ollama pull" in outcome.detail
        info = await probe(ENGINE(EngineConfig(base_url=server.url)), {})
        assert (info.installed, info.signed_in) == (True, False)


async def test_nobody_listens() -> None:
    async with FakeModels() as server:
        url = server.url
    outcome = await ask(url, "hi")
    assert outcome.kind == "overloaded"
    assert "ollama serve" in outcome.fix
    info = await probe(ENGINE(EngineConfig(base_url=url)), {})
    assert (info.installed, info.signed_in) == (False, None)
    assert url in info.detail
    assert info.detail.endswith(f"nothing answers at {url.removeprefix('http://')}")
    assert info.detail.endswith(outcome.detail)


async def test_an_error_in_mid_stream(models: FakeModels) -> None:
    outcome = await ask(models.url, "@@fake error status=500 stream=1@@")
    assert (outcome.kind, outcome.detail) == ("overloaded", "Internal server error (scripted).")


async def test_a_stream_cut_short_is_no_answer(models: FakeModels) -> None:
    outcome = await ask(models.url, "@@fake malformed kind=truncate@@")
    assert (outcome.kind, outcome.text) == ("crashed", "This answer will be cut")


async def test_silence_is_a_stall(models: FakeModels) -> None:
    outcome = await ask(models.url, "@@fake hang@@", limits=Limits(idle_s=0.3, total_s=20))
    assert outcome.kind == "stalled"
    outcome = await ask(models.url, "@@fake slow delay=0.2@@", limits=Limits(idle_s=9, total_s=0.7))
    assert outcome.kind == "stalled"
    assert outcome.text.startswith("word000")


async def test_cancelling_the_awaiting_task_ends_the_call(models: FakeModels) -> None:
    call = asyncio.ensure_future(ask(models.url, "@@fake hang@@"))
    async with asyncio.timeout(10):
        while not any(s.path == "/api/chat" for s in models.seen):
            await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    async with asyncio.timeout(10):
        while not models.seen[-1].aborted:
            await asyncio.sleep(0.01)


@pytest.fixture
async def forgetful() -> AsyncIterator[str]:
    """A model whose server read only the end of the prompt, as a too small window does."""

    async def chat(request: web.Request) -> web.Response:
        line = {
            "message": {"role": "assistant", "content": "An invention."},
            "done": True, "done_reason": "stop", "prompt_eval_count": 500, "eval_count": 3,
        }  # fmt: skip
        return web.Response(text=json.dumps(line) + "\n")

    async def show(request: web.Request) -> web.Response:
        return web.json_response({})

    app = web.Application()
    app.router.add_post("/api/chat", chat)
    app.router.add_post("/api/show", show)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_an_answer_to_half_a_prompt_is_not_shown(forgetful: str) -> None:
    """C125: the evaluated tokens are checked; an invention is worse than no answer."""
    outcome = await ask(forgetful, "hi", "word " * 5_000, model="m")
    assert (outcome.kind, outcome.text) == ("context-too-long", "")
    assert "500" in outcome.detail
    assert (await ask(forgetful, "hi", "word " * 100, model="m")).text == "An invention."


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://10.0.0.1:1234/", "http://10.0.0.1:1234"),
        ("https://models.example", "https://models.example"),
        ("0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:80", "http://box:80"),
        ("[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_addresses(given: str, url: str) -> None:
    assert address(given) == url
