"""What people do to a team's records: plans, findings, artifacts, links, branches.

Inside intake's transaction. Rights come from who acts (the door was asked before); what may be
seen comes from the scene: the person's standing and the channel (``core.records.scope``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bridge import team_words as words
from bridge.team_commands import Team, ids_in, message_in
from core.errors import BadInput
from core.model import (
    Actor,
    Conversation,
    ConversationKey,
    Origin,
    Plan,
    PlanState,
    Project,
    Recall,
    Reply,
    Scene,
)
from core.records import findings, ledger, links, messages, outbox, places, plans, pointed
from core.tongue import say, to_say
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

PLAN_VERBS: dict[str, PlanState] = {"approve": "active", "reject": "rejected", "done": "done"}
NO_THREAD = to_say("This belongs to a thread: type it in one that Moot takes part in.")


@dataclass(frozen=True, slots=True)
class Ground:
    """Where conversations belong: their project, its channels, what they may draw from of these."""

    project_of: Callable[[ConversationKey], Project]
    channels_of: Callable[[Project], tuple[str, ...]]
    address: Callable[[ConversationKey, str], str]
    recall_of: Callable[[ConversationKey], Recall]


class TeamActs:
    """The acts of one person, in a conversation or (``None``) at channel level.

    What changes is told where the record belongs, to everybody there; a list only to who asked.
    """

    def __init__(
        self, acts: Acts, ground: Ground, conversation: Conversation | None, message_id: int
    ) -> None:
        self.acts = acts
        self.ground = ground
        event = acts.event
        self.here = conversation or Conversation(
            0, event.key, event.direct, opened=False, engaged=False, caught_up=True
        )
        author, key = event.author, event.key
        self.by = Actor(f"{key.chat}:{author.id}", author.name)
        self.message_id = message_id
        self.now = acts.now
        project = ground.project_of(key)
        self.scene = Scene(
            self.here,
            project,
            prompt="",
            turn_id=0,
            prompt_message_id=message_id,
            project_channels=ground.channels_of(project),
            recall=ground.recall_of(key),
            asker_key=self.by.key,
            asker_trusted=author.trusted,
        )

    def act(self, team: Team) -> Reply | None:
        """Do it; what is returned is to be told.

        Raises:
            BadInput: it is not possible, or there is no such thing that may be seen here.
        """
        match team.topic:
            case "plan":
                return self._plan(team)
            case "finding":
                return self._finding(team)
            case "artifact":
                return self._artifact(team)
            case "decisions":
                return self._decisions(team)
            case _ if not self.here.id:
                raise BadInput(say(NO_THREAD))
            case "link":
                return self._link(team)
            case "unlink":
                return self._unlink(team)
            case "branch":
                return self._branch(team)

    def _news(self, text: str, home: int) -> Reply:
        """Something changed: whoever is in its thread is told, wherever it was typed."""
        typed_there = home == self.here.id and self.acts.event.kind == "message"
        if home and not typed_there:
            self._post(home, text)
        return Reply(text)

    def _post(self, conversation_id: int, text: str) -> None:
        texts = self.acts.render(self.here.key.chat, text)
        outbox.add_post(conversation_id, "notice", texts, now=self.now)
        self.acts.owes = True

    def _made(self, short: str, whole: str, title: str, home: int) -> Reply:
        """Something new: a message that made it shows it already; a command opens a thread."""
        if self.acts.event.kind == "message":
            return Reply(short)
        texts = self.acts.render(self.here.key.chat, whole)
        fresh = home != self.here.id
        kind = "header" if fresh else "notice"
        outbox.add_post(home, kind, texts, title=_title(title) if fresh else "", now=self.now)
        self.acts.owes = True
        return Reply(short)

    def _origin(self) -> Origin:
        """Where something new belongs: here, or (at channel level) in a thread of its own."""
        home = self.here.id
        if not home:
            key = replace(self.here.key, root="")
            made = messages.open_conversation(
                key, direct=self.here.direct, in_thread=False, now=self.now
            )
            places.set_engaged(made.id)
            home = made.id
        return Origin(self.scene.project.name, home, self.message_id)

    # --- plans ---------------------------------------------------------------------------

    def _plan(self, team: Team) -> Reply:
        if not team.verb:
            return Reply(words.say_plans(plans.list_plans(self.scene)))
        if team.verb == "new":
            plan = plans.propose(
                self._origin(), team.title, subtasks=team.lines, by=self.by, now=self.now
            )
            home = plan.origin.conversation_id
            return self._made(words.say_proposed(plan), words.say_plan(plan), plan.title, home)
        plan = plans.find_plan(self.scene, team.number)
        if plan is None:
            raise _none("plan", team.number)
        if team.verb == "show":
            return Reply(words.say_plan(plan))
        changed = self._changed(plan, team)
        text = f"{literal(self.by.name)}: {words.say_plan(changed, whole=False)}"
        return self._news(text, changed.origin.conversation_id)

    def _changed(self, plan: Plan, team: Team) -> Plan:
        if team.step:
            state = "done" if team.verb == "done" else "in-progress"
            return plans.set_subtask(plan, team.step, state=state, by=self.by, now=self.now)
        state = PLAN_VERBS[team.verb]
        return plans.set_plan_state(plan, state, by=self.by, now=self.now)

    # --- findings, artifacts, decisions --------------------------------------------------

    def _finding(self, team: Team) -> Reply:
        if not team.verb:
            return Reply(words.say_findings(findings.list_findings(self.scene)))
        if team.verb == "add":
            made = findings.add_finding(
                self._origin(),
                team.text,
                category=team.category,
                severity=team.severity,
                by=self.by,
                now=self.now,
            )
            kind = f"{words.state(made.severity)}, {literal(made.category)}"
            short = say(
                "Written down as finding **{number}** ({kind}).", number=made.number, kind=kind
            )
            return self._made(
                short, words.say_finding(made), made.text, made.origin.conversation_id
            )
        finding = findings.find_finding(self.scene, team.number)
        if finding is None:
            raise _none("finding", team.number)
        if team.verb == "show":
            return Reply(words.say_finding(finding))
        state = "closed" if team.verb == "close" else "open"
        changed = findings.set_finding_state(finding, state, by=self.by, now=self.now)
        text = say(
            "{name}: now {state}: {finding_line}",
            name=literal(self.by.name),
            state=words.state(state),
            finding_line=words.finding_line(changed),
        )
        return self._news(text, changed.origin.conversation_id)

    def _artifact(self, team: Team) -> Reply:
        if not team.verb:
            return Reply(words.say_artifacts(findings.list_artifacts(self.scene)))
        if team.verb == "add":
            made = findings.add_artifact(
                self._origin(), team.title, team.text, by=self.by, now=self.now
            )
            short = say(
                "Kept as artifact **{number}**; `!artifact show {number}` shows it.",
                number=made.number,
            )
            home = made.origin.conversation_id
            return self._made(short, words.say_artifact(made), made.title, home)
        artifact = findings.find_artifact(self.scene, team.number)
        if artifact is None:
            raise _none("artifact", team.number)
        return Reply(words.say_artifact(artifact))

    def _decisions(self, team: Team) -> Reply:
        if not team.verb:
            return Reply(words.say_decisions(ledger.list_decisions(self.scene)))
        decision = ledger.find_decision(self.scene, team.number)
        if decision is None:
            raise _none("decision", team.number)
        return Reply(words.say_decision(decision))

    # --- links ---------------------------------------------------------------------------

    def _link(self, team: Team) -> Reply:
        if not team.number and not team.link:
            return Reply(self._links())
        other = self._pointed(team)
        made = links.link(self.scene, other, by=self.by, now=self.now)
        if not made:
            line = self._thread_line(messages.get_conversation(other))
            return Reply(say("It is linked already with {line}", line=line))
        name = literal(self.by.name)
        self._post(
            other,
            say("{name} linked this thread with {where}", name=name, where=self._where(self.here)),
        )
        there = self._where(messages.get_conversation(other))
        return self._news(
            say("{name} linked this thread with {there}", name=name, there=there), self.here.id
        )

    def _links(self) -> str:
        begun = pointed.first_words(self.here.id)
        fitting = links.suggest(self.scene, begun) if begun else ()
        return words.say_links(
            [self._thread_line(other) for other in links.linked(self.scene)],
            [self._thread_line(other) for other in fitting],
        )

    def _unlink(self, team: Team) -> Reply:
        known = links.linked(self.scene)
        if team.number or team.link:
            other = self._pointed(team)
        elif len(known) == 1:
            other = known[0].id
        else:
            raise BadInput(say("Which one? `!link` lists them; `!unlink 12` takes that one away."))
        if other not in {one.id for one in known}:
            raise BadInput(say("This thread is not linked with that one."))
        links.unlink(self.scene, other, by=self.by, now=self.now)
        there = self._where(messages.get_conversation(other))
        return self._news(
            say("{name} took away the link with {there}", name=literal(self.by.name), there=there),
            self.here.id,
        )

    def _pointed(self, team: Team) -> int:
        """The thread that is meant; whether it may be seen is asked by whoever uses it."""
        if team.number:
            return team.number
        return pointed.thread_at(self.here.key, ids_in(team.link))

    def _where(self, other: Conversation) -> str:
        """A thread without its words: a message that is deleted must not live on in a notice."""
        address = self.ground.address(other.key, "")
        name = say("thread {id}", id=other.id)
        return f"[{name}]({address})" if address else name

    def _thread_line(self, other: Conversation) -> str:
        title = pointed.title_of(other.id) or pointed.first_words(other.id)
        return words.thread_line(other, title, self.ground.address(other.key, ""))

    # --- branches ------------------------------------------------------------------------

    def _branch(self, team: Team) -> Reply | None:
        if team.verb:
            return self._end_branch(team)
        at_id = self._forked_at(team)
        _, made = links.fork(self.scene, at_id, by=self.by, now=self.now)
        at = messages.get_message(at_id, self.here.id)
        assert at is not None
        title = team.title or say("Branch by {name}", name=self.by.name)
        address = self.ground.address(self.here.key, at.platform_id)
        text = words.branch_header(title, self.by.name, at.author_name, address)
        texts = self.acts.render(made.key.chat, text)
        outbox.add_post(made.id, "header", texts, title=_title(title), now=self.now)
        self.acts.owes = True
        # The parent is told once the thread is open (``say_opened``): then it has an address.
        if self.acts.event.kind == "message":
            return None
        return Reply(say("The new thread opens now."))

    def _forked_at(self, team: Team) -> int:
        if team.number:
            return team.number
        if team.link:
            at = pointed.message_at(self.here, message_in(team.link))
            if not at:
                raise BadInput(say("That is the address of no message of this thread."))
            return at
        said = [m for m in messages.recent(self.here.id, 2) if m.id != self.message_id]
        if not said:
            raise BadInput(say("There is nothing in this thread yet that a branch could begin at."))
        return said[-1].id

    def _end_branch(self, team: Team) -> Reply:
        branch = links.branch_of(self.here.id)
        if branch is None:
            raise BadInput(
                say("This thread is no branch; `!branch {verb}` is typed in one.", verb=team.verb)
            )
        state = "adopted" if team.verb == "adopt" else "discarded"
        links.end_branch(branch, state, project=self.scene.project.name, by=self.by, now=self.now)
        parent = messages.get_conversation(branch.parent_id)
        title = pointed.title_of(self.here.id) or say("a branch")
        if state == "adopted":
            address = self.ground.address(self.here.key, "")
            outcome = links.outcome(branch)
            self._post(parent.id, words.say_outcome(title, self.by.name, outcome, address))
        back = self.ground.address(parent.key, "")
        text = to_say("{name} discarded this branch.{where}")
        if state == "adopted":
            text = to_say("{name} adopted this branch.{where}")
        where = say(" [Back to the thread it came from]({back}).", back=back) if back else ""
        return self._news(
            say(
                text,
                name=literal(self.by.name),
                where=where,
            ),
            self.here.id,
        )


def say_opened(
    conversation_id: int,
    refused: str,
    now: float,
    *,
    ground: Ground,
    render: Callable[[str, str], tuple[str, ...]],
) -> None:
    """A thread was opened, or (``refused``) cannot be: a branch's parent is told."""
    branch = links.branch_of(conversation_id)
    if branch is None:
        return
    made = messages.get_conversation(conversation_id)
    title = pointed.title_of(conversation_id) or say("a branch")
    text = words.say_branched(title, branch.by, ground.address(made.key, ""), refused)
    outbox.add_post(branch.parent_id, "notice", render(made.key.chat, text), now=now)
    if refused and branch.state == "open":
        moot, project = Actor("moot", "Moot"), ground.project_of(made.key).name
        links.end_branch(branch, "discarded", project=project, by=moot, now=now)


def _title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


_KINDS = {
    "plan": to_say("plan"),
    "finding": to_say("finding"),
    "artifact": to_say("artifact"),
    "decision": to_say("decision"),
}


def _none(what: str, number: int) -> BadInput:
    told = say(
        "There is no {what} {number} that may be seen from here.",
        what=say(_KINDS[what]),
        number=number,
    )
    return BadInput(told)
