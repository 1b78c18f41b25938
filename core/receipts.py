"""What ``!context`` and ``moot pack`` say of receipts. Markdown; pure.

Tables are as narrow as they can be: they are read beside a sidebar in a terminal of 80 columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.model import Parity, ParityPart, ParitySeat
from core.tongue import say, to_say
from core.words import literal

BAR = 6
# States of runs, reasons of modes, and heads of tables, as records and packs name them.
_WORDS = {
    "open": to_say("running"),
    "answered": to_say("answered"),
    "failed": to_say("failed"),
    "cancelled": to_say("cancelled"),
    "skipped": to_say("skipped"),
    "cut": to_say("cut"),
    "parked": to_say("parked"),
    "requested": to_say("requested"),
    "long-conversation": to_say("long-conversation"),
    "has-plan": to_say("has-plan"),
    "default": to_say("default"),
    "section": to_say("section"),
    "used": to_say("used"),
    "of": to_say("of"),
    "hash": to_say("hash"),
    "known": to_say("known"),
    "size": to_say("size"),
    "who": to_say("who"),
}


def say_context(found: Sequence[dict[str, Any]], wanted: str) -> str:
    """What ``!context`` answers: the receipt of one run."""
    chosen = [run for run in found if run["run"].startswith(wanted)] if wanted else list(found)
    if not chosen:
        return (
            say("There is no run “{wanted}” in this thread.", wanted=literal(wanted, 40))
            if wanted
            else say("No run yet in this thread.")
        )
    text = say_receipt(chosen[0])
    others = [
        f"`{run['run'][:8]}` {run['persona'] or run['engine']}"
        for run in found
        if run is not chosen[0]
    ]
    return text + (
        say("\n\nEarlier runs here: {runs}", runs=", ".join(others[:8])) if others else ""
    )


def say_receipt(run: dict[str, Any]) -> str:
    """One run's receipt: mode and reason, delivery, a bar per section, what was left out and why.

    A bar shows how much of what a section was granted it used; what the engine's session knew
    before is not sent again, and stands in its own column.
    """
    name = f"{run['persona']} ({run['engine']})" if run["persona"] else run["engine"]
    size = say(
        "{chars:,} of {budget:,} characters{whose}",
        chars=run["chars"],
        budget=run["budget"],
        whose=_whose(run),
    )
    tokens = say(
        "about {estimated_tokens:,} tokens{corrected}",
        estimated_tokens=run["estimated_tokens"],
        corrected=_corrected(run),
    )
    lines = [
        say(
            "**Run `{run}`** · {name} · {state}",
            run=run["run"][:8],
            name=name,
            state=_in_words(run["state"]),
        ),
        "",
        say(
            "Mode {mode} ({reason}) · {size}, {tokens}",
            mode=run["mode"],
            reason=_in_words(run["reason"]),
            size=size,
            tokens=tokens,
        ),
    ]
    if how := _delivered(run):
        lines += ["", say("Delivery: {how}", how=how)]  # a paragraph: Markdown joins lines of one
    for vain in run.get("before", ()):
        lines += [
            "",
            say(
                "Sent before in vain: {chars:,} characters ({why})",
                chars=vain["chars"],
                why=vain["why"],
            ),
        ]
    if retries := run.get("retries"):
        lines += [
            "",
            say(
                "Tried again {count}x: {all}",
                count=len(retries),
                all=", ".join(r["why"] for r in retries),
            ),
        ]
    lines += ["", *_section_rows(run["sections"])]
    if run.get("announced"):
        lines.append(say("\nAnnounced, to be pulled: {all}", all=", ".join(run["announced"])))
    notes = list(run.get("notes", []))
    if run["dropped"]:
        lines.append(say("\nLeft out: {left_out}", left_out=_left_out(run["dropped"], notes)))
    if run.get("gone"):
        lines.append(say("\nSaid to be no more: {all}", all=", ".join(run["gone"])))
    if in_run := run.get("in_run"):
        asked = ", ".join(
            f"{p['kind']} “{literal(p['query'], 60)}” ({'again' if p.get('again') else p['hits']})"
            for p in in_run
        )
        chars = sum(p["chars"] for p in in_run)
        lines.append(
            say(
                "\nPulled while it worked: {asked} · {chars:,} characters", asked=asked, chars=chars
            )
        )
    lines += [say("\nNote: {note}", note=note) for note in notes]
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
        "request": say(" (asked for)"),
        "channel": say(" (the channel's)"),
        "engine": say(" (the engine's)"),
        "light": say(" (a local model's)"),
        "tokens": say(" (by the engine's cap in tokens)"),
        "reduced": say(" (less than it was first: too long for the model)"),
    }
    return whose.get(run.get("budget_from", ""), "")


def _corrected(run: dict[str, Any]) -> str:
    factor = run.get("token_factor", 1.0)
    return (
        say(" (× {factor:g} by what {engine} reported)", factor=factor, engine=run["engine"])
        if factor != 1.0
        else ""
    )


def _delivered(run: dict[str, Any]) -> str:
    """Full or delta, hybrid or push, light or not, in words; "" for receipts of earlier days."""
    if "delivery" not in run:
        return ""
    said = (
        [run["delivery"], say("light variant")] if run["variant"] == "light" else [run["delivery"]]
    )
    if run["delta"]:
        known = sum(section["known"] for section in run["sections"])
        messages = len(run["known_messages"])
        said.append(
            say(
                "delta: its session knew {known:,} characters more, {messages} messages among them",
                known=known,
                messages=messages,
            )
        )
    else:
        said.append(say("full, in a session that goes on") if run["resumed"] else say("full"))
    return ", ".join(said)


def _section_rows(sections: Sequence[dict[str, Any]]) -> list[str]:
    """A table: a bar, used and granted characters, digest; known and cut where there is any."""
    more = [key for key in ("known", "cut") if any(section.get(key) for section in sections)]
    shown = (_in_words(head) for head in ("section", "used", "of", "hash", *more))
    first, *others = shown
    heads = [first, "", *others]
    rows = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for section in sections:
        used, granted = section["used"], section["granted"]
        cells = [section["name"], bar(used, granted), f"{used:,}", f"{granted:,}"]
        cells += [section["hash"][:8]]
        cells += [_cell(section.get(key)) for key in more]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _in_words(name: str) -> str:
    return say(_WORDS[name]) if name in _WORDS else name


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
        return say("Nobody at this roundtable was told anything yet.")
    told = "\n\n".join(_say_round(round_) for round_ in rounds)
    return say(
        "{told}\n\n`!context RUN` shows one run; its id stands beside the participant.", told=told
    )


def _say_round(round_: Parity) -> str:
    names = [seat.name for seat in round_.seats]
    whole = {part.name for part in round_.shared} - set(round_.differed)
    if round_.differed:
        why = say(" (not the same: {all})", all=", ".join(round_.reasons)) if round_.reasons else ""
        verdict = say("told differently: {all}{why}", all=", ".join(round_.differed), why=why)
    else:
        everybody = say("both") if len(names) == 2 else say("all {count}", count=len(names))
        verdict = say(
            "{everybody} know the same {count} shared sections",
            everybody=everybody,
            count=len(whole),
        )
    if len(names) == 1:
        verdict = say("{count} shared sections", count=len(whole))
    title = say("Synthesis") if round_.synthesis else say("Round {round}", round=round_.round + 1)
    lines = [f"**{title}** · {verdict}", ""]
    lines += [f"- {_say_seat(seat)}" for seat in round_.seats]
    heads = " | ".join(map(_in_words, ("section", "size", "hash", "who")))
    lines += ["", f"| {heads} |", "|---|---|---|---|"]
    lines += [_say_part(part, names) for part in (*round_.shared, *round_.own)]
    return "\n".join(lines)


def _say_seat(seat: ParitySeat) -> str:
    how = "light" if seat.variant == "light" else seat.mode
    sent = say("{chars:,} of {budget:,} characters", chars=seat.chars, budget=seat.budget)
    known = say(", {known:,} more known", known=seat.known) if seat.delta else ""
    return f"{seat.name} `{seat.run[:8]}`: {how}, {sent}{known}"


def _say_part(part: ParityPart, names: Sequence[str]) -> str:
    everybody = len(part.who) == len(names) > 1
    who = say("everybody") if everybody else ", ".join(names[n].split(" (")[0] for n in part.who)
    size = f"{part.size:,}" if part.hash else say("none")
    return f"| {part.name} | {size} | {part.hash[:8]} | {who} |"
