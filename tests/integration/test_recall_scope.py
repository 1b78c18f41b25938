"""What a memory Pull may find, on real records."""

from pathlib import Path

import pytest

from core.model import Author, ChatEvent, ConversationKey, Participant, Project, Pull
from core.records import messages, turns
from core.records.thread import Records
from core.sources.catalog import all_sources
from core.turns.gather import Gather

KEY = ConversationKey("paper", "", "C", "1")
KIM = Author("U1", "Kim")
SEAT = Participant("claude")


def said(number: int, text: str) -> ChatEvent:
    at = str(number)
    return ChatEvent(KEY, f"e{at}", at, KIM, text, "message", float(number))


@pytest.mark.parametrize("kind", ["ask", "roundtable"])
async def test_c066_a_pull_does_not_find_the_question_or_what_was_just_said_to_it(
    tmp_path: Path, kind
):
    records = Records(tmp_path / "moot.sqlite")
    await records.open()

    def write():
        conversation = messages.open_conversation(KEY, direct=False, in_thread=False, now=1.0)
        messages.add_event(conversation.id, said(1, "the demo is on Thursday"), addressed=True)
        asked, _ = messages.add_event(conversation.id, said(2, "when is the demo?"), addressed=True)
        turn_id = turns.queue_turn(
            conversation.id,
            kind=kind,
            prompt="when is the demo?",
            prompt_message_id=asked,
            asker="Kim",
            asker_key="paper:U1",
            seats=(SEAT,),
            rounds=1,
            mode="",
            now=3.0,
        )
        messages.add_answer(
            conversation.id, SEAT, "Let me look up the demo.", turn_id=turn_id, now=4.0
        )
        return turns.get_turn(turn_id), conversation

    turn, conversation = await records.do(write)
    gather = Gather(
        records,
        turn,
        conversation,
        Project("p", str(tmp_path)),
        sources=all_sources(tmp_path),
        history_messages=20,
        persona_folder=tmp_path,
    )
    [found] = await gather.pulled((Pull("memory", "demo"),))
    await records.close()
    text = "\n".join(found.hits)
    assert "Thursday" in text
    assert "when is the demo?" not in text
    # At a table what another seat said in this turn is worth finding.
    assert ("Let me look up" in text) is (kind == "roundtable")
