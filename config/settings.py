"""Settings: default.toml, then the user's moot.toml, then the environment (``MOOT__…``)."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings.exceptions import SettingsError as Unreadable

from config.bots import BotEntry, checked
from config.tables import (
    CHANNEL,
    Access,
    Attachments,
    BudgetEntry,
    Channel,
    ChannelAccess,
    ChatSettings,
    Context,
    Discord,
    EngineEntry,
    Engines,
    Log,
    Memory,
    Permissions,
    Preset,
    Project,
    PullSettings,
    Roundtable,
    Runs,
    Slack,
    Storage,
    UsageSettings,
)

CHATS = ("slack", "discord", "console")

SECRET_KEYS = (
    ("slack", "bot_token"),
    ("slack", "app_token"),
    ("slack", "signing_secret"),
    ("discord", "token"),
    ("memory", "embedder_key"),
    ("attachments", "transcribe_key"),
)


REHEARSAL = "rehearsal"  # the engine without a model has no table of its own
_OWN = re.compile(r"[a-z]\w*-[^-]*-.+")  # a channel without a project is one: chat-space-channel


class SettingsError(Exception):
    """A setting is wrong; the message names the key and the fix."""


class Settings(BaseSettings):
    """Everything that can be set; see ``default.toml`` for what each key means."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix="MOOT__",
        env_nested_delimiter="__",
        extra="forbid",
        nested_model_default_partial_update=True,
    )
    storage: Storage
    log: Log
    slack: Slack
    discord: Discord
    chat: ChatSettings
    access: Access
    engines: Engines
    runs: Runs
    usage: UsageSettings
    budgets: tuple[BudgetEntry, ...] = ()
    context: Context
    memory: Memory
    permissions: Permissions
    attachments: Attachments
    pull: PullSettings
    roundtable: Roundtable
    projects: dict[str, Project] = Field(default_factory=dict)
    channels: dict[str, Channel] = Field(default_factory=dict)
    bots: Annotated[dict[str, BotEntry], AfterValidator(checked)] = Field(default_factory=dict)

    @field_validator("channels")
    @classmethod
    def _ids(cls, value: dict[str, Channel]) -> dict[str, Channel]:
        for name in value:
            if name == "*" or not CHANNEL.fullmatch(name):
                raise ValueError(
                    f'{name!r} is no channel; use "slack:C123", "discord:CHANNEL_ID" or '
                    '"console:general": ids, not names'
                )
            chat = name.partition(":")[0]
            near = get_close_matches(chat, CHATS, 1, 0.7)
            if near and chat not in CHATS:  # another may have been added
                raise ValueError(f"{name!r}: there is no chat {chat}; did you mean {near[0]}?")
        return value

    @field_validator("budgets", mode="before")
    @classmethod
    def _tables(cls, value: object) -> object:
        if isinstance(value, dict):
            raise ValueError(  # noqa: TRY004 - pydantic tells people no other
                "each budget is a table of its own: write [[budgets]], with two brackets"
            )
        return value

    @model_validator(mode="after")
    def _budgets_of_what_there_is(self) -> Settings:
        """A budget of a misspelt name would never stop anybody."""
        known = {
            "engine": (*self.engines.named, REHEARSAL),
            "project": tuple(self.projects),
        }
        for number, budget in enumerate(self.budgets, 1):
            there = known.get(budget.of)
            if not budget.name or there is None or budget.name in there:
                continue
            if budget.of == "project" and _OWN.fullmatch(budget.name):
                continue
            alike = get_close_matches(budget.name, there, 1)
            meant = (
                f"did you mean {alike[0]!r}?"
                if alike
                else f"there are: {', '.join(there) or 'none'}"
            )
            raise ValueError(
                f"[[budgets]] number {number}, name: there is no {budget.of} {budget.name!r}; "
                f"{meant}"
            )
        return self

    @field_validator("projects")
    @classmethod
    def _one_project_each(cls, value: dict[str, Project]) -> dict[str, Project]:
        owners: dict[str, str] = {}
        for name, project in value.items():
            for channel in project.channels:
                if owners.setdefault(channel, name) != name:
                    raise ValueError(
                        f"{channel!r} is listed by both {owners[channel]!r} and {name!r}; "
                        "a channel belongs to one project"
                    )
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


def find_config(given: Path | None) -> Path | None:
    """The user's settings file: the one given, else the first of the usual places that exists."""
    if given is not None:
        return given
    if named := os.environ.get("MOOT_CONFIG"):
        return Path(named)
    usual = (Path("moot.toml"), Path("~/.config/moot/moot.toml").expanduser())
    return next((path for path in usual if path.is_file()), None)


def load_settings(given: Path | None = None) -> Settings:
    """Read all settings.

    Raises:
        SettingsError: a file cannot be read, a key is unknown or a value is wrong.
    """
    merged = tomllib.loads(files("config").joinpath("default.toml").read_text("utf-8"))
    path = find_config(given)
    if path is not None:
        merged = _merge(merged, _read(path))
    _check_variables()
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise SettingsError(_say(error, path)) from None
    except Unreadable as error:  # its message names the table, and no value
        raise SettingsError(
            f"A MOOT__ variable cannot be read: {error}. Lists and tables are written as JSON, "
            """such as MOOT__ACCESS__ALLOW='["slack:U123"]'."""
        ) from None


def _check_variables() -> None:
    """A variable of no section would be ignored in silence: a misspelt one is told instead."""
    for name in os.environ:
        if not name.upper().startswith("MOOT__"):
            continue
        section = name.split("__")[1].lower()
        if section not in Settings.model_fields:
            meant = _suggestion(section, Settings.model_fields)
            raise SettingsError(f"{name}: there is no such setting{meant}")


def _suggestion(name: str, known: Iterable[str]) -> str:
    """``; did you mean access?`` or where to look."""
    alike = get_close_matches(name, list(known), 1)
    return f"; did you mean {alike[0]}?" if alike else "; config/default.toml lists all"


def _read(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read the settings file {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is no valid TOML: {error}") from None
    held = [f"[{table}] {key}" for table, key in SECRET_KEYS if _table(data, table).get(key)]
    if held and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsError(
            f"{path} holds {held[0]} and others can read it. Run `chmod 600 {path}`, "
            "or take the token out and set it in the environment."
        )
    return data


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = (
            _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return merged


def _say(error: ValidationError, path: Path | None) -> str:
    """One line per fault, without the value: it may be a secret."""
    where = f" (in {path} or a MOOT__ variable)" if path else " (in a MOOT__ variable)"
    lines = []
    for fault in error.errors(include_url=False, include_input=False, include_context=False):
        if not fault["loc"]:  # it is about several keys, and names them
            lines.append(fault["msg"].removeprefix("Value error, "))
            continue
        table, *rest = [str(part) for part in fault["loc"]]
        key = _key(table, fault["loc"][1:])
        match fault["type"]:
            case "extra_forbidden":
                what = f"there is no such setting{_suggestion(*_unknown(table, rest))}"
            case "tuple_type":
                what = 'this is a list, such as ["one", "two"]'
            case "missing":
                what = "this is needed"
            case _:
                what = fault["msg"].removeprefix("Value error, ")
        lines.append(f"{key}: {what}")
    return "\n".join(dict.fromkeys(lines)) + where


def _key(table: str, rest: tuple[int | str, ...]) -> str:
    """``[access] allow``, ``[[budgets]] number 1, tokens``: counted from 1, as people count."""
    if not rest:
        return table
    head = f"[{table}]"
    if isinstance(rest[0], int):
        head, rest = f"[[{table}]] number {rest[0] + 1}", rest[1:]
        return ", ".join((head, *(str(part) for part in rest)))
    told = ""
    for part in rest:
        told += f", entry {part + 1}" if isinstance(part, int) else f".{part}"
    return f"{head} {told.removeprefix('.')}"


def _unknown(table: str, rest: list[str]) -> tuple[str, Iterable[str]]:
    """An unknown key, and the keys that there are in its place."""
    if not rest:
        return table, Settings.model_fields
    if table == "projects":
        return rest[-1], Project.model_fields
    if table == "engines":
        return rest[-1], EngineEntry.model_fields
    if table == "budgets":
        return rest[-1], BudgetEntry.model_fields
    if table == "channels":
        inside = ChannelAccess if len(rest) > 2 else Channel
        return rest[-1], inside.model_fields
    if table == "bots":
        return rest[-1], BotEntry.model_fields
    if table == "roundtable" and rest[0] == "presets":
        return rest[-1], Preset.model_fields
    section = Settings.model_fields[table].annotation
    return rest[-1], section.model_fields if isinstance(section, type) else ()
