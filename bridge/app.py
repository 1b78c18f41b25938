"""The composition root: settings become records, engines, chats and the loops between them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path

import structlog

from bridge.capacity import capacity, purse_of
from bridge.commands import Names
from bridge.delivery import Delivery
from bridge.doorkeeping import admits, door_of, often_of, whispering
from bridge.expiry import Expiry
from bridge.gaps import Gaps
from bridge.handing import Handing, heard_by, limits_of
from bridge.intake import Intake
from bridge.intake_policy import IntakePolicy
from bridge.keeping import kept_days, still_kept
from bridge.languages import Languages
from bridge.line import Line
from bridge.load import (
    LAST_RESORT,
    default_engine,
    load_engines,
    summary_by,
    usable,
)
from bridge.lock import writers_lock
from bridge.policies import files_meaning, memory_terms, policy_of
from bridge.progress import StatusMessages
from bridge.projects import channels_of, project_of, recall_of
from bridge.pulls import Pulls
from bridge.reactions import Reactions
from bridge.recalls import Recalls
from bridge.rights import RightsRules
from bridge.secrets import learn_secrets
from bridge.streaming import Owing
from bridge.tables import read_tables
from bridge.team_acts import Ground, say_opened
from bridge.terminals import Terminals
from bridge.tidying import Tidying
from bridge.usage_acts import Counting
from bridge.worker import Worker
from config.settings import Settings
from core.control import Slots
from core.engines.process import Writers
from core.engines.process import run as run_engine
from core.memory.memory import Memory
from core.memory.summarise import Summariser
from core.model import (
    Attachment,
    ConversationKey,
    EngineInfo,
    Outgoing,
    Participant,
    Said,
)
from core.ports import Chat
from core.records import parked, spoken, usage
from core.records.anew import Anew
from core.records.eraser import Eraser
from core.records.scrub import Scrubber
from core.records.thread import Records
from core.redact import redact
from core.sources.catalog import all_sources
from core.sources.programs import end_leftovers
from core.tongue import where_spoken
from core.turns.house import House
from core.turns.parking import others
from core.turns.rounds import posted
from core.turns.shelf import Shelf

log = structlog.get_logger()

DATABASE = "moot.sqlite"


@dataclass(frozen=True, slots=True)
class Moot:
    """A running Moot: what the commands and tests hold on to."""

    settings: Settings
    records: Records
    intake: Intake
    worker: Worker
    delivery: Delivery
    default_engine: str
    memory: Memory


@asynccontextmanager
async def running(
    settings: Settings,
    chats: Sequence[Chat],
    *,
    owners: tuple[str, ...] = (),
    attended: bool = True,
) -> AsyncIterator[Moot]:
    """Moot at work with these chats (not yet listening) until the block ends.

    ``attended``: there are people in them who can be asked. ``owners`` are admins beside those whom
    the settings name.

    Raises:
        AlreadyRunning: another process uses the storage folder.
        BadSettings: something cannot be set up as it is set.
    """
    learn_secrets(settings)
    by_name = {chat.name: chat for chat in chats}
    folder = settings.storage.dir
    with writers_lock(folder), as_file(files("config") / "personas") as persona_folder:
        engines = load_engines(settings.engines)
        default, found = await default_engine(settings.engines.default, engines)
        names = names_of(settings, engines, persona_folder)
        records = Records(folder / DATABASE)
        await records.open()
        languages = Languages.of(settings)
        languages.chosen.update(await records.do(spoken.chosen))
        await asyncio.to_thread(languages.learn)
        where_spoken(languages.at)
        kept = kept_days(settings)
        pulls = Pulls(wanted=settings.pull.in_run)

        def render(chat: str, markdown: str, label: str = "") -> tuple[str, ...]:
            markdown = redact(markdown)  # whatever is posted goes through here
            return by_name[chat].render(markdown, label) if chat in by_name else (markdown,)

        owing = Owing(records)
        status = StatusMessages(by_name, render, owing, stream=settings.chat.stream)
        door = door_of(settings, owners)

        async def history(key: ConversationKey, limit: int) -> tuple[Said, ...]:
            said = still_kept(kept, key, await by_name[key.chat].thread(key, limit))
            return tuple(replace(one, admitted=admits(door, one.author, key)) for one in said)

        async def download(chat: str, attachment: Attachment, limit_bytes: int) -> bytes:
            return await by_name[chat].download(attachment, limit_bytes)

        def address(key: ConversationKey, message_id: str) -> str:
            return by_name[key.chat].address(key, message_id) if key.chat in by_name else ""

        def resting_now() -> set[str]:
            return {one.engine for one in parked.resting(time.time()) if one.whole}

        ground = Ground(
            lambda key: project_of(settings, key),
            lambda project: channels_of(settings, project),
            address,
            lambda key: recall_of(settings, key),
        )
        scrubber = Scrubber(records)
        eraser = Eraser(records, kept, on_gone=scrubber.wake, audit_days=settings.access.audit_days)
        shelf = Shelf(records, folder / "out")

        def erased() -> None:
            """An answer was erased as its post was sent."""
            for one in (scrubber, shelf):
                one.wake()

        tidying = Tidying(records, by_name)
        delivery = Delivery(
            records,
            by_name,
            render,
            _both(status.posted, tidying.posted),
            lambda item, message_id, now: posted(
                item, address(item.conversation.key, message_id), render, now
            ),
            partial(say_opened, ground=ground, render=render),
            erased,
            Handing(shelf, render),
            status.quiet,
        )
        owing.wake = delivery.wake

        def gone() -> None:
            """Words are to leave the rows, the files, and what is indexed of them."""
            for one in (eraser, scrubber, memory, shelf):
                one.wake()

        memory = Memory(records, folder, memory_terms(settings))
        meaning = files_meaning(settings)
        house = House(
            records=records,
            engines=engines,
            run_engine=run_engine,
            voice=render,
            history=history,
            download=download,
            heard=partial(heard_by, by_name),
            limits=partial(limits_of, by_name),
            shelf=shelf,
            near=memory.near,
            project_of=ground.project_of,
            channels_of=ground.channels_of,
            recall_of=ground.recall_of,
            address=address,
            sources=all_sources(folder, meaning),
            progress=status,
            wake_delivery=delivery.wake,
            policy=policy_of(settings, persona_folder, attended=attended),
            pulls=pulls,
            slots=Slots(*capacity(settings, engines, default)),
            purse=replace(
                purse_of(settings, lambda key: project_of(settings, key).name),
                others=lambda name: others(engines, name, resting_now()),
            ),
            writers=Writers(settings.storage.locks, wait_s=settings.runs.session_wait_s),
        )
        worker = Worker(house)
        summariser = Summariser(
            records,
            summary_by(settings.memory, engines, default),
            scratch=house.policy.scratch,
            slots=house.slots,
            purse=house.purse,
            findable=settings.memory.statements,
            context=settings.memory.context_lines,
        )
        shown = Reactions(records, by_name, wanted=settings.chat.reactions)
        intake = Intake(
            records,
            door,
            replace(
                _intake_policy(settings, names, default, found, ground, house, worker.line),
                memory=memory.unwell,
                languages=languages,
                often=often_of(settings, owners),
                whispers=whispering(chats),
            ),
            render,
            on_turn=_all(worker.wake, shown.wake),
            on_post=delivery.wake,
            on_stop=worker.stop,
            on_skip=worker.skip,
            on_gone=gone,
            on_ruled=house.desk.ruled,
        )
        expiry = Expiry(
            records,
            house.desk,
            render,
            within_s=settings.permissions.answer_within_s,
            on_turn=worker.wake,
            on_post=delivery.wake,
        )
        try:
            if engines[default].traits.in_run_pull:
                pulls.start()  # the first question need not wait for it
            await worker.recover()
            await records.do(usage.fill_in, house.purse.project_of)
            await asyncio.to_thread(end_leftovers)
            await asyncio.to_thread(house.writers.prune, time.time())
            await summariser.recover()
            async with asyncio.TaskGroup() as group:
                works = (
                    worker.run(),
                    delivery.run(),
                    summariser.run(),
                    memory.run(),
                    scrubber.run(),
                    Anew(records).run(),
                    eraser.run(),
                    expiry.run(),
                    asyncio.to_thread(languages.learn_the_others),
                    shown.run(),
                    tidying.run(),
                    shelf.run(),
                )
                loops = [group.create_task(work) for work in works]
                try:
                    yield Moot(settings, records, intake, worker, delivery, default, memory)
                finally:
                    for loop in loops:
                        loop.cancel()
        finally:
            await asyncio.to_thread(meaning.end)
            await pulls.close()
            await status.close()
            await records.close()


async def listen(moot: Moot, chats: Sequence[Chat]) -> None:
    """Receive from all chats until cancelled."""
    gaps = Gaps(moot.records, chats, moot.intake.accept, moot.delivery.wake)

    def ready(name: str) -> None:
        log.info("ready", adapter=name)
        gaps.ready(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(gaps.run())
        for chat in chats:
            group.create_task(chat.run(gaps.heard, partial(ready, chat.name)))


def _both(*listeners: Callable[[Outgoing, str], None]) -> Callable[[Outgoing, str], None]:
    """Tells all of them what was posted."""

    def posted(item: Outgoing, message_id: str) -> None:
        for one in listeners:
            one(item, message_id)

    return posted


def _all(*wakes: Callable[[], None]) -> Callable[[], None]:
    """Wakes all of them."""

    def wake() -> None:
        for one in wakes:
            one()

    return wake


def personas(settings: Settings, shipped: Path) -> frozenset[str]:
    """Names of all personas: the shipped ones and those of every project."""
    folders = [
        shipped,
        *(project.path / ".moot" / "personas" for project in settings.projects.values()),
    ]
    return frozenset(path.stem.lower() for folder in folders for path in folder.glob("*.md"))


def names_of(settings: Settings, engines: Iterable[str], shipped: Path) -> Names:
    """Everything that people may name."""
    return Names(
        frozenset(engines),
        personas(settings, shipped),
        frozenset(settings.roundtable.presets),
    )


def _intake_policy(
    settings: Settings,
    names: Names,
    default: str,
    found: Sequence[EngineInfo],
    ground: Ground,
    house: House,
    line: Callable[[], Line],
) -> IntakePolicy:
    roundtable = settings.roundtable
    presets = {name: roundtable.preset(name) for name in roundtable.presets}
    return IntakePolicy(
        names=names,
        default_seat=Participant(default),
        own_engines=house.policy.own_engines,
        reactions=settings.chat.reactions,
        ground=ground,
        tables=read_tables(roundtable, presets, names, _table_engines(settings, default, found)),
        mode=settings.context.mode,
        queue_limit=settings.runs.queue_limit,
        counting=Counting(house.purse, frozenset(settings.usage.viewers)),
        line=line,
        rights=RightsRules(
            house.policy.roundtable,
            house.policy.attended,
            {name: engine.traits.permissions for name, engine in house.engines.items()},
        ),
        recalls=Recalls(house.near),
        terminals=Terminals(
            house.engines,
            house.writers,
            house.project_of,
            kept=house.policy.sessions,
        ),
    )


def _table_engines(
    settings: Settings, default: str, found: Sequence[EngineInfo]
) -> tuple[str, ...]:
    """The engines that seats without one take in turn: different minds make a better table.

    A default named in the settings is meant for roundtables too.
    """
    if settings.engines.default:
        return (default,)
    others = (info.name for info in found if usable(info) and info.name != LAST_RESORT)
    return tuple(dict.fromkeys((default, *others)))
