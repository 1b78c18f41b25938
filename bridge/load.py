"""From a name in the settings to an engine: ``claude`` -> ``core.engines.claude:ENGINE``."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any

import core.engines
from config.settings import Settings
from config.tables import EngineEntry, Engines, Memory
from core.engines.process.probe import probe
from core.errors import BadSettings
from core.memory.summarise import By
from core.model import EXTRACT, Check, EngineConfig, EngineInfo
from core.ports import Engine, kind_of

# The order in which the first usable one is the default; engines of one's own come after.
PREFERENCE = ("claude", "codex", "gemini", "opencode", "ollama")
LAST_RESORT = "rehearsal"
# Without a login it would put a team's questions to hosted models that are free: only on request.
ONLY_WITH_LOGIN = ("opencode",)


def shipped() -> tuple[str, ...]:
    """Names of the engines in ``core/engines``: a new one is one new file."""
    modules = (module.name for module in pkgutil.iter_modules(core.engines.__path__))
    return tuple(name for name in modules if _has_engine(name))


def _has_engine(name: str) -> bool:
    return hasattr(importlib.import_module(f"core.engines.{name}"), "ENGINE")


def load_engines(settings: Engines) -> dict[str, Engine]:
    """All engines that can be asked for, by name.

    Raises:
        BadSettings: an engine's module cannot be loaded; says which setting names it.
    """
    names = dict.fromkeys((*shipped(), *settings.named))
    return {name: _load(name, settings.entry(name)) for name in names}


def _load(name: str, entry: EngineEntry) -> Engine:
    module_name, _, attribute = (entry.use or f"core.engines.{name}:ENGINE").partition(":")
    try:
        factory = getattr(importlib.import_module(module_name), attribute or "ENGINE")
        return _called(factory(engine_config(entry)), name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise BadSettings(
            f"[engines.{name}] names no engine that can be loaded ({error}). "
            f'Known are: {", ".join(shipped())}; another one needs use = "module:ENGINE".'
        ) from None


def _called(engine: Any, name: str) -> Engine:
    """The engine under its name in the settings: two entries may use one class (two accounts).

    What the class calls itself stays known as its kind (``core.ports.kind_of``).

    Raises:
        AttributeError: its name cannot be set, as with a property.
    """
    kind = kind_of(engine)
    if engine.name != name:
        engine.name = name
        engine.kind = kind
    return engine


def engine_config(entry: EngineEntry) -> EngineConfig:
    """The settings of one engine as core knows them."""
    return EngineConfig(
        path=entry.path, model=entry.model, base_url=entry.base_url, args=entry.args, env=entry.env
    )


async def probe_all(engines: Mapping[str, Engine]) -> list[EngineInfo]:
    """Which are installed and signed in, in order of preference."""
    order = [name for name in PREFERENCE if name in engines]
    order += [name for name in engines if name not in order and name != LAST_RESORT]
    order += [LAST_RESORT] if LAST_RESORT in engines else []
    return list(await asyncio.gather(*(probe(engines[name]) for name in order)))


async def default_engine(
    wanted: str, engines: Mapping[str, Engine]
) -> tuple[str, tuple[EngineInfo, ...]]:
    """The engine that answers when none is named, and what was probed to find it.

    A wanted one is taken as it is (probing all would cost seconds at every start); else it is the
    first that is usable.

    Raises:
        BadSettings: the wanted one does not exist.
    """
    if wanted:
        if wanted not in engines:
            there = ", ".join(sorted(engines))
            raise BadSettings(f"[engines] default is {wanted!r}; there are: {there}.")
        return wanted, ()
    found = tuple(await probe_all(engines))
    return first_usable(found), found


def first_usable(found: Sequence[EngineInfo]) -> str:
    """The first engine that can be used, else the rehearsal."""
    return next((info.name for info in found if usable(info)), LAST_RESORT)


def usable(info: EngineInfo) -> bool:
    """Installed and signed in, or as good as: a login in a key chain cannot be looked at."""
    if info.signed_in is None and (info.kind or info.name) in ONLY_WITH_LOGIN:
        return False
    return info.installed and info.signed_in is not False


def summary_by(settings: Memory, engines: Mapping[str, Engine], default: str) -> By:
    """Who sums up what is older: the engine that is set, else the default one.

    The stand-in of somebody without an engine cannot sum up, so then none does. Nothing is probed.

    Raises:
        BadSettings: the engine that is set does not exist.
    """
    wanted = settings.summary_engine
    if wanted and wanted != EXTRACT and wanted not in engines:
        there = ", ".join(sorted(engines))
        raise BadSettings(
            f"[memory] summary_engine is {wanted!r}; there are: {there} and {EXTRACT}."
        )
    name = wanted or (EXTRACT if default == LAST_RESORT else default)
    if name == EXTRACT:
        return By()
    engine = engines[name]
    return By(engine, settings.summary_model or engine.traits.small_model)


def summary_check(settings: Settings, default: str) -> Check:
    """For ``doctor``: who sums up what is older, given the engine that answers by default."""
    try:
        by = summary_by(settings.memory, load_engines(settings.engines), default)
    except BadSettings as error:
        fix = f'Name one of them, or leave it empty; "{EXTRACT}" asks no engine.'
        return Check("memory", ok=False, detail=str(error), fix=fix)
    if by.engine is None:
        why = "no engine is asked; sentences are taken word for word"
        return Check("memory", ok=True, detail=f"long conversations are summed up: {why}")
    model = f" (model {by.model})" if by.model else ""
    who = f"by {by.engine.name}{model}, in the background"
    return Check("memory", ok=True, detail=f"long conversations are summed up {who}")
