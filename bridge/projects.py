"""Which project a channel belongs to, which channels a project has, what its questions reach."""

from __future__ import annotations

import re

from config.settings import Settings
from core.model import ConversationKey, Project, Recall


def project_of(settings: Settings, key: ConversationKey) -> Project:
    """The project of a channel: the first that lists it, else one that takes all, else its own.

    What may be done there is the channel's own permission, else the project's.
    """
    here = f"{key.chat}:{key.channel}"
    channel = settings.channels.get(here)
    own = channel.permission if channel is not None else None
    by = f'[channels."{here}"]' if own else ""
    for wanted in (here, "*"):
        for name, project in settings.projects.items():
            if wanted in project.channels:
                mode = own or project.permission
                by = by or f"[projects.{name}]"
                return Project(
                    name,
                    str(project.path),
                    mode,
                    set_by=by,
                    trust_settings=project.trust_settings,
                    half_life_days=settings.memory.half_life_days,
                )
    safe = re.sub(r"[^\w.-]", "_", f"{key.chat}-{key.space}-{key.channel}").strip(".")
    folder = str(settings.storage.dir / "channels" / safe)
    half_life = settings.memory.half_life_days
    return Project(safe, folder, own or "plan", own=True, set_by=by, half_life_days=half_life)


def channels_of(settings: Settings, project: Project) -> tuple[str, ...]:
    """The channels that belong to a project, as ``chat:channel``, as ``project_of`` maps them.

    ``"*"`` stands for all the others; then those that another project lists come as
    ``!chat:channel``.
    """
    listed = settings.projects.get(project.name)
    if listed is None or project.own:
        return ()
    if "*" not in listed.channels:
        return listed.channels
    others = (p.channels for name, p in settings.projects.items() if name != project.name)
    return (*listed.channels, *(f"!{channel}" for channels in others for channel in channels))


def recall_of(settings: Settings, key: ConversationKey) -> Recall:
    """What the questions of a channel may draw from at most: its own setting, else everybody's."""
    channel = settings.channels.get(f"{key.chat}:{key.channel}")
    return (channel.recall if channel else None) or settings.memory.recall
