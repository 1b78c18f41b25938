"""What ``!context`` and ``moot pack`` say of receipts. Markdown; pure.

Tables are as narrow as they can be: they are read beside a sidebar in a terminal of 80 columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.model import Parity, ParityPart, ParitySeat
from core.words import literal

BAR = 6


def say_context(found: Sequence[dict[str, Any]], wanted: str) -> str:
    """What ``!context`` answers: the receipt of one run."""
    chosen = [run for run in found if run["run"].startswith(wanted)] if wanted else list(found)
    if not chosen:
        return (
            f"There is no run “{literal(wanted, 40)}” in this thread."
            if wanted
            else "No run yet in this thread."
        )
    text = say_receipt(chosen[0])
    others = [
        f"`{run['run'][:8]}` {run['persona'] or run['engine']}"
        for run in found
        if run is not chosen[0]
    ]
    return text + ("\n\nEarlier runs here: " + ", ".join(others[:8]) if others else "")


def say_receipt(run: dict[str, Any]) -> str:
    """One run's receipt: mode and reason, delivery, a bar per section, what was left out and why.

    A bar shows how much of what a section was granted it used; what the engine's session knew
    before is not sent again, and stands in its own column.
    """
    name = f"{run['persona']} ({run['engine']})" if run["persona"] else run["engine"]
    size = f"{run['chars']:,} of {run['budget']:,} characters{_whose(run)}"
    tokens = f"about {run['estimated_tokens']:,} tokens{_corrected(run)}"
    lines = [
        f"**Run `{run['run'][:8]}`** · {name} · {run['state']}",
        "",
        f"Mode {run['mode']} ({run['reason']}) · {size}, {tokens}",
    ]
    if how := _delivered(run):
        lines += ["", f"Delivery: {how}"]  # a paragraph: Markdown joins lines of one
    for vain in run.get("before", ()):
        lines += ["", f"Sent before in vain: {vain['chars']:,} characters ({vain['why']})"]
    if retries := run.get("retries"):
        lines += ["", f"Tried again {len(retries)}x: {', '.join(r['why'] for r in retries)}"]
    lines += ["", *_section_rows(run["sections"])]
    if run.get("announced"):
        lines.append(f"\nAnnounced, to be pulled: {', '.join(run['announced'])}")
    notes = list(run.get("notes", []))
    if run["dropped"]:
        lines.append(f"\nLeft out: {_left_out(run['dropped'], notes)}")
    if run.get("gone"):
        lines.append(f"\nSaid to be no more: {', '.join(run['gone'])}")
    if in_run := run.get("in_run"):
        asked = ", ".join(
            f"{p['kind']} “{literal(p['query'], 60)}” ({'again' if p.get('again') else p['hits']})"
            for p in in_run
        )
        chars = sum(p["chars"] for p in in_run)
        lines.append(f"\nPulled while it worked: {asked} · {chars:,} characters")
    lines += [f"\nNote: {note}" for note in notes]
    return "\n".join(lines)


def _left_out(dropped: Sequence[str], notes: list[str]) -> str:
    """``findings, cross (not in mode lite)``: sections by why, whose notes are used up here."""
    by_why: dict[str, list[str]] = {}
    for name in dropped:
        begins = f"{name}: dropped, "
        note = next((note for note in notes if note.startswith(begins)), "")
        if note:
            notes.remove(note)
        by_why.setdefault(note.removeprefix(begins), []).append(name)
    return "; ".join(
        ", ".join(names) + (f" ({why})" if why else "") for why, names in by_why.items()
    )


def _whose(run: dict[str, Any]) -> str:
    """Whose budget it was, where it is not that of all."""
    whose = {
        "request": " (asked for)",
        "channel": " (the channel's)",
        "engine": " (the engine's)",
        "light": " (a local model's)",
        "tokens": " (by the engine's cap in tokens)",
        "reduced": " (less than it was first: too long for the model)",
    }
    return whose.get(run.get("budget_from", ""), "")


def _corrected(run: dict[str, Any]) -> str:
    factor = run.get("token_factor", 1.0)
    return f" (× {factor:g} by what {run['engine']} reported)" if factor != 1.0 else ""


def _delivered(run: dict[str, Any]) -> str:
    """Full or delta, hybrid or push, light or not, in words; "" for receipts of earlier days."""
    if "delivery" not in run:
        return ""
    said = [run["delivery"], "light variant"] if run["variant"] == "light" else [run["delivery"]]
    if run["delta"]:
        known = sum(section["known"] for section in run["sections"])
        messages = len(run["known_messages"])
        said.append(
            f"delta: its session knew {known:,} characters more, {messages} messages among them"
        )
    else:
        said.append("full, in a session that goes on" if run["resumed"] else "full")
    return ", ".join(said)


def _section_rows(sections: Sequence[dict[str, Any]]) -> list[str]:
    """A table: a bar, used and granted characters, digest; known and cut where there is any."""
    more = [key for key in ("known", "cut") if any(section.get(key) for section in sections)]
    heads = ["section", "", "used", "of", "hash", *more]
    rows = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for section in sections:
        used, granted = section["used"], section["granted"]
        cells = [section["name"], bar(used, granted), f"{used:,}", f"{granted:,}"]
        cells += [section["hash"][:8]]
        cells += [_cell(section.get(key)) for key in more]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and value else str(value or "")


def bar(used: int, granted: int) -> str:
    """``████░░`` for two thirds; what is not nothing shows at least one block."""
    share = min(1.0, used / granted) if granted else 0.0
    full = max(1, round(share * BAR)) if used else 0
    return "█" * full + "░" * (BAR - full)


def say_parity(rounds: Sequence[Parity]) -> str:
    """What ``!context`` answers on a roundtable: what each participant was told, side by side."""
    if not rounds:
        return "Nobody at this roundtable was told anything yet."
    told = "\n\n".join(_say_round(round_) for round_ in rounds)
    return f"{told}\n\n`!context RUN` shows one run; its id stands beside the participant."


def _say_round(round_: Parity) -> str:
    names = [seat.name for seat in round_.seats]
    whole = {part.name for part in round_.shared} - set(round_.differed)
    if round_.differed:
        why = f" (not the same: {', '.join(round_.reasons)})" if round_.reasons else ""
        verdict = f"told differently: {', '.join(round_.differed)}{why}"
    else:
        everybody = "both" if len(names) == 2 else f"all {len(names)}"
        verdict = f"{everybody} know the same {len(whole)} shared sections"
    if len(names) == 1:
        verdict = f"{len(whole)} shared sections"
    title = "Synthesis" if round_.synthesis else f"Round {round_.round + 1}"
    lines = [f"**{title}** · {verdict}", ""]
    lines += [f"- {_say_seat(seat)}" for seat in round_.seats]
    lines += ["", "| section | size | hash | who |", "|---|---|---|---|"]
    lines += [_say_part(part, names) for part in (*round_.shared, *round_.own)]
    return "\n".join(lines)


def _say_seat(seat: ParitySeat) -> str:
    how = "light" if seat.variant == "light" else seat.mode
    sent = f"{seat.chars:,} of {seat.budget:,} characters"
    known = f", {seat.known:,} more known" if seat.delta else ""
    return f"{seat.name} `{seat.run[:8]}`: {how}, {sent}{known}"


def _say_part(part: ParityPart, names: Sequence[str]) -> str:
    everybody = len(part.who) == len(names) > 1
    who = "all" if everybody else ", ".join(names[n].split(" (")[0] for n in part.who)
    size = f"{part.size:,}" if part.hash else "none"
    return f"| {part.name} | {size} | {part.hash[:8]} | {who} |"
