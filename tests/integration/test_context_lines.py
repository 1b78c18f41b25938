"""Lines of context that an engine writes: messages are found by them, and they go as these do."""

from __future__ import annotations

import json
import shlex

import pytest

from core.memory.summarise import By, Summariser
from core.model import Topic
from core.records import messages, topics
from core.records.search import search
from core.records.tables import ContextLineRow, MessageIndex
from tests.integration.scenes import scene_of
from tests.integration.test_summarise import KEY, Memory, memory  # noqa: F401 - a fixture

WORD = "quetzalcoatl"


def answer(context: object) -> str:
    topic = {"title": "A", "statements": [{"text": "A", "messages": [1]}]}
    return f"text={shlex.quote(json.dumps({'topics': [topic], 'context': context}))}"


async def told(memory: Memory, context: object, *, wanted: bool = True) -> None:  # noqa: F811
    """An engine sums up the older part and writes these lines."""
    memory.engine.order = answer(context)
    memory.summariser = Summariser(
        memory.records,
        By(memory.engine),
        scratch=memory.folder / "scratch",
        slots=memory.slots,
        context=wanted,
    )
    await memory.say(20)
    await memory.look()


async def found(memory: Memory, word: str = WORD) -> list[int]:  # noqa: F811
    def look() -> list[int]:
        elsewhere = messages.open_conversation(
            KEY.__class__("slack", "T", "C1", "2"), direct=False, in_thread=False, now=1.0
        )
        return [one.message.id for one in search(scene_of(elsewhere.id), word, 30)]

    return await memory.records.do(look)


async def left(memory: Memory) -> tuple[int, int]:  # noqa: F811
    """How many lines there are, and how many keyword rows hold the word."""

    def look() -> tuple[int, int]:
        rows = [row.context for row in MessageIndex.select()]
        return ContextLineRow.select().count(), sum(WORD in text for text in rows)

    return await memory.records.do(look)


async def test_a_message_is_found_by_the_line_about_it(memory):  # noqa: F811
    await told(memory, {"3": f"the {WORD} statue", "99": f"{WORD} of nobody", "4": 7, "x": WORD})
    assert await found(memory) == [3]
    assert await left(memory) == (1, 1)


async def test_what_comes_between_leaves_the_line_and_changes_the_rest(memory):  # noqa: F811
    await told(memory, {"3": f"the {WORD} statue"})
    await memory.records.do(messages.remove, KEY, "20", 99.0)  # no message of the pass
    assert await found(memory) == [3]


@pytest.mark.parametrize("context", [None, [WORD], WORD, {"3": ""}])
async def test_an_answer_without_such_lines_is_a_summary_all_the_same(memory, context):  # noqa: F811
    await told(memory, context)
    assert [title for title, _, _ in await memory.topics()] == ["A"]
    assert await left(memory) == (0, 0)


async def test_nobody_is_asked_for_lines_unless_the_settings_say_so(memory):  # noqa: F811
    await told(memory, {"3": WORD}, wanted=False)
    assert await left(memory) == (0, 0)


@pytest.mark.parametrize("how", ["itself", "another", "edit", "too old"])
async def test_a_line_goes_with_any_message_that_its_pass_read(memory, how):  # noqa: F811
    await told(memory, {"3": f"the {WORD} statue", "5": f"{WORD} again"})
    assert await left(memory) == (2, 2)
    if how == "edit":
        await memory.records.do(messages.change_text, KEY, "7", "Something else.", 99.0)
    elif how == "too old":
        await memory.records.do(lambda: messages.erase(7, 99.0, aged=True))
    else:
        await memory.records.do(messages.remove, KEY, "3" if how == "itself" else "7", 99.0)
    assert await left(memory) == (0, 0)
    assert await found(memory) == []


async def test_lines_are_no_text_that_anybody_is_told(memory):  # noqa: F811
    await told(memory, {"3": WORD})
    made: tuple[Topic, ...] = await memory.records.do(topics.topics_of, 1)
    assert WORD not in str(made)
    said = await memory.records.do(messages.recent, 1, 30)
    assert WORD not in str(said)
