"""Two entries of one engine class, as for two accounts of one CLI: each goes by its own name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.capacity import capacity
from bridge.check import check_engines
from bridge.doctor import list_engines
from bridge.load import first_usable, load_engines, probe_all, summary_by, summary_check
from config.settings import Settings, load_settings
from core.errors import BadSettings
from core.memory.summarise import summary_pack
from core.model import EngineInfo, Outcome
from core.ports import kind_of
from core.streams import explain

OWN = """
import sys

from core.engines.codex import Codex
from core.engines.rehearsal import Rehearsal


class Acme(Rehearsal):
    name = "acme"
    programs = (sys.executable,)


class Fixed(Rehearsal):
    @property
    def name(self):
        return "fixed"


ENGINE = Acme
"""
TWO = """
[engines.work]
use = "own_two_engines:Acme"
at_once = 1

[engines.private]
use = "own_two_engines:Acme"
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "own_two_engines.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("own_two_engines", None)


def settings(folder: Path, text: str = TWO) -> Settings:
    path = folder / "moot.toml"
    path.write_text(f'[storage]\ndir = "{folder / "data"}"\n{text}')
    return load_settings(path)


def test_each_entry_has_its_own_name_and_both_are_of_one_kind(own: Path) -> None:
    engines = load_engines(settings(own).engines)
    assert all(engine.name == name for name, engine in engines.items())
    assert {kind_of(engines[name]) for name in ("work", "private")} == {"acme"}
    assert kind_of(engines["codex"]) == "codex"


async def test_capacity_summaries_and_lists_go_by_the_names_of_the_settings(own: Path) -> None:
    found = settings(own)
    engines = load_engines(found.engines)
    infos = {
        info.name: info for info in await probe_all({n: engines[n] for n in ("work", "private")})
    }
    assert {info.kind for info in infos.values()} == {"acme"}
    assert infos["private"].command == infos["private"].path != ""
    default = first_usable(list(infos.values()))
    assert default in ("work", "private")
    assert capacity(found, engines, default)[1]["work"] == 1
    by = summary_by(found.memory, engines, "private")
    assert by.engine is not None
    assert by.engine.name == "private"
    pack = summary_pack(by.engine, "", (), (), "/x")
    assert pack is not None
    assert "by private" in summary_check(found, "private").detail
    listed, _ = await list_engines(found)
    assert {"work", "private"} <= {info.name for info in listed}
    assert "acme" not in {info.name for info in listed}


async def test_a_live_check_of_both(own: Path) -> None:
    checked = await check_engines(settings(own), ("work", "private"), live=True)
    assert {one.name: one.kind for one in checked} == {"work": "acme", "private": "acme"}
    assert all(one.live and one.live.outcome == "answered" for one in checked)


def test_versions_and_logins_go_by_kind() -> None:
    here = {"installed": True, "version": "1", "signed_in": None, "path": "/bin/x"}
    free = EngineInfo("second", **here, kind="opencode")
    assert first_usable((free,)) == "rehearsal"
    assert first_usable((EngineInfo("second", **here, kind="claude"),)) == "second"


def test_a_fix_names_the_settings_of_the_one_that_failed() -> None:
    outcome = Outcome("missing-binary", fix="Install it, or set [engines.codex] path.")
    assert "[engines.private] path" in explain("private", outcome)
    assert "[engines.codex]" not in explain("private", outcome)


def test_a_name_that_cannot_be_set_is_a_fault_of_the_settings(own: Path) -> None:
    with pytest.raises(BadSettings, match="mine"):
        load_engines(settings(own, '[engines.mine]\nuse = "own_two_engines:Fixed"\n').engines)
    named = settings(own, '[engines.fixed]\nuse = "own_two_engines:Fixed"\n')
    assert load_engines(named.engines)["fixed"].name == "fixed"
