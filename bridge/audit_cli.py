"""``moot audit``: who did what, and who was refused, read beside a running Moot."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bridge.app import DATABASE
from bridge.audit_commands import OUTCOMES
from bridge.duties import ALL_VERBS
from config.settings import Settings
from core.errors import BadInput
from core.records import deeds
from core.records.thread import Records

DAY_S = 86_400.0
_SINCE = re.compile(r"([0-9]{1,4})([hd])")


def wanted_of(
    *, person: str = "", act: str = "", outcome: str = "", channel: str = "", since: str = ""
) -> deeds.Wanted:
    """What is asked for on the command line.

    Raises:
        BadInput: there is no such act or outcome, or an id or a span is of no known form.
    """
    if act and act not in ALL_VERBS:
        raise BadInput(f"There is no act {act!r}. There are: {', '.join(sorted(ALL_VERBS))}.")
    if outcome and outcome not in OUTCOMES:
        raise BadInput(f"There is no outcome {outcome!r}. There are: {', '.join(OUTCOMES)}.")
    if person and ":" not in person:
        raise BadInput(f"{person!r} is nobody; use ids as the settings do: slack:U123.")
    chat, _, place = channel.partition(":")
    if channel and not place:
        raise BadInput(f"{channel!r} is no channel; use ids as the settings do: slack:C123.")
    match = _SINCE.fullmatch(since)
    if since and match is None:
        raise BadInput(f"{since!r} is no span: write 12h or 7d.")
    span = int(match[1]) * (3_600.0 if match[2] == "h" else DAY_S) if match else 0.0
    return deeds.Wanted(
        person=person,
        verb=act,
        outcome=outcome,
        chat=chat if channel else "",
        channels=(place,) if place else (),
        since=time.time() - span if span else 0.0,
    )


async def read_audit(
    settings: Settings, wanted: deeds.Wanted, limit: int
) -> tuple[deeds.Deed, ...]:
    """The newest lines, newest first.

    Raises:
        BadSettings: there is no database yet.
    """
    records = Records(settings.storage.dir / DATABASE, read_only=True)
    await records.open()
    try:
        return await records.do(deeds.find, wanted, limit)
    finally:
        await records.close()


def as_json(found: Sequence[deeds.Deed]) -> list[dict[str, object]]:
    """The lines for scripts: times in UTC seconds."""
    return [asdict(deed) for deed in found]


def show(found: Sequence[deeds.Deed]) -> None:
    """Print the lines for a person, in this host's time."""
    console = Console()
    if not found:
        console.print("Nothing of the kind is in the audit log.")
        return
    table = Table("when", "who", "role", "what", "where", "how")
    for deed in found:
        outcome = "" if deed.outcome == "done" else f" ({deed.outcome})"
        times = f" x{deed.count}" if deed.count > 1 else ""
        row = (
            f"{datetime.fromtimestamp(deed.last_at).astimezone():%Y-%m-%d %H:%M:%S}",
            f"{deed.name} {deed.person}".strip(),
            deed.role,
            f"{deed.verb} {deed.target}".strip() + outcome + times,
            f"{deed.chat}:{deed.channel}",
            deed.via,
        )
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
