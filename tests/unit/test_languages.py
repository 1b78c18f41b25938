"""Which language is spoken where, and what people type to choose it."""

from __future__ import annotations

import ast
import re
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.arrivals import bare_word
from bridge.commands import Names, parse, typed_command
from bridge.languages import Language, Languages, parse_language
from config.settings import SettingsError, load_settings
from core.errors import BadInput
from core.model import ConversationKey
from core.receipts import say_receipt
from core.tongue import speaking
from core.tongue.extract import ROOT
from core.words import moment, without_moments


def test_a_channels_own_comes_before_its_workspaces_before_everybodys(tmp_path, monkeypatch):
    path = tmp_path / "moot.toml"
    path.write_text(
        '[chat]\nlanguage = "ko"\n[chat.languages]\n"slack:T1" = "en"\n'
        '[channels."slack:C1"]\nlanguage = "ko"\n[channels."slack:C3"]\nmode = "full"\n'
    )
    languages = Languages.of(load_settings(path))
    assert languages.at("discord", "G", "7") == "ko"
    assert languages.at("slack", "T1", "C2") == "en"
    assert languages.at("slack", "T1", "C3") == "en"
    assert languages.at("slack", "T1", "C1") == "ko"
    assert languages.at("slack", "T1", "") == "en", "a person's own page"
    assert languages.of_key(ConversationKey("slack", "T2", "C9", "1")) == "ko"


@pytest.mark.parametrize("entry", ['"acme" = "ko"', '"*" = "ko"', '"slack:T1" = "kr"'])
def test_a_workspace_is_named_by_its_id_and_a_language_by_its_letters(tmp_path, entry):
    path = tmp_path / "moot.toml"
    path.write_text(f"[chat.languages]\n{entry}\n")
    with pytest.raises(SettingsError, match=r"\[chat\] languages"):
        load_settings(path)


def test_what_was_chosen_comes_first_until_it_is_given_back():
    languages = Languages("en", {"slack:C1": "ko"})
    here = ("slack", "T1", "C1")
    languages.note(here, "en")
    assert languages.at(*here) == "en"
    languages.note(here, "")
    assert languages.at(*here) == "ko"


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("", Language()),
        ("ko", Language("ko")),
        ("Korean", Language("ko")),
        ("한국어", Language("ko")),
        ("영어", Language("en")),
        ("auto", Language("")),
    ],
)
def test_a_language_is_named_as_people_name_it(typed, wanted):
    assert parse_language(typed) == wanted
    assert parse("language", typed, Names()) == wanted


def test_a_language_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(BadInput, match=r"“klingon”.*`en` \(English\), `ko` \(한국어\)"):
        parse_language("klingon")


def test_korean_words_are_commands_where_commands_stand():
    assert typed_command("!중지") == ("stop", "")
    assert typed_command("!언어 ko") == ("language", "ko")
    assert typed_command("!중요한 것부터") is None
    assert typed_command("중지 버튼이 안 돼") is None
    assert bare_word(cast("Any", SimpleNamespace(text=" 멈춰 "))) == ("stop", "")
    assert bare_word(cast("Any", SimpleNamespace(text="중지 버튼이 안 돼"))) is None


def test_a_time_names_its_zone_where_it_stays_a_text():
    assert moment(1_764_525_300) == "[2025-11-30 17:55 UTC](moot-time:1764525300)"
    with speaking("ko"):
        assert without_moments(f"{moment(1_764_525_300)}까지") == "2025-11-30 17:55 UTC까지"


# What reaches people, and which argument of it is the text.
TEXTS = {"Reply": 0, "BadInput": 0, "NotAllowed": 0, "Button": 1, "Field": 1, "Form": 1}
ON_THE_HOST = re.compile(r"_cli\.py$|^bridge/setup/|^core/engines/|^bridge/(load|trial)\.py$")


def test_what_people_are_told_goes_through_say():
    bare = []
    for package in ("bridge", "core", "adapters"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if ON_THE_HOST.search(name):
                continue
            for call in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                    continue
                at = TEXTS.get(call.func.id)
                shown = call.args[at : at + 1] if at is not None else []
                shown += [kw.value for kw in call.keywords if at is not None and kw.arg == "hint"]
                if any(map(_is_bare, shown)):
                    bare.append(f"{name}:{call.lineno}")
    assert not bare, "say(…) them: see docs/how-to/languages.md"


def _is_bare(text: ast.AST) -> bool:
    """Whether words or a marked constant are shown that no call (``say``, a helper) looked up."""
    if isinstance(text, ast.Constant):
        return isinstance(text.value, str) and re.search(r"[A-Za-z]{2}", text.value) is not None
    if isinstance(text, ast.Name):
        return text.id in _marked()
    if isinstance(text, ast.IfExp):
        return _is_bare(text.body) or _is_bare(text.orelse)
    if isinstance(text, ast.Subscript):
        return _is_bare(text.value)
    if isinstance(text, ast.Call | ast.Compare | ast.Attribute):
        return False
    return any(map(_is_bare, ast.iter_child_nodes(text)))


def test_what_lists_begin_with_goes_through_say():
    bare = []
    for path in sorted((*(ROOT / "bridge").rglob("*.py"), *(ROOT / "core/turns").rglob("*.py"))):
        name = str(path.relative_to(ROOT))
        if ON_THE_HOST.search(name):
            continue
        lists = [
            joined.args[0].elts[0]
            for joined in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(joined, ast.Call)
            and isinstance(joined.func, ast.Attribute)
            and joined.func.attr == "join"
            and isinstance(joined.args[0], ast.List)
            and joined.args[0].elts
        ]
        bare += [f"{name}:{first.lineno}" for first in lists if _is_bare(first)]
    assert not bare, "say(…) them: see docs/how-to/languages.md"


@cache
def _marked() -> frozenset[str]:
    """The names of all constants that are marked with ``to_say``."""
    found = re.compile(r"^([A-Z][A-Z_]+) = to_say\(", re.MULTILINE)
    paths = (
        path
        for package in ("bridge", "core", "adapters")
        for path in (ROOT / package).rglob("*.py")
    )
    return frozenset(name for path in paths for name in found.findall(path.read_text("utf-8")))


def test_words_that_records_and_packs_name_are_said_too():
    run = {
        "run": "c9e455e7",
        "persona": "",
        "engine": "claude",
        "state": "answered",
        "mode": "lite",
        "reason": "default",
        "chars": 100,
        "budget": 1000,
        "dropped": [],
        "estimated_tokens": 25,
        "budget_from": "default",
        "sections": [{"name": "files", "used": 5, "granted": 9, "hash": "c1d57ce4"}],
    }
    with speaking("ko"):
        told = say_receipt(run)
    assert "claude · 답변함" in told
    assert "(기본값)" in told
    assert "| 섹션 |  | 사용 | 한도 | 해시 |" in told
    assert "**Run `c9e455e7`** · claude · answered" in say_receipt(run)
