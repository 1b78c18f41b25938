"""What Codex asks for that cannot be put to people: it is answered at once."""

from __future__ import annotations

import pytest

from tests.unit.test_codex import COMMAND, Talk


def test_a_second_request_with_the_same_id_is_refused() -> None:
    talk = Talk(permission="ask", asks=True)
    first = talk.asks(COMMAND, 7, command="touch x", cwd="/w")
    assert talk.asks(COMMAND, 7, command="rm -r x", cwd="/w") is None
    (refused,) = talk.sent()
    assert (refused["id"], "error" in refused) == (7, True)
    assert first is not None
    assert talk.decide("once", number="7") == [{"id": 7, "result": {"decision": "accept"}}]


@pytest.mark.parametrize("questions", [[], [{"id": "a"}], [{"id": "a", "question": " "}]])
def test_a_question_without_words_waits_for_nobody(questions: list[dict[str, str]]) -> None:
    talk = Talk(permission="ask", asks=True)
    assert talk.asks("item/tool/requestUserInput", 7, questions=questions) is None
    (answer,) = talk.sent()
    assert answer["result"]["answers"].keys() == {q["id"] for q in questions}
