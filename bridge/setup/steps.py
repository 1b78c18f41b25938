"""The steps of ``moot setup``, the same for every platform; what differs is its ``Onboarding``."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from importlib import import_module
from itertools import chain, count
from pathlib import Path
from typing import Any

from bridge.doctor import list_engines, show_engines
from bridge.load import LAST_RESORT
from bridge.lock import who_writes
from bridge.secrets import learn_secrets
from bridge.setup.hello import Hello
from bridge.setup.store import SettingsFile
from bridge.setup.talk import Talk
from config.settings import Settings, SettingsError, load_settings
from core.errors import BadSettings, MootError
from core.model import ChatEvent, Check
from core.ports import Onboarding

PLATFORMS = (("slack", "Slack"), ("discord", "Discord"))
_ADDRESSES = ("api_url", "gateway_url")
_PERMISSIONS = (
    ("plan", "agents only read (you can change it later)"),
    ("ask", "they may do anything, but ask in the thread each time"),
    ("edit", "they may change files of the folder"),
    ("full", "they may run anything"),
)


def guide_for(platform: str) -> Onboarding:
    """What leads through a platform."""
    guide: Onboarding = import_module(f"adapters.{platform}.onboarding").ONBOARDING
    return guide


class Setup:
    """Leads one person through one platform; everything that was found right is kept at once."""

    def __init__(self, guide: Onboarding, talk: Talk, file: SettingsFile) -> None:
        self._guide = guide
        self._talk = talk
        self._file = file
        self._secrets: dict[str, str] = {}

    def lead(self) -> Settings | None:
        """All steps; the settings when Moot is to be started now.

        Raises:
            MootError: it cannot go on; what was kept until then is used the next time.
        """
        self._welcome()
        self._talk.step(1, f"An app for Moot in {self._guide.title}")
        self._tokens()
        self._talk.step(2, "What it may do")
        self._look()
        self._talk.step(3, "First words")
        mention = self._hello()
        self._talk.step(4, "Who may use it")
        self._people(mention)
        self._talk.step(5, "What agents work on")
        self._project(mention)
        self._talk.step(6, "The agents")
        return self._ready()

    # --- the app and its tokens ------------------------------------------------------------

    def _welcome(self) -> None:
        if self._file.get(self._guide.name, "mode") == "http":
            raise BadSettings(
                f'{self._file.path} says mode = "http"; these steps are for Socket Mode. Take '
                "that line out, or go by docs/how-to/slack.md."
            )
        self._file.make_ready()
        path = self._file.path
        try:
            settings = load_settings(path if path.exists() else None)
        except SettingsError as error:
            raise BadSettings(f"{error}\nCorrect that, then begin again.") from None
        self._talk.tell(
            f"This leads to a first answer in {self._guide.title}, in some three minutes. What you "
            f"paste is kept in `{path}`, which only you can read. Ctrl-C stops; begun "
            "again, it goes on from there."
        )
        if any((folder / ".git").exists() for folder in path.absolute().parents):
            self._talk.tell("It lies in a git repository: keep it out of commits (`.gitignore`).")
        if owner := who_writes(settings.storage.dir):
            self._talk.tell(
                f"**A Moot is running already** (process {owner}). End it first: with the same "
                "tokens it would take what you are about to write, and answer it."
            )

    def _known(self, key: str) -> str:
        """A setting of the platform: the environment's, else the file's."""
        held = os.environ.get(self._variable(key), "").strip()
        return held or str(self._file.get(self._guide.name, key) or "")

    def _variable(self, key: str) -> str:
        return f"MOOT__{self._guide.name}__{key}".upper()

    def _tokens(self, *, anew: bool = False) -> None:
        """Ask for what is not known; a token that is pasted early is kept for its own step."""
        guide = self._guide
        known = {secret.key: self._known(secret.key) for secret in guide.secrets}
        # The environment comes first for `moot run` as well: what is pasted would not count.
        given = {key for key in known if os.environ.get(self._variable(key), "").strip()}
        self._secrets = {k: v for k, v in known.items() if v and (k in given or not anew)}
        if not self._secrets and not anew:
            self._talk.tell(guide.opening())
        for secret in guide.secrets:
            if secret.key in self._secrets:
                if secret.key not in given:
                    self._talk.tell(f"The *{secret.name}* is here already.")
                    continue
                self._talk.tell(
                    f"The *{secret.name}* comes from the environment "
                    f"(`{self._variable(secret.key)}`): Moot needs it there each time it starts. "
                    "For another one: Ctrl-C, unset or change the variable, begin again."
                )
                continue
            self._talk.tell(secret.where)
            while secret.key not in self._secrets:
                self._paste(secret.name)

    def _paste(self, name: str) -> None:
        text = self._talk.secret(f"Paste the {name}")
        if not text:
            return
        key, wrong = self._guide.recognise(text)
        if not wrong:
            wrong = self._guide.fits({**self._secrets, key: text})
        if wrong:
            self._talk.tell(wrong)
            return
        self._secrets[key] = text
        self._file.put(text, self._guide.name, key)
        called = next(one.name for one in self._guide.secrets if one.key == key)
        if called != name:
            self._talk.tell(f"That is the *{called}*: kept. The *{name}* is still needed.")

    # --- what the platform says ------------------------------------------------------------

    def _look(self) -> None:
        """Ask the platform until nothing is wrong, or the person goes on all the same."""
        while True:
            self._talk.tell(f"Asking {self._guide.title} …")
            found = asyncio.run(self._checks())
            self._talk.checks(found)
            if all(check.ok for check in found):
                return
            said = self._talk.ask(
                "Put that right and press Enter to look again; or type `token` for other tokens, "
                "`skip` to go on"
            ).lower()
            if said == "skip":
                return
            if said == "token":
                self._tokens(anew=True)

    async def _checks(self) -> list[Check]:
        chat = self._guide.chat(self._secrets, self._addresses())
        try:
            async with asyncio.timeout(60):
                return await chat.checks()
        except TimeoutError:
            fix = "check the network and proxy settings of this machine"
            return [Check(self._guide.name, ok=False, detail="no answer in a minute", fix=fix)]
        except MootError as error:
            return [Check(self._guide.name, ok=False, detail=str(error), fix="paste other tokens")]

    def _addresses(self) -> dict[str, str]:
        return {key: value for key in _ADDRESSES if (value := self._known(key))}

    def _hello(self) -> ChatEvent:
        while True:
            chat = self._guide.chat(self._secrets, self._addresses())
            hello = Hello(chat, self._guide, self._talk.tell)
            self._talk.tell(f"Opening the link to {self._guide.title} …")
            mention, found = asyncio.run(hello.meet())
            self._talk.checks(found)
            author = mention.author
            # Whoever it is becomes the admin, and anybody may mention a bot.
            if self._talk.yes(f"That was {author.name} ({author.grants[0]}). Is it you?"):
                return mention
            self._talk.tell("Then mention it yourself, please, in a new message.")

    # --- who, and where --------------------------------------------------------------------

    def _people(self, mention: ChatEvent) -> None:
        author = mention.author
        me = author.grants[0]
        if not self._names_here("admins"):
            self._file.add(me, "access", "admins")
            self._talk.tell(f"**{author.name}** (`{me}`) is an admin of Moot now.")
        if self._names_here("allow"):
            allowed = ", ".join(map(str, self._file.get("access", "allow")))
            self._talk.tell(f"May use Moot: `{allowed}` (`[access] allow`).")
            return
        chosen = self._talk.choose(
            f"Who may ask agents in {self._guide.title}",
            (
                ("me", f"only {author.name}"),
                ("all", "every member; guests and people of other companies must be named"),
            ),
            "me",
        )
        self._file.add("*" if chosen == "all" else me, "access", "allow")

    def _names_here(self, kind: str) -> bool:
        """Whether a list of ``[access]`` names anybody of this platform."""
        names = [str(one) for one in self._file.get("access", kind) or ()]
        return any(one == "*" or one.startswith(f"{self._guide.name}:") for one in names)

    def _project(self, mention: ChatEvent) -> None:
        key = mention.key
        here = f"{key.chat}:{key.channel}"
        projects = self._file.get("projects") or {}
        for name, project in projects.items():
            channels = project.get("channels") or ()
            what = "works in this channel" if {here, "*"} & set(channels) else "kept as it is"
            self._talk.tell(f"**{name}**: `{project.get('path')}`, {what}.")
            if what != "kept as it is":
                return
        if projects and self._joins(projects, here):
            return
        folder = self._folder(str(Path.cwd()) if (Path.cwd() / ".git").exists() else "")
        if folder is None:
            self._talk.tell("Agents get an empty folder of their own until a project names one.")
            return
        where = self._talk.choose(
            "In which channels",
            (("here", "the one where you just wrote"), ("all", "every channel Moot is in")),
            "here",
        )
        may = self._talk.choose("What may agents do there", _PERMISSIONS, "plan")
        name = self._name_for(folder, projects)
        self._file.put(str(folder), "projects", name, "path")
        self._file.put(["*" if where == "all" else here], "projects", name, "channels")
        self._file.put(may, "projects", name, "permission")

    def _joins(self, projects: Mapping[str, Any], here: str) -> bool:
        """Whether the channel was given to a project that is there."""
        options = [(name, f"{one.get('path')}") for name, one in projects.items()]
        another = "another" if "another" not in projects else "a new one"
        name = self._talk.choose(
            "Which project is the channel where you just wrote for",
            (*options, (another, "a folder that you name now, or none")),
            options[0][0],
        )
        if name == another:
            return False
        self._file.add(here, "projects", name, "channels")
        return True

    def _name_for(self, folder: Path, taken: Mapping[str, Any]) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-") or "project"
        names = chain([plain], (f"{plain}-{number}" for number in count(2)))
        return next(name for name in names if name not in taken)

    def _folder(self, usual: str) -> Path | None:
        while True:
            said = self._talk.ask("The folder of your code (`none` for none)", usual or "none")
            if said.lower() == "none":
                return None
            folder = Path(said.strip("\"'")).expanduser().absolute()
            if folder.is_dir():
                return folder
            what = "That is a file" if folder.is_file() else "There is no folder"
            self._talk.tell(f"{what}: `{folder}`.")

    # --- the end ---------------------------------------------------------------------------

    def _ready(self) -> Settings | None:
        try:
            settings = load_settings(self._file.path)
        except SettingsError as error:
            raise BadSettings(f"{error}\nCorrect that, then start `moot run`.") from None
        learn_secrets(settings)
        found, default = asyncio.run(list_engines(settings))
        show_engines(found, default)
        if default == LAST_RESORT and not settings.engines.default:
            self._talk.tell(
                "No agent is installed and signed in yet, so a stand-in without a model answers. "
                "Install one (such as `npm install -g @anthropic-ai/claude-code`), sign in, and "
                "`moot engines` shows it."
            )
        self._talk.tell(f"All is set, in `{self._file.path}`. `moot doctor` checks it any time.")
        if self._talk.yes("Start Moot now?"):
            self._talk.tell("Ask in the thread from before. Ctrl-C ends Moot.")
            return settings
        self._talk.tell("Later: `moot run`.")
        return None
