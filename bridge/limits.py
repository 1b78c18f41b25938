"""What ``moot doctor`` says of engines and of what is allowed: modes, people, budgets, slots."""

from __future__ import annotations

from bridge.capacity import capacity
from bridge.load import LAST_RESORT, load_engines
from config.settings import Settings
from core.engines.process.probe import LATE
from core.errors import MootError
from core.model import Check, EngineInfo
from core.spending import Budget


def engine_check(settings: Settings, info: EngineInfo, default: str) -> Check:
    """One engine: the default one has to work, and one whose path was set has to be there.

    The others are told as they are.
    """
    entry = settings.engines.entry(info.name)
    wanted = info.name == default
    late = LATE in info.detail
    absent = bool(entry.path) and not info.installed and not late
    usable = info.installed and info.signed_in is not False
    told = [info.version if info.installed else "" if late else "not installed"]
    told += ["not signed in"] if info.installed and info.signed_in is False else []
    told += ["answers by default"] if wanted else []
    told += [info.detail] if info.detail else []
    told += ["has no model, quotes the question"] if info.name == LAST_RESORT else []
    if entry.args and info.installed:
        told.append(
            "whether it takes its args, only `moot engines check --live` can see: "
            "a question is what they are for"
        )
    fix = f"Install {info.name} and sign in, or set [engines] default to another one."
    if absent:
        fix = f"Correct [engines.{info.name}] path ({entry.path}), or take it out."
    elif late:
        fix = "Look again when the host is less busy."
    ok = not absent and (usable or not wanted)
    return Check(f"engine {info.name}", ok, ", ".join(filter(None, told)), "" if ok else fix)


def limit_checks(settings: Settings, default: str) -> list[Check]:
    """Modes of channels, of people, who decides, budgets, and how much runs at once."""
    permissions = settings.permissions
    channels = [
        f"{name}: {entry.permission}"
        for name, entry in settings.channels.items()
        if entry.permission
    ]
    modes = ", ".join(channels) or "no channel has one of its own: as its project, else plan"
    most = ", ".join(f"{name}: {mode}" for name, mode in permissions.at_most.items())
    deciding = ", ".join(settings.access.approvers) or "admins only"
    deciding = deciding.replace("*", "every member who may ask and is not held to plan")
    waits = permissions.answer_within_s
    within = f"denied after {waits:.0f} s" if waits else "a request waits until somebody decides"
    return [
        Check(
            "modes", ok=True, detail=f"{modes}; at a roundtable at most {permissions.roundtable}"
        ),
        Check(
            "at_most", ok=True, detail=most or "members have no limit of their own; guests: plan"
        ),
        Check(
            "approvers",
            ok=True,
            detail=f"{deciding}; {within}",
        ),
        Check("budgets", ok=True, detail=_budgets(settings)),
        _slots(settings, default),
    ]


def _budgets(settings: Settings) -> str:
    told = [
        f"{b.name or ('each ' + b.of if b.of != 'everyone' else b.of)} a {b.per}: "
        + Budget(b.of, b.per, b.tokens, b.cost_usd, b.name).limit
        for b in settings.budgets
    ]
    return "; ".join(told) or "none is set"


def _slots(settings: Settings, default: str) -> Check:
    """What ``at_once = 0`` comes to as things are: a running Moot decided it at its start."""
    try:
        engines = load_engines(settings.engines)
        host, limits = capacity(settings, engines, default)
    except MootError as error:
        fix = "Correct the [engines] settings."
        return Check("at once", ok=False, detail=str(error), fix=fix)
    how = "as set" if settings.runs.at_once else "chosen from cores and free memory"
    own = "".join(f"; {name} {limit}" for name, limit in sorted(limits.items()))
    return Check("at once", ok=True, detail=f"{host} runs on this host ({how}){own}")
