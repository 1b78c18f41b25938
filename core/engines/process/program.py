"""From an engine's plan to a program that can be started, or to why it cannot."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from core.model import EngineTask, Outcome, Spawn


@dataclass(frozen=True, slots=True)
class Program:
    """A process ready to be started: ``path`` is the program's absolute one."""

    path: str
    plan: Spawn
    env: dict[str, str]


def prepare(plan: Spawn, task: EngineTask, env: dict[str, str]) -> Program | Outcome:
    """Make the scratch folder, write the files, find the program; or why it cannot start.

    Blocking.
    """
    if not Path(plan.cwd).is_dir():
        return Outcome("bad-config", detail=f"the project folder {plan.cwd} does not exist")
    try:
        Path(task.scratch).mkdir(mode=0o700, parents=True, exist_ok=True)
        if task.out:
            Path(task.out).mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, data in plan.files.items():
            target = Path(task.scratch, name)
            if target.parent != Path(task.scratch):
                return Outcome("bad-config", detail=f"not a plain file name: {name!r}")
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
    except OSError as error:
        return Outcome("crashed", detail=f"could not write the run's files: {error}")
    wanted = str(Path(plan.argv[0]).expanduser()) if "/" in plan.argv[0] else plan.argv[0]
    program = shutil.which(wanted, path=env["PATH"])
    if program is None:
        there = Path(wanted).exists() if "/" in wanted else False
        says = "is not an executable file" if there else "was not found"
        return Outcome("missing-binary", detail=f"{plan.argv[0]} {says}")
    return Program(str(Path(program).absolute()), plan, env)


def spawn_failure(error: OSError, program: str) -> Outcome:
    """The outcome of a start that the system refused."""
    match error:
        case FileNotFoundError():  # the file is there: it is its interpreter that is not
            return Outcome("missing-binary", detail=f"{program} cannot run: {error.strerror}")
        case PermissionError():
            return Outcome("bad-config", detail=f"not allowed to start {program}")
        case OSError(errno=8):  # ENOEXEC
            return Outcome(
                "missing-binary",
                detail=f"{program} is only a stub: the install script of its npm package did not "
                "run, so the real program is missing",
            )
        case OSError(errno=7):  # E2BIG
            return Outcome("bad-config", detail="the arguments and environment are too large")
        case _:
            return Outcome("crashed", detail=f"{program} could not be started: {error}")
