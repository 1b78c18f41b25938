"""A team's records on a real SQLite file: who changed what, who sees what, and what is erased."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from peewee import SqliteDatabase

from core.context.delta import Known
from core.errors import BadInput
from core.model import (
    Actor,
    Author,
    ChatEvent,
    Conversation,
    ConversationKey,
    Origin,
    Participant,
    Subtask,
)
from core.records import filing, findings, ledger, links, messages, places, plans, sessions
from core.records.tables import ALL_TABLES, AuditRow, ConversationRow, DecisionRow
from core.records.thread import Records
from tests.integration.scenes import scene_of

KIM = Actor("slack:U1", "Kim")
ARCHITECT = Actor("agent:architect", "architect")
ALL = ("slack:C1", "slack:C2", "slack:C3")


def opened(channel: str = "C1", root: str = "1", *, public: bool = False, direct: bool = False):
    key = ConversationKey("slack", "T", channel, root)
    made = messages.open_conversation(key, direct=direct, in_thread=False, now=1.0)
    ConversationRow.change(made.id, public=public)
    return messages.get_conversation(made.id)


def said(conversation: Conversation, text: str, at: str) -> int:
    event = ChatEvent(
        conversation.key, f"{conversation.id}:{at}", at, Author("U1", "Kim"), text, "message",
        float(at),
    )  # fmt: skip
    return messages.add_event(conversation.id, event, addressed=True)[0]


def origin(conversation: Conversation, message_id: int = 0, turn_id: int = 0) -> Origin:
    return Origin("p", conversation.id, message_id, turn_id)


def at(conversation: Conversation, **more):
    return scene_of(conversation.id, **{"project_channels": ALL} | more)


def audited(conversation: Conversation) -> list[tuple[str, str, str]]:
    return [
        (entry.actor.name, f"{entry.kind} {entry.number}", entry.action)
        for entry in reversed(filing.audit(at(conversation), 100))
    ]


# --- plans ---------------------------------------------------------------------------------


async def test_a_plan_from_proposal_to_done_and_who_did_it(records):
    def story():
        here = opened()
        plan = plans.propose(
            origin(here), "Audit log", subtasks=["table", Subtask(9, "writers", owner="codex")],
            by=ARCHITECT, now=2.0,
        )  # fmt: skip
        assert (plan.number, plan.state, plan.by) == (1, "proposed", "architect")
        assert [(t.number, t.title, t.state, t.owner) for t in plan.subtasks] == [
            (1, "table", "todo", ""),
            (2, "writers", "todo", "codex"),
        ]
        assert plans.active_plan(here.id) is None
        assert plans.current_plan(here.id) == plan
        plan = plans.set_plan_state(plan, "active", by=KIM, now=3.0)
        assert plans.active_plan(here.id) == plan
        plan = plans.set_subtask(plan, 2, state="in-progress", progress="half", by=KIM, now=3.0)
        plan = plans.set_subtask(plan, 1, state="done", by=ARCHITECT, now=4.0)
        assert plan.settled == 1
        plan = plans.set_plan_state(plan, "done", by=KIM, now=5.0)
        assert plans.current_plan(here.id) is None
        assert plans.list_plans(at(here)) == (plan,)
        assert plans.list_plans(at(here), ["active"]) == ()
        assert plans.find_plan(at(here), 1) == plan
        return audited(here)

    assert await records.do(story) == [
        ("architect", "plan 1", "created"),
        ("Kim", "plan 1", "proposed -> active"),
        ("Kim", "plan 1", "subtask 2: todo -> in-progress, progress set"),
        ("architect", "plan 1", "subtask 1: todo -> done"),
        ("Kim", "plan 1", "active -> done"),
    ]


async def test_what_cannot_be_is_refused_and_not_audited(records):
    def story():
        here = opened()
        first = plans.propose(origin(here), "One", subtasks=["a"], by=KIM, now=2.0)
        second = plans.propose(origin(here), "Two", subtasks=["a"], by=KIM, now=2.0)
        with pytest.raises(BadInput, match="it can become active or rejected, not done"):
            plans.set_plan_state(first, "done", by=KIM, now=2.0)
        plans.set_plan_state(first, "active", by=KIM, now=2.0)
        with pytest.raises(BadInput, match="Plan 1 is active in this thread"):
            plans.set_plan_state(second, "active", by=KIM, now=2.0)
        with pytest.raises(BadInput, match="no subtask 7"):
            plans.set_subtask(first, 7, state="done", by=KIM, now=2.0)
        plans.set_plan_state(first, "rejected", by=KIM, now=2.0)
        with pytest.raises(BadInput, match="rejected"):
            plans.set_subtask(first, 1, state="done", by=KIM, now=2.0)
        other = opened(root="2")
        third = plans.propose(origin(other), "Three", by=KIM, now=2.0)
        assert plans.set_plan_state(third, "active", by=KIM, now=2.0).state == "active"
        return [action for _, _, action in audited(here)]

    changes = ["proposed -> active", "active -> rejected", "proposed -> active"]
    assert [a for a in await records.do(story) if a != "created"] == changes


async def test_a_change_that_fails_leaves_no_trace(records):
    def begun():
        here = opened()
        return at(here), plans.propose(origin(here), "One", by=KIM, now=2.0)

    scene, plan = await records.do(begun)

    def broken():
        plans.set_plan_state(plan, "active", by=KIM, now=3.0)
        raise BadInput("something later in the same transaction")

    with pytest.raises(BadInput):
        await records.do(broken)
    assert (await records.do(plans.find_plan, scene, 1)).state == "proposed"
    assert len(await records.do(filing.audit, scene)) == 1


# --- findings and artifacts ----------------------------------------------------------------


async def test_findings_and_artifacts_are_numbered_in_their_project(records):
    def story():
        here, there = opened(), opened("C2")
        one = findings.add_finding(origin(here), "leaks", severity="high", by=KIM, now=1.0)
        two = findings.add_finding(origin(here), "odd name", by=KIM, now=1.0)
        other = findings.add_finding(Origin("q", there.id), "x", by=KIM, now=1.0)
        assert (one.number, two.number, other.number) == (1, 2, 1)
        closed = findings.set_finding_state(one, "closed", by=KIM, now=2.0)
        with pytest.raises(BadInput, match="closed already"):
            findings.set_finding_state(closed, "closed", by=KIM, now=2.0)
        assert findings.list_findings(at(here), ["open"]) == (two,)
        assert findings.list_findings(at(here)) == (two, closed)
        art = findings.add_artifact(origin(here), "Numbers", "42", line="cron", by=KIM, now=1.0)
        assert findings.find_artifact(at(here), 1) == art
        assert findings.find_artifact(at(here), 2**70) is None
        assert findings.find_finding(at(here), 3) is None
        return audited(here)

    assert ("Kim", "finding 1", "open -> closed") in await records.do(story)


# --- the ledger ----------------------------------------------------------------------------


def decide(conversation: Conversation, axis: str, what: str, **more):
    return ledger.decide(origin(conversation), axis, what, by=ARCHITECT, now=1.0, **more)


async def test_a_later_decision_on_the_same_axis_supersedes_the_earlier_one(records):
    def story():
        here = opened()
        first = decide(here, "Storage engine", "files", stances=[("critic", "disagree")])
        other = decide(here, "auth", "JWT")
        second = decide(here, "ＳＴＯＲＡＧＥ-engine!", "SQL", confidence=0.9)
        assert (second.supersedes, first.supersedes) == (first.number, 0)
        found = ledger.list_decisions(at(here))
        assert [(d.number, d.superseded_by) for d in found] == [(3, 0), (2, 0), (1, 3)]
        assert ledger.list_decisions(at(here), standing=True) == (second, other)
        assert ledger.find_decision(at(here), 1).stances == (("critic", "disagree"),)
        third = decide(here, "storage engine", "files after all")
        assert third.supersedes == 3
        return audited(here)

    log = await records.do(story)
    assert ("architect", "decision 1", "superseded by 3") in log
    assert ("architect", "decision 3", "superseded by 4") in log


@pytest.mark.parametrize(
    ("first", "later", "superseded"),
    [
        ({"channel": "C1"}, {"channel": "C1", "root": "2"}, True),
        ({"channel": "C1"}, {"channel": "C2"}, False),
        ({"channel": "C1", "public": True}, {"channel": "C2", "public": True}, True),
        ({"channel": "C1", "public": True}, {"channel": "C2"}, False),
        ({"channel": "C1"}, {"channel": "C2", "public": True}, False),
        ({"channel": "D1", "direct": True}, {"channel": "C1", "public": True}, False),
        ({"channel": "C1", "public": True}, {"channel": "D1", "direct": True}, False),
    ],
)
async def test_what_is_settled_in_private_marks_nothing_elsewhere(
    records, first, later, superseded
):
    def story():
        decide(opened(**first), "storage", "files")
        late = decide(opened(**later), "storage", "SQL")
        return late, ledger.find_decision(at(opened(**first)), 1)

    late, now = await records.do(story)
    assert bool(late.supersedes) is superseded
    assert now.superseded_by == (late.number if superseded else 0)


settled = st.lists(
    st.tuples(
        st.sampled_from(["storage", "Storage!", "auth", "ＡＵＴＨ", "인증"]),
        st.sampled_from([("C1", False), ("C2", False), ("C3", True), ("C4", True)]),
    ),
    max_size=12,
)


@given(settled)
@settings(max_examples=60, deadline=None)
def test_one_decision_stands_on_each_axis_for_each_audience(made):
    latest: dict[tuple[str, str], int] = {}
    database = SqliteDatabase(":memory:")
    with database.bind_ctx(ALL_TABLES):
        database.create_tables(ALL_TABLES)
        for number, (axis, (channel, public)) in enumerate(made, start=1):
            axis_now = {"storage!": "storage", "ａｕｔｈ": "auth"}.get(axis.lower(), axis.lower())
            audience = "public" if public else channel
            decision = decide(opened(channel, public=public), axis, "x")
            assert decision.number == number
            assert decision.supersedes == latest.get((axis_now, audience), 0)
            latest[axis_now, audience] = number
        standing = DecisionRow.select().where(DecisionRow.superseded_by == 0)
        assert {row.number for row in standing} == set(latest.values())
        assert DecisionRow.select().count() == len(made)
    database.close()


# --- who sees what -------------------------------------------------------------------------


async def test_what_comes_from_a_private_place_is_shown_nowhere_else(records):
    def story():
        places = {
            "here": opened("C1"),
            "public": opened("C2", public=True),
            "private": opened("C3"),
            "dm": opened("D1", direct=True),
            "apart": opened("C1", root="9"),
        }
        ConversationRow.change(places["apart"].id, apart=True)
        for name, place in places.items():
            findings.add_finding(origin(place), name, by=KIM, now=1.0)
            plans.propose(origin(place), name, by=KIM, now=1.0)
            decide(place, f"axis {name}", name)
            findings.add_artifact(origin(place), name, "text", by=KIM, now=1.0)
        seen = {}
        for name, place in places.items():
            for trusted in (True, False):
                scene = at(place, asker_trusted=trusted)
                texts = {f.text for f in findings.list_findings(scene)}
                assert {p.title for p in plans.list_plans(scene)} == texts
                assert {d.decision for d in ledger.list_decisions(scene)} == texts
                assert {a.title for a in findings.list_artifacts(scene)} == texts
                numbers = {n for n in range(1, 6) if findings.find_finding(scene, n)}
                assert len(numbers) == len(texts)
                assert len(filing.audit(scene, 100)) == 4 * len(texts)
                seen[name, trusted] = texts
        return seen

    assert await records.do(story) == {
        ("here", True): {"here", "public"},
        ("here", False): {"here"},
        ("public", True): {"public"},
        ("public", False): {"public"},
        ("private", True): {"private", "public"},
        ("private", False): {"private"},
        ("dm", True): {"dm"},
        ("dm", False): {"dm"},
        ("apart", True): {"apart", "here", "public"},
        ("apart", False): {"apart", "here"},
    }


# --- erasing -------------------------------------------------------------------------------


async def test_a_deleted_message_takes_its_words_with_it(tmp_path):
    records = Records(tmp_path / "moot.sqlite")
    await records.open()
    secret = "Zanzibar"

    def story():
        here = opened()
        source, other = said(here, f"the {secret} plan", "2"), said(here, "fine", "3")
        for message in (source, other):
            word = secret if message == source else "kept"
            from_it = origin(here, message)
            plans.propose(
                from_it, word, phase=word, document=word,
                subtasks=[Subtask(1, word, owner=word, progress=word)], by=KIM, now=4.0,
            )  # fmt: skip
            findings.add_finding(from_it, word, category=word, by=KIM, now=4.0)
            findings.add_artifact(from_it, word, word, line=word, by=KIM, now=4.0)
            ledger.decide(from_it, word, word, stances=[(word, "agree")], by=KIM, now=4.0)
        removed = messages.remove(here.key, "2", 5.0)
        assert removed == source
        filing.withdraw(removed, 5.0)
        filing.withdraw(removed, 6.0)  # a second time changes nothing
        scene = at(here)
        gone = [
            *[p for p in plans.list_plans(scene) if p.withdrawn],
            *[f for f in findings.list_findings(scene) if f.withdrawn],
            *[a for a in findings.list_artifacts(scene) if a.withdrawn],
            *[d for d in ledger.list_decisions(scene) if d.withdrawn],
        ]
        assert [one.number for one in gone] == [1, 1, 1, 1]
        assert plans.current_plan(here.id).title == "kept"
        with pytest.raises(BadInput, match="withdrawn"):
            plans.set_plan_state(gone[0], "active", by=KIM, now=6.0)
        assert AuditRow.select().where(AuditRow.action == "withdrawn").count() == 4
        return {
            table.__name__
            for table in ALL_TABLES
            for row in table.select().dicts()
            if secret in str(row)
        }

    assert await records.do(story) == set()
    await records.close()
    file = records.path.read_bytes() + _beside(records.path, "-wal")
    assert b"kept" in file
    assert secret.encode() not in file


def _beside(path: Path, ending: str) -> bytes:
    other = path.with_name(path.name + ending)
    return other.read_bytes() if other.exists() else b""


# --- links ---------------------------------------------------------------------------------


async def test_links_need_both_sides_and_are_checked_again_when_read(records):
    def story():
        here, thread = opened("C1"), opened("C1", root="2")
        public, private = opened("C2", public=True), opened("C3")
        assert links.link(at(here), thread.id, by=KIM, now=1.0)
        assert not links.link(at(thread), here.id, by=KIM, now=1.0)
        for other in (here.id, private.id, 999):
            with pytest.raises(BadInput):
                links.link(at(here), other, by=KIM, now=1.0)
        with pytest.raises(BadInput):  # the public side could not see this one
            links.link(at(here), public.id, by=KIM, now=1.0)
        ConversationRow.change(here.id, public=True)
        assert links.link(at(here), public.id, by=KIM, now=1.0)
        assert [c.id for c in links.linked(at(here))] == [thread.id, public.id]
        assert [c.id for c in links.linked(at(public))] == [here.id]
        assert [c.id for c in links.linked(at(here, asker_trusted=False))] == [thread.id]
        ConversationRow.change(public.id, public=False)
        assert [c.id for c in links.linked(at(here))] == [thread.id]
        assert links.unlink(at(thread), here.id, by=KIM, now=2.0)
        assert not links.unlink(at(thread), here.id, by=KIM, now=2.0)
        assert links.linked(at(thread)) == ()
        return [(what, action) for _, what, action in audited(here)]

    log = await records.do(story)
    assert [action for _, action in log] == ["created", "created", "removed"]


# --- branches ------------------------------------------------------------------------------


async def test_a_branch_inherits_what_came_before_its_message(records):
    def story():
        here = opened()
        ids = [said(here, f"m{n}", str(n)) for n in range(2, 7)]
        branch, made = links.fork(at(here), ids[2], by=KIM, now=9.0)
        assert (made.opened, made.engaged, made.key.channel) == (False, True, "C1")
        assert made.id != here.id
        assert links.branch_of(made.id) == branch
        assert links.branches_of(here.id) == (branch,)
        assert [m.text for m in links.until(branch, 2)] == ["m3", "m4"]
        assert [m.text for m in links.until(branch, 10)] == ["m2", "m3", "m4"]
        messages.remove(here.key, "4", 10.0)
        assert [m.text for m in links.until(branch, 10)] == ["m2", "m3"]
        assert links.outcome(branch) is None
        messages.add_answer(made.id, Participant("codex"), "so be it", turn_id=1, now=11.0)
        assert links.outcome(branch).text == "so be it"
        adopted = links.end_branch(branch, "adopted", project="p", by=KIM, now=12.0)
        assert adopted.state == "adopted"
        with pytest.raises(BadInput, match="adopted already"):
            links.end_branch(branch, "discarded", project="p", by=KIM, now=12.0)
        places.set_root(made.id, "77")
        assert messages.find_conversation(ConversationKey("slack", "T", "C1", "77")).id == made.id
        return [action for _, _, action in audited(here)]

    assert await records.do(story) == ["created", "open -> adopted"]


async def test_where_no_branch_can_be(records):
    def story():
        here, other, dm = opened(), opened(root="2"), opened("D1", direct=True)
        apart = opened(root="3")
        ConversationRow.change(apart.id, apart=True)
        elsewhere = said(other, "x", "2")
        for place, message in ((here, elsewhere), (dm, said(dm, "x", "2")), (here, 10_000)):
            with pytest.raises(BadInput):
                links.fork(at(place), message, by=KIM, now=1.0)
        hidden = said(apart, "x", "2")
        with pytest.raises(BadInput, match="open to the channel"):
            links.fork(at(apart), hidden, by=KIM, now=1.0)
        return ConversationRow.select().count()

    assert await records.do(story) == 4


@pytest.mark.parametrize(
    ("section", "ends"), [("findings", True), ("artifacts", True), ("plan", False)]
)
async def test_sessions_elsewhere_that_were_told_of_a_deleted_message_end(records, section, ends):
    def story():
        here, there = opened("C1", public=True), opened("C2")
        said(here, "the secret", "1000")
        key = sessions.SessionKey(there.id, Participant("codex"), "/", "plan")
        begun = sessions.begin(key, "", Known(), 1000.0)
        sessions.named(begun, "S1")
        sessions.learn(begun, Known(sections={section: "0" * 16}))
        messages.remove(here.key, "1000", 1001.0)
        return sessions.find(key)

    assert (await records.do(story) is None) is ends
