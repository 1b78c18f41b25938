"""The documentation knows what there is, and names nothing that there is not."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from config.tables import Channel, EngineEntry, Project
from core.blocks import FORMS
from core.context.sections import TABLE
from core.pull import KINDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DEFAULTS = files("config").joinpath("default.toml").read_text("utf-8")
SETTINGS = tomllib.loads(DEFAULTS)
ENTRIES = {"engines": EngineEntry, "channels": Channel, "projects": Project}
TOLD = ("context", "pull", "memory", "roundtable")
"""Tables of the settings that shape what agents are told and how they talk."""


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


@pytest.mark.parametrize("table", [name for name in TOLD if name in SETTINGS])
def test_every_setting_of_packs_and_tables_is_explained(table):
    told = "".join(page(name) for name in ("contextpack.md", "roundtables.md", "how-to/memory.md"))
    for key, value in SETTINGS[table].items():
        if not isinstance(value, dict):
            assert re.search(rf"\b{key}\b", told), f"[{table}] {key} is in no page"


def test_every_preset_is_explained():
    for name in SETTINGS["roundtable"]["presets"]:
        assert f"`{name}`" in page("roundtables.md")


def test_every_section_and_every_kind_of_pull_is_explained():
    told = page("contextpack.md")
    for place in TABLE:
        assert f"`{place.name}`" in told, place.name
    for kind in KINDS:
        assert f"`{kind}`" in told, kind


def test_every_block_is_explained():
    told = "".join(path.read_text("utf-8") for path in PAGES)
    for word in FORMS:
        assert f"<!-- {word}" in told, word


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_settings_that_a_page_names_exist(path):
    for table, key in re.findall(r"`\[([a-z_.]+)\] ([a-z_]+)", path.read_text("utf-8")):
        known = SETTINGS
        for part in table.split("."):
            known = known.get(part, {})
        if table.startswith(("engines.", "channels.", "projects.")):
            known = ENTRIES[table.partition(".")[0]].model_fields
        listed = rf"^(# )?{key} = "  # tokens stand there as comments
        assert key in known or re.search(listed, DEFAULTS, re.MULTILINE), f"[{table}] {key}"
