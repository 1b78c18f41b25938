"""An answer that an admin deletes in chat, by the whole product: nobody is told it any more."""

from __future__ import annotations

import pytest

from tests.e2e.test_roundtables import Table, on_both, table  # noqa: F401 - a fixture

pytestmark = pytest.mark.peers

WORD = "zebrafish"  # only the agent says it: the directive holds it in two halves
HALVES = "zebra''fish"


async def asked(table: Table, root: str, text: str, answer: str) -> str:  # noqa: F811
    """Ask in the thread; the post that begins to answer, once all of the answer stands."""
    await table.side.reply(root, text)
    posts = await table.shown(
        root,
        lambda found: (
            any(answer in post.text for post in found) and not any("⏳" in p.text for p in found)
        ),
        answer,
    )
    return "\n".join(post.text for post in posts)


@on_both
async def test_a_deleted_answer_is_told_to_nobody_and_its_run_is_still_explained(table):  # noqa: F811
    root, _ = await table.side.mention(f"@@rehearse text=It-is-{HALVES}.@@ which fish?")
    said = await table.says(root, WORD)
    seen = f"@@rehearse text=I-know-it. when={HALVES}@@ do you?"
    await asked(table, root, f"!ask --as critic {seen}", "I-know-it.")
    [[run]] = table.rows("SELECT id FROM run ORDER BY opened_at LIMIT 1")

    await table.side.take_back(root, said.id)
    await table.product.event("event.accepted", kind="delete")
    for who in ("", "!ask --as critic "):
        name = who.split()[-1] if who else "same"
        shown = await asked(
            table, root, f"{who}@@rehearse show=context@@ now, {name}?", f"now, {name}?"
        )
        assert "Platform rules" in shown  # all of the context, not only what is new
        assert WORD not in shown

    assert table.rows(f"SELECT count(*) FROM message WHERE text LIKE '%{WORD}%'") == [(0,)]
    assert table.rows(f"SELECT count(*) FROM run WHERE answer LIKE '%{WORD}%'") == [(0,)]
    assert table.rows(f"SELECT count(*) FROM outbox WHERE text LIKE '%{WORD}%'") == [(0,)]
    receipt = await asked(table, root, f"!context {run[:8]}", "Earlier runs here")
    assert "platform-rules" in receipt
    assert "platform-rules" in await table.product.command("pack", run[:8])
