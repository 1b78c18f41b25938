"""Plans, findings, links and branches through the door, with a real SQLite file."""

from __future__ import annotations

import time

import pytest

from bridge.team_acts import say_opened
from core.model import Author, Outcome, Participant, Step
from core.records import links, messages, outbox, places, runs
from core.records.tables import AuditRow, ConversationRow, OutboxRow
from tests.integration.scenes import claim_oldest
from tests.integration.test_intake import EVE, POLICY, House, house  # noqa: F401 - a fixture

GUEST = Author("U2", "Gus", grants=("slack:U2",), trusted=False)
NOW = time.time()


async def said(house: House, root: str = "") -> list[str]:  # noqa: F811
    """What we owe to a thread (all of them: ""), oldest first."""

    def ask():
        rows = OutboxRow.select().join(ConversationRow).order_by(OutboxRow.id)
        return [row.text for row in rows if not root or row.conversation.root == root]

    return await house.records.do(ask)


async def test_a_plan_from_proposal_to_done(house):  # noqa: F811
    await house.say("!plan new Ship it\n- write\n- test", at="1", mention=True)
    await house.say("!plan approve 1", at="2", root="1")
    await house.say("!plan start 1.1", at="3", root="1")
    await house.say("!plan done 1.1", at="4", root="1")
    await house.say("!plan done 1", at="5", root="1")
    await house.say("!plan", at="6", root="1")
    await house.say("!plan new Next\n- one", at="7", root="1")
    await house.say("!plan approve 2", at="8", root="1")
    await house.say("!plan done 2.1", at="9", root="1")
    posts = await said(house)
    assert "Plan **1** is proposed, with 2 subtasks" in posts[0]
    assert "(active)" in posts[1]
    assert "◐ 1.1 write" in posts[2]
    assert "☑ 1.1 write" in posts[3]
    assert "(done)" in posts[4]
    assert "**1** Ship it (done, 1 of 2 done)" in posts[5]
    assert "`!plan done 2` closes the plan" not in posts[7]
    assert "`!plan done 2` closes the plan" in posts[8]  # what to do next
    log = await house.records.do(lambda: [(r.actor_name, r.action) for r in AuditRow.select()])
    assert ("Kim", "proposed -> active") in log
    assert len(await house.turns()) == 0  # nothing of it is a question


async def test_what_is_not_possible_is_said_and_changes_nothing(house):  # noqa: F811
    await house.say("!plan new A", at="1", mention=True)
    await house.say("!plan done 1", at="2", root="1")
    await house.say("!plan approve 9", at="3", root="1")
    await house.say("!plan aprove 1", at="4", root="1")
    posts = await said(house)
    assert "it can become active or rejected" in posts[1]
    assert "no plan 9 that may be seen from here" in posts[2]
    assert "Did you mean `!plan approve`?" in posts[3]
    await house.say("!plan reject 1", at="5", root="1")
    await house.say("!plan approve 1", at="6", root="1")
    assert "Plan 1 is rejected: propose it anew with `!plan new TITLE`" in (await said(house))[5]


async def test_the_door_is_the_same(house):  # noqa: F811
    await house.say("!plan new A", at="1", mention=True)
    await house.say("!plan approve 1", at="2", root="1", who=EVE, mention=True)
    assert "may not use Moot here" in (await said(house))[-1]
    reply = await house.act("command", "plan approve 1", command="moot", who=EVE)
    assert "may not use Moot here" in reply.text
    last = (await house.records.do(lambda: list(AuditRow.select())))[-1]
    assert last.action == "created"


async def test_a_command_twice_makes_one_plan(house):  # noqa: F811
    for _ in range(2):
        await house.act("command", "plan new Only once", command="moot", event_id="same")
    assert sum("Only once" in text for text in await said(house)) == 1


async def test_at_channel_level_something_new_opens_a_thread_of_its_own(house):  # noqa: F811
    reply = await house.act("command", "plan new Ship it\n- write", command="moot")
    assert "Plan **1** is proposed" in reply.text
    [row] = await house.records.do(lambda: list(OutboxRow.select()))
    assert (row.kind, row.title) == ("header", "Ship it")
    assert "☐ 1.1 write" in row.text
    listed = await house.act("command", "plans", command="moot", event_id="e2")
    assert "**1** Ship it" in listed.text
    changed = await house.act("command", "plan approve 1", command="moot", event_id="e3")
    assert "(active)" in changed.text
    assert "(active)" in (await said(house))[-1]  # told in the plan's own thread
    refused = await house.act("command", "branch", command="moot", event_id="e4")
    assert "belongs to a thread" in refused.text


async def test_findings_artifacts_and_long_lists(house):  # noqa: F811
    await house.say("!finding add [security/low] a *b*", at="1", mention=True)
    for number in range(2, 20):
        await house.say(f"!finding add no. {number}", at=str(number), root="1")
    await house.say("!finding add [critical] it burns", at="20", root="1")
    await house.say("!finding close 3", at="21", root="1")
    await house.say("!findings", at="22", root="1")
    listed = (await said(house))[-1]
    assert listed.startswith("- **20** it burns (critical, general)")
    assert "- … and 4 more" in listed
    assert "1 more is closed" in listed
    await house.say("!finding 1", at="23", root="1")
    assert "(open, low, security), by Kim\n\na *b*" in (await said(house))[-1]
    await house.say("!artifact add Notes\n\n```\nx\n```", at="24", root="1")
    await house.say("!artifact show 1", at="25", root="1")
    assert "**Artifact 1: Notes**, by Kim\n\n```\nx\n```" in (await said(house))[-1]
    await house.say("!decisions", at="26", root="1")
    assert "Nothing is settled yet" in (await said(house))[-1]


async def test_links_are_made_seen_and_taken_away(house):  # noqa: F811
    await house.say("why is the cache slow?", at="1700000001.000100", mention=True)
    await house.say("is the cache slow again?", at="1700000002.000100", mention=True)
    there = "1700000001.000100"
    address = "https://x.slack.com/archives/C/p1700000001000100"
    await house.say("!link", at="1700000003.000100", root="1700000002.000100")
    assert "`!link N` links one" in (await said(house))[-1]
    assert "**1** why is the cache slow?" in (await said(house))[-1]
    await house.say(f"!link {address}", at="1700000004.000100", root="1700000002.000100")
    assert (
        "Kim linked this thread with [thread 2](https://chat.test/C/1700000002.000100/)"
        in (await said(house, there))[-1]
    )
    assert "linked this thread with [thread 1]" in (await said(house))[-1]
    await house.say("!link 1", at="1700000005.000100", root="1700000002.000100")
    assert "linked already with **1** why" in (await said(house))[-1]
    await house.say("!unlink", at="1700000006.000100", root="1700000002.000100")
    assert "took away the link" in (await said(house))[-1]
    await house.say("!unlink 1", at="1700000007.000100", root="1700000002.000100")
    assert "not linked with that one" in (await said(house))[-1]


@pytest.mark.parametrize("public", [True, False])
async def test_a_link_tells_nothing_of_what_may_not_be_seen(house, public):  # noqa: F811
    """A private channel, an unknown thread, and a guest get one and the same answer."""
    await house.say("secret", at="1700000001.000100", mention=True, key=_key(house, "P"))
    await house.say("here", at="2", mention=True, public=public, sent_at=time.time())
    answers = []
    tries = ("1", "99", "https://x.slack.com/archives/P/p1700000001000100", "https://x.test/")
    for number, target in enumerate(tries):
        await house.say(f"!link {target}", at=f"3{number}", root="2")
        answers.append((await said(house))[-1])
    assert len(set(answers)) == 1
    assert "There is no such thread that this one may be linked with" in answers[0]
    assert await house.records.do(lambda: links.linked(_scene(2))) == ()


async def test_a_guest_links_no_public_channel(house):  # noqa: F811
    now = time.time()  # told late, it opens nothing
    await house.say("open", at="1", mention=True, public=True, sent_at=now, key=_key(house, "O"))
    await house.say("here", at="2", mention=True, public=True, sent_at=now)
    await house.say("!link 1", at="3", root="2", who=GUEST)
    assert "There is no such thread" in (await said(house))[-1]
    await house.say("!link 1", at="4", root="2")
    assert "linked this thread" in (await said(house))[-1]


async def test_a_branch_forks_is_told_and_comes_back(house):  # noqa: F811
    await house.say("SQL or files?", at="1", mention=True)
    await house.say("I like files", at="2", root="1")
    await house.say("!branch what if files", at="3", root="1")
    [header] = [t for t in await said(house) if "what if files" in t]
    assert "branched off from [another thread](https://chat.test/C/1/2)" in header
    assert "I like files" not in header  # a deleted message would live on in it
    made = await house.records.do(lambda: links.branches_of(1)[0])
    assert made.message_id == 2
    inside = await house.records.do(lambda: messages.get_conversation(made.conversation_id))
    assert inside.engaged

    def opened():
        places.set_root(inside.id, "77")
        messages.add_answer(
            inside.id, Participant("claude"), "Files, **because**\n- simple", turn_id=1, now=NOW
        )

    await house.records.do(opened)
    await house.say("!branch adopt", at="78", root="77")
    back = (await said(house, "1"))[-1]
    assert "Kim adopted the branch **what if files**" in back
    assert "> Files, **because**\n> - simple" in back
    assert "adopted this branch" in (await said(house, "77"))[-1]
    await house.say("!branch discard", at="79", root="77")
    assert "adopted already" in (await said(house, "77"))[-1]
    await house.say("!branch adopt", at="80", root="1")
    assert "This thread is no branch" in (await said(house, "1"))[-1]


async def test_a_branch_that_cannot_be_opened_is_said_in_its_parent(house):  # noqa: F811
    await house.say("SQL or files?", at="1", mention=True)
    await house.say("!branch another way", at="3", root="1")
    made = await house.records.do(lambda: links.branches_of(1)[0])

    def refuse():
        say_opened(
            made.conversation_id,
            "the channel is archived",
            NOW,
            ground=POLICY.ground,
            render=lambda _chat, text: (text,),
        )

    await house.records.do(refuse)
    told = (await said(house, "1"))[-1]
    assert "**another way** could not be opened: the channel is archived" in told
    assert (await house.records.do(lambda: links.branches_of(1)[0])).state == "discarded"


async def test_a_branch_at_a_message_by_its_address(house):  # noqa: F811
    await house.say("first", at="1700000001.000100", mention=True)
    await house.say("second", at="1700000002.000100", root="1700000001.000100")
    link = "https://x.slack.com/archives/C/p1700000001000100"
    await house.say(f"!branch {link} over again", at="3", root="1700000001.000100")
    assert (await house.records.do(lambda: links.branches_of(1)))[0].message_id == 1
    other = "https://x.slack.com/archives/C/p1700000009000100"
    await house.say(f"!branch {other}", at="4", root="1700000001.000100")
    assert "no message of this thread" in (await said(house))[-1]


async def test_a_branch_at_an_answer_that_ended_with_a_position(house):  # noqa: F811
    await house.say("SQL or files?", at="1700000001.000100", mention=True)
    seat = Participant("claude", "critic")

    def answered():
        turn = claim_oldest((), NOW)
        runs.open_run(
            "r1", turn, Step(0, 0), seat, can_write=False, receipt={}, status=None, now=NOW
        )
        said = 'Files.\n\n<!-- position {"stance": "agree"} -->'
        done = Outcome("answered", text=said)
        runs.settle_run("r1", "answered", done, answer=said, pulls=(), now=NOW)
        other = Participant("codex", "architect")  # who said the same before
        messages.add_answer(1, other, "Files.", turn_id=turn.id, now=NOW)
        message = messages.add_answer(1, seat, "Files.", turn_id=turn.id, now=NOW)
        post = outbox.add_post(1, "answer", ["Files."], turn_id=turn.id, run_id="r1", now=NOW)
        outbox.mark_sent(post, "1700000005.000100", None, NOW)
        return message

    message = await house.records.do(answered)
    root = "1700000001.000100"
    await house.say("!branch https://x.slack.com/archives/C/p170", at="6", root=root)
    assert "no message of this thread" in (await said(house))[-1]
    link = "https://x.slack.com/archives/C/p1700000005000100"
    await house.say(f"!branch {link} files then", at="7", root=root)
    [made] = await house.records.do(lambda: links.branches_of(1))
    assert made.message_id == message


async def test_help_has_a_second_page(house):  # noqa: F811
    first = await house.act("command", "help", command="moot")
    second = await house.act("command", "help plans", command="moot", event_id="e2")
    assert "`!help plans`" in first.text
    assert "`!plan new TITLE`" in second.text


def _key(house: House, channel: str):  # noqa: F811
    from core.model import ConversationKey

    root = {"P": "1700000001.000100", "O": "1"}[channel]
    return ConversationKey("slack", "T", channel, root)


def _scene(conversation_id: int):
    from core.model import Project, Scene

    here = messages.get_conversation(conversation_id)
    return Scene(
        here, Project("moot", "", "plan"), "", 0, 0, project_channels=("*",), asker_trusted=True
    )
