"""What Moot says is in every language, and no translation can break a message."""

import ast
from io import BytesIO

import pytest
from babel.messages.catalog import Catalog
from hypothesis import given, settings
from hypothesis import strategies as st

from core import tongue
from core.tongue import (
    LANGUAGES,
    in_english,
    language_at,
    say,
    say_later,
    say_many,
    say_now,
    speaking,
    speaking_at,
    spoken,
    where_spoken,
)
from core.tongue.catalogue import catalogue, compiled, fits, read
from core.tongue.extract import KEYWORDS, PACKAGES, ROOT, texts, updated
from core.tongue.filling import fill, last_sound

OTHERS = [language for language in LANGUAGES if language != "en"]


@pytest.fixture(scope="module")
def said() -> dict[str | tuple[str, ...], str]:
    """All that the code says, and one place of each."""
    return {text: where for where, text in texts()}


# --- laws of the catalogues ----------------------------------------------------------------


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_is_translated_and_none_is_translated_in_vain(language, said):
    known = {message.id: message.string for message in read(language) if message.id}
    lacks = [f"{where}: {text}" for text, where in said.items() if not known.get(text)]
    assert not lacks, "`make words` adds them to the file; then translate them"
    assert not [text for text in known if text not in said], "`make words` takes them out"


@pytest.mark.parametrize("language", OTHERS)
def test_translations_have_the_placeholders_of_their_texts(language):
    wrong = [message.id for message in read(language) if not fits(message.id, message.string)]
    assert not wrong


@pytest.mark.parametrize("language", OTHERS)
def test_the_file_is_as_make_words_writes_it(language):
    assert updated(language).decode() == (ROOT / f"core/tongue/{language}.po").read_text("utf-8")


@pytest.mark.parametrize("language", OTHERS)
def test_commands_and_names_stay_as_they_are_typed(language):
    """What stands between backticks and begins like a command is typed: it has no translation."""
    known = {"!language"}
    for _, text in texts():
        known |= _typed(text if isinstance(text, str) else text[-1])
    for message in read(language):
        forms = message.string if isinstance(message.string, tuple) else (message.string,)
        for form in forms:
            assert _typed(form) <= known, message.id


def _typed(text: str) -> set[str]:
    parts = text.split("`")[1::2]
    return {part.split()[0] for part in parts if part[:1] in ("!", "/") and part.split()}


def test_what_is_said_is_a_literal_that_can_be_found():
    """Not an f-string, and not inside one: neither would ever be looked up."""
    found = {one for _, text in texts() for one in ([text] if isinstance(text, str) else text)}
    faults = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text("utf-8")
            if "from core.tongue import" not in source:
                continue
            for call in ast.walk(ast.parse(source)):
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                    continue
                if call.func.id not in KEYWORDS or not call.args:
                    continue
                for text in call.args[: 2 if call.func.id == "say_many" else 1]:
                    literal = isinstance(text, ast.Constant)
                    if isinstance(text, ast.JoinedStr) or (literal and text.value not in found):
                        faults.append(f"{path.relative_to(ROOT)}:{text.lineno}")
    assert not faults


def test_a_translation_that_does_not_fit_is_left_out():
    texts = Catalog(locale="ko")
    texts.add("{name} is here", "{naem}이(가) 있습니다")
    texts.add("{count} of {all}", "{all}개 중 {count}개")
    texts.add("Stop", "중지 {")
    texts.add(("{count} call", "{count} calls"), ("호출 {cuont}회",))
    made = compiled(texts)
    assert made.gettext("{name} is here") == "{name} is here"
    assert made.gettext("Stop") == "Stop"
    assert made.ngettext("{count} call", "{count} calls", 2) == "{count} calls"
    assert made.gettext("{count} of {all}") == "{all}개 중 {count}개"


# --- saying -------------------------------------------------------------------------------


def test_it_is_said_in_the_language_that_is_spoken():
    assert say("Stop") == "Stop"
    with speaking("ko"):
        assert say("Stop") == "중지"
        assert say_many("{count} call", "{count} calls", 3) == "호출 3회"
        assert say("said by nobody: {name}", name="kim") == "said by nobody: kim"
        assert say("") == ""
        with speaking("en"):
            assert say("Stop") == "Stop"
    assert spoken() == "en"


def test_a_language_that_is_not_there_is_english():
    with speaking("xx"):
        assert spoken() == "en"
        assert say("Stop") == "Stop"
    assert catalogue("xx").gettext("Stop") == "Stop"


def test_values_are_never_taken_for_placeholders():
    with speaking("ko"):
        assert "{0} {name}" in say("Asking {engine}.", engine="{0} {name}")


def test_later_is_english_until_it_is_said():
    later = say_later("the last {days} days", days=7)
    assert later == "the last 7 days"
    with speaking("ko"):
        assert f"{later}" == "the last 7 days"
        assert say_now(later) == "최근 7일"
        assert say_now("the last 7 days") == "the last 7 days"


async def test_what_agents_are_told_is_english():
    @in_english
    async def told() -> str:
        return say("Stop")

    with speaking("ko"):
        assert await told() == "Stop"
        assert say("Stop") == "중지"


async def test_a_place_has_its_language():
    class Place:
        chat, space, channel = "slack", "T1", "C1"

    assert language_at("slack", "T1", "C1") == "en"
    where_spoken(lambda chat, space, channel: "ko" if channel == "C1" else "en")
    with speaking_at(Place()):
        assert say("Stop") == "중지"


# --- Korean -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "topic", "subject", "thing", "way"),
    [
        ("서울", "은", "이", "을", "로"),
        ("부산", "은", "이", "을", "으로"),
        ("제주", "는", "가", "를", "로"),
        ("claude", "는", "가", "를", "로"),
        ("#7", "은", "이", "을", "로"),
        ("3", "은", "이", "을", "으로"),
        ("12", "는", "가", "를", "로"),
        ("main", "은", "이", "을", "으로"),
        ("mail", "은", "이", "을", "로"),
        ("gpt-5", "는", "가", "를", "로"),
    ],
)
def test_particles_fit_the_word_before_them(word, topic, subject, thing, way):
    text = "{word}은(는) “{word}”이(가) `{word}`을(를) **{word}**(으)로"
    assert fill("ko", text, {"word": word}) == (
        f"{word}{topic} “{word}”{subject} `{word}`{thing} **{word}**{way}"
    )


@pytest.mark.parametrize("word", ["build", "", "…", "日本", "file"])
def test_where_nobody_can_tell_both_are_written(word):
    assert fill("ko", "{word}을(를)", {"word": word}) == f"{word}을(를)"


def test_only_what_follows_a_value_is_changed():
    assert fill("ko", "을(를) {word} 은(는)", {"word": "은(는)"}) == "을(를) 은(는) 은(는)"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20))
def test_any_value_stays_whole(word):
    said = fill("ko", "«{word}»을(를) 봅니다", {"word": word})
    assert said.startswith(f"«{word}»")
    assert last_sound(word) in (None, "", "l", "m", "n", "k")


def test_english_needs_no_file():
    """Nothing is read for English, and Babel is not even imported."""
    source = BytesIO((ROOT / "core/tongue/__init__.py").read_bytes()).read()
    assert b"babel" not in source
    assert catalogue("en").gettext("Stop") == "Stop"
    assert tongue.say("Stop") == "Stop"
