"""The slash commands: what Discord offers people, and the typed form of what they picked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import discord
import structlog
from discord import app_commands
from discord.app_commands import describe

from core.markup.measure import well_formed
from core.model import ORDERS, PERMISSIONS
from core.tongue import LANGUAGES, say, speaking, to_say

log = structlog.get_logger(__name__)

Forward = Callable[[discord.Interaction], Awaitable[None]]
Offer = Callable[[discord.Interaction, str, str], Awaitable[tuple[tuple[str, str], ...]]]
"""``(interaction, option, typed)``: what can be chosen, as (value, label)."""

TARGET = "target"  # of an interaction's extras: the message that a shortcut was used on
SHORTCUTS = {"Ask about this": "ask", "Branch from here": "branch"}
# The options that are offered while they are typed.
OFFERED = {
    "ask": ("engine", "persona"),
    "roundtable": ("preset", "participants", "synthesizer"),
    "context": ("run",),
    "usage": ("words",),
    "continue": ("which",),
    "moot": ("words",),
}

# The option that is the text itself, and the typed names of the others.
_TEXT = frozenset(("question", "topic", "run", "words", "which"))
_TYPED = {
    "engine": "engine",
    "persona": "as",
    "model": "model",
    "mode": "mode",
    "context": "mode",
    "budget": "budget",
    "permission": "permission",
    "preset": "preset",
    "participants": "with",
    "rounds": "rounds",
    "synthesizer": "synth",
}

Mode = app_commands.Choice[str]
_MODES = [Mode(name=name, value=name) for name in ("lite", "standard", "full")]
_PERMISSIONS = [Mode(name=name, value=name) for name in PERMISSIONS]
_ORDERS = [Mode(name=order, value=order) for order in ORDERS]


def typed(data: Mapping[str, Any]) -> str:
    """``topic --with architect:claude --rounds 2`` from an interaction's options.

    The text comes first and stays as it was written; a value has no blanks inside.
    """
    given = {option["name"]: str(option["value"]) for option in data.get("options") or ()}
    words = [given[name].strip() for name in given if name in _TEXT]
    for name, option in _TYPED.items():
        value = "".join(given.get(name, "").split())
        if value:
            words.append(f"--{option} {value}")
    return well_formed(" ".join(word for word in words if word))


def command_tree(
    client: discord.Client, forward: Forward, offer: Offer
) -> app_commands.CommandTree[Any]:
    """The commands; each hands its interaction to ``forward``, in guilds and in DMs."""
    tree: app_commands.CommandTree[Any] = app_commands.CommandTree(
        client,
        allowed_contexts=app_commands.AppCommandContext(guild=True, dm_channel=True),
        allowed_installs=app_commands.AppInstallationType(guild=True),
    )

    @tree.command(name="ask", description=to_say("Ask an agent; the answer comes in a thread"))
    @describe(
        question=to_say("What you want to know or have done"),
        engine=to_say("Which engine answers, such as claude or codex"),
        persona=to_say("In whose role, such as critic"),
        model=to_say("A model of that engine"),
        mode=to_say("How much context it gets"),
        budget=to_say("Characters of context at most, such as 40k"),
        permission=to_say("What the agent may do at most; it only lowers what is allowed here"),
    )
    @app_commands.choices(mode=_MODES, permission=_PERMISSIONS)
    async def ask(
        interaction: discord.Interaction,
        question: str,
        engine: str | None = None,
        persona: str | None = None,
        model: str | None = None,
        mode: str | None = None,
        budget: str | None = None,
        permission: str | None = None,
    ) -> None:
        # Read from the interaction, all in one place.
        del question, engine, persona, model, mode, budget, permission
        await forward(interaction)

    @tree.command(
        name="roundtable", description=to_say("Let several agents discuss a topic in a thread")
    )
    @describe(
        topic=to_say("What it is about; left out, a form asks for everything"),
        preset=to_say("One of the settings' presets, such as review, design or debate"),
        participants=to_say("persona:engine, separated by commas: architect:claude,critic:codex"),
        rounds=to_say("How often each one speaks"),
        mode=to_say("Who reads what: one after the other, all at once, or blind at first"),
        budget=to_say("Characters for the whole roundtable, such as 90k"),
        synthesizer=to_say("Who sums up: persona:engine, or none"),
        context=to_say("How much context they get"),
    )
    @app_commands.choices(mode=_ORDERS, context=_MODES)
    async def roundtable(
        interaction: discord.Interaction,
        topic: str | None = None,
        preset: str | None = None,
        participants: str | None = None,
        rounds: app_commands.Range[int, 1, 5] | None = None,
        mode: str | None = None,
        budget: str | None = None,
        synthesizer: str | None = None,
        context: str | None = None,
    ) -> None:
        del topic, preset, participants, rounds, mode, budget, synthesizer, context
        await forward(interaction)

    @tree.command(name="recall", description=to_say("Find what was said, with who, when and where"))
    @describe(question=to_say("A question, or some words of it; the answer is for you alone"))
    async def recall(interaction: discord.Interaction, question: str) -> None:
        del question
        await forward(interaction)

    @tree.command(name="context", description=to_say("Show what a run was told"))
    @describe(run=to_say("A run's id, or its beginning; the newest one if left out"))
    async def context(interaction: discord.Interaction, run: str | None = None) -> None:
        del run
        await forward(interaction)

    @tree.command(
        name="stop", description=to_say("Stop what runs here; at channel level it asks which")
    )
    async def stop(interaction: discord.Interaction) -> None:
        await forward(interaction)

    @tree.command(name="status", description=to_say("Show what runs and waits here"))
    async def status(interaction: discord.Interaction) -> None:
        await forward(interaction)

    @tree.command(
        name="home", description=to_say("Your own page: what runs, what you used, what is set")
    )
    async def home(interaction: discord.Interaction) -> None:
        await forward(interaction)

    @tree.command(name="usage", description=to_say("Show what was used, or how the budgets stand"))
    @describe(words=to_say("Such as: week, today by model, here, budgets"))
    async def usage(interaction: discord.Interaction, words: str | None = None) -> None:
        del words
        await forward(interaction)

    @tree.command(
        name="resume", description=to_say("Show how to go on with this thread in a terminal")
    )
    async def resume(interaction: discord.Interaction) -> None:
        await forward(interaction)

    @tree.command(
        name="continue", description=to_say("Bring a terminal's session into this thread")
    )
    @describe(which=to_say("An engine, a number of the list, or both: claude 2"))
    async def go_on(interaction: discord.Interaction, which: str | None = None) -> None:
        del which
        await forward(interaction)

    @tree.command(name="moot", description=to_say("Everything else, as it is typed in a thread"))
    @describe(
        words=to_say("Such as: help, requests, allow 7, deny 7 not now, mark 12 wrong, plan show 3")
    )
    async def moot(interaction: discord.Interaction, words: str) -> None:
        del words
        await forward(interaction)

    # The tree holds them.
    del ask, roundtable, recall, context, stop, status, home, usage, resume, go_on, moot
    _add_shortcuts(tree, forward)
    _add_offers(tree, offer)
    return tree


def _add_shortcuts(tree: app_commands.CommandTree[Any], forward: Forward) -> None:
    """The commands in a message's menu; the message travels in the interaction's extras."""

    async def used(interaction: discord.Interaction, message: discord.Message) -> None:
        interaction.extras[TARGET] = message
        await forward(interaction)

    for name in SHORTCUTS:
        tree.add_command(app_commands.ContextMenu(name=name, callback=used))


def _add_offers(tree: app_commands.CommandTree[Any], offer: Offer) -> None:
    """What is offered while an option is typed."""

    async def offered(interaction: discord.Interaction, current: str) -> list[Mode]:
        given: Any = (interaction.data or {}).get("options") or ()
        option = next((str(one["name"]) for one in given if one.get("focused")), "")
        found = await offer(interaction, option, current)
        return [Mode(name=label[:100], value=value) for value, label in found if len(value) <= 100]

    for name, options in OFFERED.items():
        command = tree.get_command(name)
        assert isinstance(command, app_commands.Command)
        for option in options:
            command.autocomplete(option)(offered)


class InTheirTongue(app_commands.Translator):
    """Descriptions in the languages that Moot speaks: each person reads their own client's."""

    async def translate(
        self,
        string: app_commands.locale_str,
        locale: discord.Locale,
        context: app_commands.TranslationContextTypes,
    ) -> str | None:
        """The text in that language; ``None`` where it is as it stands."""
        if context.location not in _DESCRIPTIONS or locale.value not in LANGUAGES:
            return None
        with speaking(locale.value):
            said = say(string.message)
        return said if said != string.message and len(said) <= 100 else None


_DESCRIPTIONS = (
    app_commands.TranslationContextLocation.command_description,
    app_commands.TranslationContextLocation.parameter_description,
)


async def sync_if_changed(tree: app_commands.CommandTree[Any]) -> bool:
    """Register the commands unless Discord has these very ones already; says whether it did.

    Raises:
        discord.DiscordException: Discord did not take them.
    """
    translator = InTheirTongue()
    await tree.set_translator(translator)
    ours = [
        _shape(await command.get_translated_payload(tree, translator))
        for command in tree.get_commands()
    ]
    # As Discord tells them: what the library makes of them lacks the other languages.
    route = discord.http.Route("GET", "/applications/{id}/commands", id=tree.client.application_id)
    told = await tree.client.http.request(route, params={"with_localizations": "true"})
    theirs = [_shape(command) for command in told]
    if sorted(ours) == sorted(theirs):
        return False
    await tree.sync()
    log.info("discord.commands_registered", count=len(ours))
    return True


def _shape(command: Mapping[str, Any]) -> str:
    """What people see of a command, without what Discord adds by itself."""
    options = [
        (
            option["name"],
            option["description"],
            int(option["type"]),
            bool(option.get("required")),
            [
                None if (n := option.get(k)) is None else float(n)
                for k in ("min_value", "max_value")
            ],
            [choice["value"] for choice in option.get("choices") or ()],
            bool(option.get("autocomplete")),
            sorted((option.get("description_localizations") or {}).items()),
        )
        for option in command.get("options") or ()
    ]
    kind = int(command.get("type") or discord.AppCommandType.chat_input.value)
    tongues = sorted((command.get("description_localizations") or {}).items())
    return repr((command["name"], kind, command.get("description") or "", tongues, sorted(options)))
