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
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings.exceptions import SettingsError as Unreadable

SECRET_KEYS = (
    ("slack", "bot_token"),
    ("slack", "app_token"),
    ("slack", "signing_secret"),
    ("discord", "token"),
)

# An id is told from a name where the platform's ids have a form; other chats may have any.
_PLACE = r"slack:[A-Z][A-Z0-9_]*|discord:\d+|(?!slack:|discord:)[a-z][\w-]*:[^\s:]+"
_CHANNEL = re.compile(rf"\*|{_PLACE}")
_ACCESS = re.compile(rf"\*|{_PLACE}|discord:\d+:role:\d+")


class SettingsError(Exception):
    """A setting is wrong; the message names the key and the fix."""


class _Section(BaseModel):
    # A token copied with a blank at its end is the same token.
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Storage(_Section):
    dir: Path

    @field_validator("dir")
    @classmethod
    def _home(cls, value: Path) -> Path:
        return value.expanduser().absolute()


class Log(_Section):
    level: Literal["debug", "info", "warning", "error"]


def _base_url(value: str, *schemes: str) -> str:
    """An address of a platform: empty, or of one of these schemes and with a host."""
    parts = urlsplit(value)
    if value and not (parts.scheme in schemes and parts.hostname):
        raise ValueError(f"not an address; it begins with {schemes[0]}:// or stays empty")
    return value


HttpUrl = Annotated[str, AfterValidator(lambda value: _base_url(value, "https", "http"))]
SocketUrl = Annotated[str, AfterValidator(lambda value: _base_url(value, "wss", "ws"))]


class Slack(_Section):
    enabled: bool | Literal["auto"]
    mode: Literal["socket", "http"]
    api_url: HttpUrl
    host: str
    port: int = Field(ge=0, le=65535)
    bot_token: SecretStr = SecretStr("")
    app_token: SecretStr = SecretStr("")
    signing_secret: SecretStr = SecretStr("")

    @property
    def on(self) -> bool:
        return bool(self.bot_token.get_secret_value()) if self.enabled == "auto" else self.enabled


class Discord(_Section):
    enabled: bool | Literal["auto"]
    api_url: HttpUrl
    gateway_url: SocketUrl
    token: SecretStr = SecretStr("")

    @property
    def on(self) -> bool:
        return bool(self.token.get_secret_value()) if self.enabled == "auto" else self.enabled


class Access(_Section):
    allow: tuple[str, ...]

    @field_validator("allow")
    @classmethod
    def _shape(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if not _ACCESS.fullmatch(entry):
                raise ValueError(
                    f'{entry!r} is not of a known form; use "slack:U123", "discord:USER_ID", '
                    '"discord:GUILD_ID:role:ROLE_ID" or "*": ids, not names'
                )
        return value


class EngineEntry(_Section):
    path: str = ""
    model: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    base_url: str = ""
    use: str = ""


class Engines(BaseModel):
    """``default`` beside one table per engine; a table of another name brings its own engine."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, EngineEntry] = Field(init=False)
    default: str

    def entry(self, name: str) -> EngineEntry:
        return (self.__pydantic_extra__ or {}).get(name, EngineEntry())

    @property
    def named(self) -> dict[str, EngineEntry]:
        return dict(self.__pydantic_extra__ or {})


class Runs(_Section):
    at_once: int = Field(ge=0)
    queue_limit: int = Field(ge=1)
    idle_s: float = Field(gt=0)
    total_s: float = Field(gt=0)

    @property
    def slots(self) -> int:
        return self.at_once or max(2, os.cpu_count() or 1)


class Context(_Section):
    budget_chars: int = Field(ge=4_000)
    max_per_message_chars: int = Field(ge=200)
    mode: Literal["", "lite", "standard", "full"]
    history_messages: int = Field(ge=1)


class PullSettings(_Section):
    max_followups: int = Field(ge=0, le=5)
    in_run: bool
    max_in_run: int = Field(ge=1, le=200)


Seats = Annotated[tuple[str, ...], Field(min_length=2, max_length=8)]
Rounds = Annotated[int, Field(ge=1, le=5)]
TableMode = Literal["sequential", "parallel", "blind"]
TableBudget = Annotated[int, Field(ge=0)]
PresetName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,29}$")]


class Preset(_Section):
    """What is left out is as in ``[roundtable]``."""

    participants: Seats | None = None
    rounds: Rounds | None = None
    mode: TableMode | None = None
    early_stop: bool | None = None
    synthesis: str | None = None
    budget_chars: TableBudget | None = None


class Table(_Section):
    """A roundtable with everything said."""

    participants: Seats
    rounds: Rounds
    mode: TableMode
    early_stop: bool
    synthesis: str
    budget_chars: TableBudget


class Roundtable(Table):
    presets: dict[PresetName, Preset]

    def preset(self, name: str) -> Table:
        """A preset with what it leaves out filled in."""
        usual = self.model_dump(exclude={"presets"})
        return Table(**usual | self.presets[name].model_dump(exclude_none=True))


class Project(_Section):
    path: Path
    channels: tuple[str, ...] = ()
    permission: Literal["plan", "edit", "full"] = "plan"

    @field_validator("channels")
    @classmethod
    def _shape(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if not _CHANNEL.fullmatch(entry):
                raise ValueError(
                    f'{entry!r} is no channel; use "slack:C123", "discord:CHANNEL_ID", '
                    '"console:general" or "*": ids, not names'
                )
        return value

    @field_validator("path")
    @classmethod
    def _home(cls, value: Path) -> Path:
        return value.expanduser().absolute()


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
    access: Access
    engines: Engines
    runs: Runs
    context: Context
    pull: PullSettings
    roundtable: Roundtable
    projects: dict[str, Project] = Field(default_factory=dict)

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
        table, *rest = [str(part) for part in fault["loc"]]
        key = f"[{table}] {'.'.join(rest)}" if rest else table
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


def _unknown(table: str, rest: list[str]) -> tuple[str, Iterable[str]]:
    """An unknown key, and the keys that there are in its place."""
    if not rest:
        return table, Settings.model_fields
    if table == "projects":
        return rest[-1], Project.model_fields
    if table == "engines":
        return rest[-1], EngineEntry.model_fields
    if table == "roundtable" and rest[0] == "presets":
        return rest[-1], Preset.model_fields
    section = Settings.model_fields[table].annotation
    return rest[-1], section.model_fields if isinstance(section, type) else ()
