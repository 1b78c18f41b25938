r"""The rehearsal engine's process: a stand-in for an agent that plays its part without a model.

Reads one JSON object on the first line of stdin (``prompt``, ``context``, ``permission``,
``session``, ``resumed``, ``asks``), then what people decide, a line each, and writes JSON lines, as
the real CLIs do. Needs the standard library only and starts in some hundredths of a second. It says
plainly that it is no model and quotes the question.

Asked for a summary by topic, it gives the first line of each message.

Where ``REHEARSAL_SESSIONS`` names a folder, it keeps its sessions there, as the real CLIs do: one
that is gone cannot be gone on with, and ``play.py --resume ID`` goes on in a terminal (a question
on stdin, an answer on stdout).

Directives in the prompt make it act, for tests and demonstrations::

    @@rehearse sleep=3 tool="ls" pull="memory: jwt" lines=200@@

====================  ====================================================================
``text="..."``        the whole answer (``\\n`` is a line break)
``lines=200``         that many numbered lines after the answer
``show=context``      the context it was given, quoted word for word, after the answer
``show=session``      what was asked in its session before, quoted, after the answer
``show=files``        name, mode and beginning of each attached file, read where it was told it is
``becomes=NEW``       goes on under another session id
``pull="KIND: Q"``    ends the answer with a pull marker
``block="plan ..."``  ends the answer with that block; ``\\n`` breaks a line, ``||`` begins another
``sleep=3``           seconds of work before the answer
``pace=0.1``          seconds between the pieces of the answer
``until=go``          stops in the middle of the answer until that file is in the folder
``tool="ls"``         pretends to use a tool: only the events, nothing is run
``write=notes.txt``   really writes that file into the folder, where the permission allows it
``make="a.txt: x"``   really writes that into the folder for files for people; ``||`` begins another
``ask="npm test"``    really runs that program, with leave (or as the mode allows); says what came
``ask_edit=a.txt``    really writes that file, with leave; ``detail="..."`` is shown with it
``asks=2``            asks so often for the same, one after the other
``noscope``           what it asks leave for cannot be allowed for a session
``question="A?|x"``   asks people, with options; ``;;`` begins another; ``several`` may be picked
``withdraw=0.5``      takes its request back when nobody has decided after so many seconds
``fail=quota``        ends with that outcome (``fail=crash``: exit status 3, words on stderr)
``silent``            ends well without any text
``hang``              begins an answer and then does nothing for ever
``stubborn``          ignores interrupt and terminate
``child=600``         leaves a child that sleeps so many seconds and holds the output open
``setsid=600``        the same, in a session of its own
``dense``             reports a token a character, not one for four
``env=NAME``          says whether that environment variable is set, and its length
``when="..."``        the directive counts only where it was told these words
====================  ====================================================================
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NotRequired, TypedDict


class Task(TypedDict):
    """What stands on stdin."""

    prompt: str
    context: str
    permission: str
    session: str
    resumed: bool
    asks: NotRequired[bool]
    said: NotRequired[list[str]]
    files: NotRequired[list[str]]


DIRECTIVE = re.compile(r"@@rehearse\b((?:[^@]|@(?!@))*)@@")
SUMMARY = '{"topics": ['  # only the summariser's task shows such a block
MESSAGE = re.compile(r"^\[#(\d+)\] .*:\n> ?(.*)$", re.MULTILINE)
FAILURES = {
    "quota": "the usage limit is reached, try again at 3:40 PM",
    "auth": "not signed in",
    "rate": "too many requests",
    "overloaded": "the model is overloaded",
    "context-too-long": "the prompt is too long",
    "session-lost": "no such session",
    "bad-model": "no such model",
    "refused": "I cannot help with that",
}


def say(kind: str, /, **fields: object) -> None:
    """Write one event and let it be seen at once."""
    sys.stdout.write(json.dumps({"type": kind, **fields}, ensure_ascii=False) + "\n")
    sys.stdout.flush()


class Ear:
    """Lines of stdin, as they come."""

    def __init__(self) -> None:
        self.heard = b""

    def line(self, within_s: float | None = None) -> bytes | None:
        """The next line, or the rest at the end (b""); ``None`` when the time is over."""
        until = None if within_s is None else time.monotonic() + within_s
        while b"\n" not in self.heard:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([0], [], [], left)[0]:
                return None
            data = os.read(0, 2**16)
            if not data:
                rest, self.heard = self.heard, b""
                return rest
            self.heard += data
        line, _, self.heard = self.heard.partition(b"\n")
        return line


EAR = Ear()


class Verdict(TypedDict):
    """What people decided."""

    choice: str
    answers: list[list[str]]
    note: str


def request(order: dict[str, str], number: int, **fields: object) -> Verdict:
    """Ask people, and wait for as long as it takes."""
    name = f"r{number}"
    say("request", id=name, **fields)
    within = float(order["withdraw"]) if "withdraw" in order else None
    while (line := EAR.line(within)) is not None:
        if not line:
            return {"choice": "deny", "answers": [], "note": "nobody is there"}
        told = json.loads(line)
        if told["id"] == name:
            return told
    say("withdrawn", id=name)
    return {"choice": "deny", "answers": [], "note": "taken back"}


def has_leave(task: Task, order: dict[str, str], number: int, tool: str, about: str) -> Verdict:
    """Whether it may use a tool: by its mode, or by the leave of people."""
    mode = task["permission"]
    if mode == "full" or (mode == "edit" and tool == "edit"):
        return {"choice": "once", "answers": [], "note": ""}
    if mode != "ask":
        return {"choice": "deny", "answers": [], "note": f"the mode is {mode}"}
    kind = about.split(" ")[0] if tool == "shell" else "edit"
    scope = {} if "noscope" in order else {"scope": f"{tool}:{kind}", "label": f"{tool} {kind}"}
    detail = order.get("detail", "").replace("\\n", "\n")
    return request(order, number, kind="permission", tool=tool, about=about, detail=detail, **scope)


def run_program(command: str) -> str:
    """Really run it; what came of it."""
    try:
        done = subprocess.run(
            shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"could not be run: {type(error).__name__}"
    return f"exit status {done.returncode}, {(done.stdout + done.stderr).strip()[:400]}"


def asking(task: Task, order: dict[str, str]) -> list[str]:
    """Do what needs people's leave, and ask what is asked; what came of it."""
    came: list[str] = []
    times = int(order.get("asks") or 1)
    wishes = [("shell", order["ask"])] * times if "ask" in order else []
    wishes += [("edit", order["ask_edit"])] * times if "ask_edit" in order else []
    for number, (tool, about) in enumerate(wishes, 1):
        verdict = has_leave(task, order, number, tool, about)
        if verdict["choice"] == "deny":
            came.append(f"Not allowed: {about}. {verdict['note']}".strip())
            continue
        say("tool", id=f"a{number}", name=tool, about=about)
        if tool == "shell":
            came.append(f"Ran {about}: {run_program(about)}")
        else:
            target = Path(about)
            target.write_text(order.get("detail", "").replace("\\n", "\n"), encoding="utf-8")
            came.append(f"Wrote {about}")
        say("tool_end", id=f"a{number}", name=tool, ok=True)
    if "question" in order:
        came.append(ask_people(task, order, len(wishes) + 1))
    return came


def ask_people(task: Task, order: dict[str, str], number: int) -> str:
    """Put the question, where people can be asked; what they said."""
    if not task.get("asks"):
        return "Nobody can be asked."
    questions: list[dict[str, object]] = []
    for part in order["question"].split(";;"):
        text, *options = part.split("|")
        questions.append({"text": text, "options": options, "several": "several" in order})
    verdict = request(order, number, kind="question", questions=questions)
    if verdict["choice"] != "answer":
        return f"No answer. {verdict['note']}".strip()
    return "You said: " + "; ".join(", ".join(answers) for answers in verdict["answers"])


def directives(prompt: str, context: str) -> tuple[dict[str, str], str]:
    """The directives that count, later ones over earlier ones, and the prompt without any."""
    found: dict[str, str] = {}
    told = DIRECTIVE.sub("", f"{context}\n{prompt}")  # a resumed session is told in its prompt
    own = "\n".join(line for line in prompt.split("\n") if not line.startswith(">"))
    for match in DIRECTIVE.finditer(own):  # what a Pull brought is quoted: others' words
        try:
            words = shlex.split(match[1])
        except ValueError:
            continue
        here: dict[str, str] = {}
        for word in words:
            name, _, value = word.partition("=")
            here[name] = value
        if here.get("when", "") in told:
            found.update(here)
    return found, DIRECTIVE.sub("", prompt).strip()


def summed_up(context: str) -> str:
    """What a summariser is asked for (core.memory.topics): the first line of each message."""
    statements = [
        {"text": match[2] or "(an empty line)", "messages": [int(match[1])]}
        for match in MESSAGE.finditer(context)
    ]
    topics = [{"title": "Rehearsed", "statements": statements}] if statements else []
    return f"```json\n{json.dumps({'topics': topics}, ensure_ascii=False)}\n```"


def compose(task: Task, order: dict[str, str], question: str) -> str:
    """The text of the answer."""
    if "text" in order:
        answer = order["text"].replace("\\n", "\n")
    elif SUMMARY in question:
        answer = summed_up(task["context"])
    else:
        quoted = "\n".join(f"> {line}".rstrip() for line in question.splitlines())
        answer = (
            "This is the rehearsal engine: there is no model behind it, it only shows how a "
            "conversation runs.\n\n"
            f"You asked:\n\n{quoted}\n\n"
            f"I was given {len(task['context'])} characters of context with it. "
            "For real answers choose an agent that is installed and signed in; "
            "`moot engines` lists them."
        )
    if "env" in order:
        value = os.environ.get(order["env"])
        answer += f"\n\n{order['env']}: {'not set' if value is None else f'set, {len(value)}'}"
    if order.get("show") == "session":
        answer += "\n\n" + "\n".join(f"> {said}" for said in task.get("said", ()))
    if order.get("show") == "files":
        answer += "\n\n" + "\n".join(look(Path(path)) for path in task.get("files", ()))
    if "lines" in order:
        answer += "\n\n" + "\n".join(f"line {n}" for n in range(1, int(order["lines"]) + 1))
    if order.get("show") == "context":  # as a quotation: blocks and markers in it do nothing
        answer += "\n\n" + "\n".join(f"> {line}" for line in task["context"].splitlines())
    for block in order.get("block", "").replace("\\n", "\n").split("||"):
        answer += f"\n\n<!-- {block.strip()}\n-->" if block.strip() else ""
    if "pull" in order:
        answer += f"\n\n<!-- pull:{order['pull']} -->"
    return answer


def look(path: Path) -> str:
    """What there is of an attached file: its name, its mode and its folder's, how it begins."""
    modes = f"{path.stat().st_mode & 0o777:o} in {path.parent.stat().st_mode & 0o777:o}"
    head = path.read_bytes()[:60].decode("utf-8", "replace").replace("\n", " ")
    return f"> {path.name} ({modes}): {head}"


def leave_children(order: dict[str, str]) -> None:
    """Start the children that outlive this process."""
    for name in ("child", "setsid"):
        if name in order:
            code = f"import time; time.sleep({float(order[name])})"
            nap = [sys.executable, "-I", "-S", "-c", code]
            subprocess.Popen(nap, start_new_session=name == "setsid")


def write_file(task: Task, name: str) -> None:
    """Write a file into the working folder, unless the run may only read."""
    say("tool", id="w1", name="write", about=name)
    target = Path(name)
    allowed = task["permission"] != "plan" and not target.is_absolute() and ".." not in target.parts
    if allowed:
        target.write_text("Written by the rehearsal engine.\n", encoding="utf-8")
    say("tool_end", id="w1", name="write", ok=allowed)


def make_files(named: str) -> None:
    """Write files for people, where this run has a folder for them."""
    folder = os.environ.get("MOOT_FILES", "")
    for one in named.split("||") if folder else ():
        name, _, text = one.partition(":")
        target = Path(folder, name.strip())
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.strip().replace("\\n", "\n"), encoding="utf-8")


def speak(answer: str, pace_s: float, until: str) -> None:
    """Stream the answer in pieces of some words, then give it whole."""
    pieces = [piece for piece in re.findall(r"(?:\S*\s*){1,6}", answer) if piece]
    for number, piece in enumerate(pieces):
        while until and 2 * number >= len(pieces) and not Path(until).exists():
            time.sleep(0.02)
        say("delta", text=piece)
        if pace_s:
            time.sleep(pace_s)
    say("message", text=answer)


def act(task: Task, order: dict[str, str]) -> None:
    """What comes before the answer."""
    if "stubborn" in order:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leave_children(order)
    if "tool" in order:
        say("tool", id="t1", name="shell", about=order["tool"])
        say("tool_end", id="t1", name="shell", ok=True)
    if "write" in order:
        write_file(task, order["write"])
    if "make" in order:
        make_files(order["make"])
    time.sleep(float(order.get("sleep") or 0))
    if "hang" in order:
        say("delta", text="I was about to say ")
        while True:
            time.sleep(3600)


def keep(task: Task, question: str) -> bool:
    """Find the session and note what is asked in it; whether it is there."""
    folder = os.environ.get("REHEARSAL_SESSIONS")
    if not folder:
        return True
    path = Path(folder) / f"{task['session']}.json"
    if task["resumed"] and not path.is_file():
        return False
    cwd = str(Path.cwd())
    before: list[str] = []
    if path.is_file():
        kept = json.loads(path.read_text("utf-8"))
        cwd, before = kept["cwd"], kept["said"]
    task["said"] = before
    kept = {"cwd": cwd, "said": [*before, question]}
    path.write_text(json.dumps(kept, ensure_ascii=False), "utf-8")
    return True


def in_terminal() -> int:
    """A person goes on with a session: the last argument is its id."""
    words = sys.stdin.read()
    session = sys.argv[-1]
    task: Task = {"prompt": words, "context": "", "permission": "plan", "session": session,
                  "resumed": True}  # fmt: skip
    order, question = directives(words, "")
    if not keep(task, question):
        sys.stderr.write("no such session\n")
        return 1
    sys.stdout.write(compose(task, order, question) + "\n")
    return 0


def rename(task: Task, name: str) -> None:
    """Go on under another id, as CLIs do that fork or compact."""
    if folder := os.environ.get("REHEARSAL_SESSIONS"):
        (Path(folder) / f"{task['session']}.json").rename(Path(folder) / f"{name}.json")
    task["session"] = name
    say("started", session=name, resumed=True)


def main() -> int:
    """Play one part; returns the exit status."""
    if "--resume" in sys.argv:
        return in_terminal()
    task: Task = json.loads(EAR.line() or b"")
    order, question = directives(task["prompt"], task["context"])
    if not keep(task, question):
        say("result", ok=False, kind="session-lost", detail=FAILURES["session-lost"])
        return 1
    say("started", session=task["session"], resumed=task["resumed"])
    if "becomes" in order:
        rename(task, order["becomes"])
    act(task, order)
    came = asking(task, order)
    fail = order.get("fail")
    if fail == "crash":
        sys.stderr.write("rehearsed crash: something went wrong\n")
        return 3
    if fail:
        say("result", ok=False, kind=fail, detail=FAILURES.get(fail, "a rehearsed failure"))
        return 1
    answer = "" if "silent" in order else compose(task, order, question)
    answer += "".join(f"\n\n{line}" for line in came)
    if answer:
        speak(answer, float(order.get("pace") or 0), order.get("until", ""))
    chars = 1 if "dense" in order else 4  # a token
    told = len(task["context"]) + len(task["prompt"])
    say("result", ok=True, usage={"input": told // chars, "output": len(answer) // chars})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
