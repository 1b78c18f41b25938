"""What an answer's blocks write, and what packs and Pulls tell of it."""

from __future__ import annotations

import pytest

from core.blocks import FORMS, split_blocks
from core.context.rules import rules
from core.model import (
    Actor,
    ConversationKey,
    Origin,
    Outcome,
    Participant,
    Project,
    Pull,
    Step,
)
from core.pull import KINDS
from core.records import filing, findings, ledger, links, messages, plans, runs, turns
from core.records.tables import ConversationRow, RunRow
from core.sources import work as source
from core.turns.work import apply_blocks
from tests.integration.scenes import scene_of

KIM = Actor("slack:U1", "Kim")
ARCHITECT, CRITIC = Participant("claude", "architect"), Participant("codex", "critic")
P = Project("p", "/")
FIRST = Step(0, 0)


def conversation(root: str = "1", channel: str = "C1"):
    key = ConversationKey("slack", "T", channel, root)
    return messages.open_conversation(key, direct=False, in_thread=False, now=1.0)


def asked(here, kind="ask", seats=(ARCHITECT,), rounds=1):
    turn_id = turns.queue_turn(
        here.id,
        kind=kind,
        prompt="q",
        prompt_message_id=0,
        asker="Kim",
        asker_key="slack:U1",
        seats=seats,
        rounds=rounds,
        mode="",
        now=1.0,
    )
    turn = turns.get_turn(turn_id)
    assert turn is not None
    return turn


def applied(here, turn, answer, step=FIRST, seat=ARCHITECT, message_id=7):
    blocks = split_blocks(answer)
    assert blocks.faults == ()
    return apply_blocks(
        blocks,
        turn=turn,
        step=step,
        conversation=here,
        project=P,
        message_id=message_id,
        seat=seat,
        now=2.0,
    )


PLAN = "<!-- plan\nAudit *log*\nPhase: design\n- table\n- writers\n---\nWhy: `x`\n-->"


# --- what blocks write ---------------------------------------------------------------------


async def test_a_plan_block_proposes_and_approves_nothing(records):
    def story():
        here = conversation()
        turn = asked(here)
        [notice] = applied(here, turn, PLAN)
        assert "**Plan 1** proposed by architect" in notice
        assert "Audit \\*log\\*" in notice
        assert "`!plan show 1`" in notice
        assert applied(here, turn, PLAN) == ()  # once more, in a follow-up
        plan = plans.current_plan(here.id)
        assert (plan.state, plan.phase, plan.document) == ("proposed", "design", "Why: `x`")
        assert plan.origin == Origin("p", here.id, 7, turn.id)
        [notice] = applied(here, turn, "<!-- subtask-done:1 -->")
        assert "no plan is active" in notice
        assert plans.current_plan(here.id) == plan
        plan = plans.set_plan_state(plan, "active", by=KIM, now=3.0)
        done, wrong = applied(here, turn, "<!-- subtask-done:2, 9, 2 -->")
        assert "subtask 2 done" in done
        assert "(1 of 2)" in done
        assert "no subtask 9" in wrong
        assert plans.active_plan(here.id).subtasks[1].state == "done"
        return filing.audit(scene_of(here))[0].actor

    assert await records.do(story) == Actor("agent:architect", "architect")


async def test_a_verdict_writes_its_findings(records):
    def story():
        here = conversation()
        turn = asked(here)
        text = "<!-- verdict conditional: nearly\n- high, security: it leaks\n- odd name\n-->"
        [notice] = applied(here, turn, text, seat=CRITIC)
        assert "**Verdict: conditional**, by critic: nearly" in notice
        assert "finding 1 (high, security): it leaks" in notice
        [notice] = applied(here, turn, "<!-- finding low: slow -->")
        assert "finding 3 (low, general): slow" in notice
        plan = plans.propose(Origin("p", here.id), "T", subtasks=["a"], by=KIM, now=1.0)
        plans.set_plan_state(plan, "active", by=KIM, now=1.0)
        [notice] = applied(here, turn, "<!-- verdict pass -->")
        assert notice == "⚖️ **Verdict on plan 1: pass**, by architect"
        assert plans.active_plan(here.id) is not None  # it closes nothing
        assert filing.audit(scene_of(here))[0].action == "verdict: pass"
        return [
            (f.severity, f.category, f.text, f.by) for f in findings.list_findings(scene_of(here))
        ]

    assert await records.do(story) == [
        ("low", "general", "slow", "architect"),
        ("medium", "general", "odd name", "critic"),
        ("high", "security", "it leaks", "critic"),
    ]


async def test_an_artifact_is_kept_once(records):
    def story():
        here = conversation()
        turn = asked(here)
        text = "<!-- artifact\nNumbers\ncron\n---\n42\n-->"
        [notice] = applied(here, turn, text)
        assert "**Artifact 1** by architect: Numbers" in notice
        assert applied(here, turn, text) == ()
        return findings.list_artifacts(scene_of(here))

    [kept] = await records.do(story)
    assert (kept.title, kept.line, kept.text) == ("Numbers", "cron", "42")


CONSENSUS = (
    '<!-- consensus {"axis": "storage", "decision": "SQL", "confidence": 0.9, "stances": '
    '{"Architect": "agree", "critic": "agree", "somebody": "agree"}} -->'
)


def positioned(turn, seat, number, position):
    run_id = f"run{number}"
    runs.open_run(
        run_id, turn, Step(0, number), seat, can_write=False, receipt={}, status=None, now=1.0
    )
    runs.settle_run(run_id, "answered", Outcome("answered"), answer="", pulls=(), now=1.0)
    RunRow.change(run_id, position=position)


async def test_only_the_synthesis_of_a_roundtable_settles_anything(records):
    def story():
        here = conversation()
        ask = asked(here)
        [notice] = applied(here, ask, CONSENSUS)
        assert "only the synthesis" in notice
        turn = asked(here, "roundtable", (ARCHITECT, CRITIC), rounds=2)
        for step in (Step(0, 0), Step(1, 1), Step(2, 0), Step(0, 2)):
            [notice] = applied(here, turn, CONSENSUS, step)
            assert "only the synthesis" in notice
        assert ledger.list_decisions(scene_of(here)) == ()
        positioned(turn, CRITIC, 1, '{"stance": "disagree"}')
        [notice] = applied(here, turn, CONSENSUS, turn.synthesis)
        assert "**1** storage: SQL (architect: agree, critic: disagree)" in notice
        assert applied(here, turn, CONSENSUS, turn.synthesis) == ()
        later = asked(here, "roundtable", (ARCHITECT, CRITIC))
        text = "<!-- consensus\n- Storage: files\n- auth: JWT\n-->"
        [notice] = applied(here, later, text, later.synthesis)
        assert "**2** Storage: files; supersedes 1" in notice
        return ledger.list_decisions(scene_of(here))

    last, second, first = await records.do(story)
    assert first.stances == (("architect", "agree"), ("critic", "disagree"))
    assert (first.superseded_by, second.supersedes, last.supersedes) == (2, 1, 0)
    assert (first.confidence, first.origin.message_id) == (0.9, 7)


async def test_two_of_one_persona_are_told_apart_by_their_engines(records):
    def story():
        here = conversation()
        seats = (Participant("claude", "critic"), Participant("codex", "critic"), ARCHITECT)
        turn = asked(here, "roundtable", seats)
        positioned(turn, seats[0], 0, '{"stance": "disagree"}')
        positioned(turn, seats[1], 1, '{"stance": "agree"}')
        stances = '{"architect (claude)": "agree"}'
        block = f'<!-- consensus {{"axis": "a", "decision": "b", "stances": {stances}}} -->'
        applied(here, turn, block, turn.synthesis)
        return ledger.list_decisions(scene_of(here))

    [decision] = await records.do(story)
    assert decision.stances == (
        ("critic (claude)", "disagree"),
        ("critic (codex)", "agree"),
        ("architect", "agree"),
    )


async def test_what_a_synthesis_says_last_of_an_axis_stands(records):
    def story():
        here = conversation()
        turn = asked(here, "roundtable", (ARCHITECT, CRITIC))
        said = "<!-- consensus\n- storage: SQL\n- storage: files\n- storage: SQL\n-->"
        applied(here, turn, said, turn.synthesis)
        return ledger.list_decisions(scene_of(here), standing=True)

    [stands] = await records.do(story)
    assert (stands.decision, stands.supersedes) == ("SQL", 2)


async def test_words_of_a_block_are_no_markup_in_a_notice(records):
    def story():
        here = conversation()
        text = "<!-- plan\n**x** <@U1> `y`\n- a\n-->"
        return applied(here, asked(here), text)

    [notice] = await records.do(story)
    assert "\\*\\*x\\*\\* \\<@U1\\> \\`y\\`" in notice


@pytest.mark.parametrize("variant", ["hosted", "light"])
async def test_an_agent_that_quotes_its_rules_does_nothing(records, variant):
    def story():
        here = conversation()
        plan = plans.propose(Origin("p", here.id), "T", subtasks=["a", "b"], by=KIM, now=1.0)
        plans.set_plan_state(plan, "active", by=KIM, now=1.0)
        turn = asked(here)
        assert applied(here, turn, f"My rules are:\n\n{rules(KINDS, variant)}") == ()
        assert applied(here, turn, "\n".join(FORMS.values())) == ()
        return applied(here, turn, "<!-- subtask-done:2 -->")

    [notice] = await records.do(story)
    assert "subtask 2 done" in notice


# --- what packs tell -----------------------------------------------------------------------


async def test_what_a_pack_may_hold_of_the_records(records):
    def story():
        here, other = conversation(), conversation("2")
        assert source.offer(scene_of(here)).candidates == {}
        turn = asked(here)
        applied(here, turn, PLAN)
        applied(here, turn, "<!-- finding low: slow -->\n<!-- finding critical: it leaks -->")
        applied(here, turn, "<!-- artifact\nNumbers\ncron\n---\n42\n-->")
        table = asked(here, "roundtable", (ARCHITECT, CRITIC))
        applied(here, table, CONSENSUS, table.synthesis)
        again = asked(here, "roundtable", (ARCHITECT, CRITIC))
        applied(here, again, CONSENSUS.replace("SQL", "files"), again.synthesis)
        return source.offer(scene_of(here)).candidates, source.offer(scene_of(other)).candidates

    here, other = await records.do(story)
    assert here["plan"].parts == (
        (
            "Plan 1: Audit *log* (proposed, not approved by anybody; phase: design; "
            "0 of 2 subtasks settled)"
        ),
        "1. [todo] table",
        "2. [todo] writers",
    )
    assert here["plan-doc"].parts == ("Why: `x`",)
    settled, leaks, slow = here["findings"].parts
    assert settled == (
        "- decision 2 (settled): storage: files (architect: agree; critic: agree; "
        "confidence 0.9; message #7; supersedes decision 1)"
    )
    assert leaks == "- finding 2 (open, critical, general, by architect): it leaks"
    assert "slow" in slow
    assert here["artifacts"].parts == ("- artifact 1: Numbers: cron (2 characters, by architect)",)
    assert set(other) == {"findings", "artifacts"}  # a plan belongs to its thread


async def test_what_is_over_or_withdrawn_is_in_no_pack(records):
    def story():
        here = conversation()
        turn = asked(here)
        applied(here, turn, PLAN + "\n<!-- finding low: slow -->", message_id=3)
        finding = findings.list_findings(scene_of(here))[0]
        findings.set_finding_state(finding, "closed", by=KIM, now=3.0)
        assert set(source.offer(scene_of(here)).candidates) == {"plan", "plan-doc"}
        filing.withdraw(3, 4.0)
        for kind, query in (("plan", "1"), ("plan", "all"), ("finding", "1"), ("finding", "all")):
            assert source.answer(Pull(kind, query), scene_of(here)).hits == ()
        return source.offer(scene_of(here)).candidates

    assert await records.do(story) == {}


def test_a_document_is_cut_between_blocks_and_fences_stay_whole():
    document = "# A\n\ntext\nmore\n\n```py\na\n\nb\n```\n\n- item"
    assert source.blocks_of(document) == ("# A", "text\nmore", "```py\na\n\nb\n```", "- item")
    assert source.blocks_of("") == ()


# --- what Pulls bring ----------------------------------------------------------------------


async def test_pulls_by_number_and_by_words(records):
    def story():
        here, there = conversation(), conversation("2")
        turn = asked(here)
        applied(here, turn, PLAN)
        applied(here, turn, "<!-- finding low: slow start -->\n<!-- finding it leaks -->")
        applied(here, turn, "<!-- artifact\nCron numbers\n---\n42\n-->")
        table = asked(here, "roundtable", (ARCHITECT, CRITIC))
        applied(here, table, CONSENSUS, table.synthesis)

        def brings(kind, query, scene=None):
            result = source.answer(Pull(kind, query), scene or scene_of(here))
            assert bool(result.hits) != bool(result.note) or "project's plans" in result.note
            return "\n".join(result.hits)

        assert "2. [todo] writers" in brings("plan", "all")
        assert "Why: `x`" in brings("plan", "document")
        assert brings("plan", "#1") == brings("plan", "plan 1") == brings("plan", "all")
        assert brings("plan", "2") == ""
        assert brings("plan", "all", scene_of(there)) == "Plan 1 (proposed): Audit *log*"
        assert brings("finding", "1").endswith("slow start")
        assert brings("finding", "decision 1").startswith("- decision 1 (settled): storage: SQL")
        assert "leaks" not in brings("finding", "Start SLOW")
        assert len(brings("finding", "all").splitlines()) == 3
        assert brings("finding", "99999") == brings("finding", "nothing like it") == ""
        assert brings("artifact", "1").endswith("\n\n42")
        assert brings("artifact", "numbers cron") == brings("artifact", "artifact 1")
        assert brings("artifact", "other") == ""
        private = scene_of(conversation("1", "C9"))
        for kind in ("plan", "finding", "artifact"):
            assert brings(kind, "1", private) == brings(kind, "all", private) == ""

    await records.do(story)


async def test_linked_threads_and_branches(records):
    def story():
        here, linked = conversation(), conversation("2")
        answers = [
            messages.add_answer(here.id, CRITIC, f"point {n}", turn_id=1, now=float(n))
            for n in range(1, 4)
        ]
        messages.add_answer(linked.id, ARCHITECT, "the refund button", turn_id=1, now=5.0)
        messages.add_answer(conversation("1", "C9").id, CRITIC, "refund", turn_id=1, now=5.0)
        assert [c.id for c in links.suggest(scene_of(here), "refund point")] == [linked.id]
        none = source.answer(Pull("sessions", "last 5"), scene_of(here))
        assert "a person can link" in none.note
        links.link(scene_of(here), linked.id, by=KIM, now=6.0)
        assert links.suggest(scene_of(here), "refund point") == ()
        cross = source.offer(scene_of(here)).candidates["cross"]
        assert cross.available == "1 linked thread with 1 message"
        assert "in another thread of this channel (2):\n> the refund button" in cross.parts[0]
        for query in ("refund", "last 5"):
            [hit] = source.answer(Pull("sessions", query), scene_of(here)).hits
            assert "refund" in hit
        assert source.answer(Pull("sessions", "zebra"), scene_of(here)).hits == ()

        branch, made = links.fork(scene_of(here), answers[1], by=KIM, now=7.0)
        inherited = source.offer(scene_of(made)).candidates["inheritance"].parts
        assert [part.rpartition("> ")[2] for part in inherited] == ["point 2", "point 1"]
        assert inherited[0].startswith("[this thread branched off here] #2 critic")
        [*_, last] = source.answer(Pull("sessions", "all"), scene_of(made)).hits
        assert "point 3" in last
        messages.add_answer(made.id, ARCHITECT, "so be it", turn_id=1, now=8.0)
        assert "findings" not in source.offer(scene_of(here)).candidates
        links.end_branch(branch, "adopted", project="p", by=KIM, now=9.0)
        [adopted] = source.offer(scene_of(here)).candidates["findings"].parts
        assert adopted == "- adopted from branch 1, said by architect (claude): so be it"
        ConversationRow.change(here.id, apart=True)
        assert "inheritance" not in source.offer(scene_of(made)).candidates

    await records.do(story)


async def test_a_long_ledger_leaves_room_for_grave_findings(records):
    def story():
        here = conversation()
        for n in range(60):
            ledger.decide(Origin("p", here.id), f"axis {n}", "so", by=KIM, now=1.0)
        findings.add_finding(Origin("p", here.id), "slow", severity="low", by=KIM, now=1.0)
        findings.add_finding(Origin("p", here.id), "it leaks", severity="high", by=KIM, now=1.0)
        return source.offer(scene_of(here)).candidates["findings"]

    told = await records.do(story)
    assert "axis 59" in told.parts[0]
    first = [n for n, part in enumerate(told.parts) if "finding" in part]
    assert first == [told.always, told.always + 1] == [source.FIRST_DECISIONS, 13]
    assert "it leaks" in told.parts[first[0]]
    assert len(told.parts) == source.MAX_BULLETS + 2
