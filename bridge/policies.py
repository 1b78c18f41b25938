"""What the settings say, as the parts of the house want it told."""

from __future__ import annotations

from pathlib import Path

from bridge.load import shipped
from config.settings import Settings
from core.context.terms import ChannelTerms, EngineTerms, HouseTerms
from core.memory.embed.choose import EmbedTerms
from core.memory.memory import MemoryTerms
from core.model import Limits
from core.sources.code.meaning import Meaning, of_this_host
from core.turns.house import FileTerms, Policy
from core.turns.made import OutTerms
from core.turns.transcribe import TranscribeTerms


def terms_of(settings: Settings) -> HouseTerms:
    """What the settings say of how agents are told: for all, by engine and by channel."""
    context = settings.context
    return HouseTerms(
        budget_chars=context.budget_chars,
        light_budget_chars=context.light_budget_chars,
        delivery=context.delivery,
        mode=context.mode,
        engines={
            name: EngineTerms(
                budget_chars=entry.budget_chars,
                budget_tokens=entry.budget_tokens,
                delivery=entry.delivery,
                # Codex runs models of this host with --oss.
                local=True if "--oss" in entry.args else entry.local,
                model=entry.model,
            )
            for name, entry in settings.engines.named.items()
        },
        channels={
            name: ChannelTerms(entry.mode, entry.budget_chars, entry.delivery)
            for name, entry in settings.channels.items()
        },
    )


def files_meaning(settings: Settings) -> Meaning:
    """What makes vectors of the projects' files, where the settings want them."""
    wanted = settings.memory.files and settings.memory.embedder != "none"
    return Meaning(of_this_host) if wanted else Meaning()


def memory_terms(settings: Settings) -> MemoryTerms:
    """What the settings say of memory."""
    said = settings.memory
    key = said.embedder_key.get_secret_value()
    embed = EmbedTerms(said.embedder, said.embedder_url, said.embedder_model, key)
    return MemoryTerms(embed, said.chroma, said.cache_mb, said.statements)


def policy_of(settings: Settings, persona_folder: Path, *, attended: bool) -> Policy:
    """What the path of a turn needs; ``attended``: there are people who can be asked."""
    context, runs = settings.context, settings.runs
    return Policy(
        terms=terms_of(settings),
        sessions=context.sessions,
        controls=settings.chat.controls,
        footer=settings.chat.footer,
        own_engines=frozenset(settings.engines.named).difference(shipped()),
        max_per_message_chars=context.max_per_message_chars,
        history_messages=context.history_messages,
        max_followups=settings.pull.max_followups,
        max_in_run=settings.pull.max_in_run,
        roundtable=settings.permissions.roundtable,
        attended=attended,
        limits=Limits(idle_s=runs.idle_s, total_s=runs.total_s),
        retries=runs.retries,
        scratch=settings.storage.dir / "scratch",
        persona_folder=persona_folder,
        files=FileTerms(
            settings.attachments.enabled,
            int(settings.attachments.max_file_mb * 1_000_000),
            settings.attachments.max_files,
            int(settings.attachments.max_total_mb * 1_000_000),
        ),
        transcribe=TranscribeTerms(
            settings.attachments.transcribe,
            settings.attachments.transcribe_url,
            settings.attachments.transcribe_model,
            settings.attachments.transcribe_key.get_secret_value(),
            settings.attachments.transcribe_within_s,
        ),
        out=OutTerms(
            (settings.storage.dir / "out").absolute(),
            int(settings.attachments.max_file_mb * 1_000_000),
            settings.attachments.max_files,
            int(settings.attachments.max_total_mb * 1_000_000),
            settings.chat.file_over_lines,
        ),
    )
