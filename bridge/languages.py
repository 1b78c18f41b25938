"""Which language Moot speaks where, and ``!language``, by which people choose it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from config.settings import Settings
from core.errors import BadInput
from core.model import ConversationKey, Reply
from core.records import spoken as records
from core.tongue import ENGLISH, LANGUAGES, catalogue, say, speaking, spoken, to_say
from core.words import literal

if TYPE_CHECKING:
    from bridge.acts import Acts

WORDS = {"language": "language", "lang": "language"}
COMMANDS_IN = {
    "중지": "stop",
    "멈춰": "stop",
    "그만": "stop",
    "상태": "status",
    "도움말": "help",
    "언어": "language",
}
"""What people may type as well, where a command stands: these words mean nothing else there."""
NAMES = {"en": "English", "ko": "한국어"}
_CALLED = {
    "english": "en",
    "eng": "en",
    "영어": "en",
    "korean": "ko",
    "kor": "ko",
    "kr": "ko",
    "한국어": "ko",
    "한글": "ko",
}
_AS_SET = ("auto", "default")
SPOKEN = to_say("Here I speak {language}. `!language {others}` changes it for this channel.")
CHOSEN = to_say("From now on I speak {language} in this channel.")
_NO_SUCH = to_say(
    "I do not speak “{word}”. `!language` knows: {known}; `auto` is as the settings say."
)


@dataclass(frozen=True, slots=True)
class Language:
    """Shown (``None``), chosen for this channel, or (``""``) given back to the settings."""

    language: str | None = None


def parse_language(text: str) -> Language:
    """``ko``, ``korean``, ``한국어``, ``auto`` or nothing.

    Raises:
        BadInput: that language is not there; says which are.
    """
    word = text.strip().lower()
    if not word:
        return Language()
    if word in _AS_SET:
        return Language("")
    language = _CALLED.get(word, word)
    if language not in LANGUAGES:
        known = ", ".join(f"`{one}` ({NAMES.get(one, one)})" for one in LANGUAGES)
        raise BadInput(say(_NO_SUCH, word=literal(word, 40), known=known))
    return Language(language)


@dataclass(slots=True)
class Languages:
    """What is spoken where: a channel's own, its workspace's, everybody's; as chosen, or as set.

    ``house`` is everybody's; ``set_for`` goes by ``slack:C123`` for a channel and by ``slack:T123``
    for a workspace or server; ``chosen`` is what people chose for a channel, which comes first.
    """

    house: str = ENGLISH
    set_for: Mapping[str, str] = field(default_factory=dict[str, str])
    chosen: dict[records.Place, str] = field(default_factory=dict[records.Place, str])

    @classmethod
    def of(cls, settings: Settings) -> Languages:
        """What the settings say."""
        channels = {
            name: channel.language
            for name, channel in settings.channels.items()
            if channel.language is not None
        }
        return cls(settings.chat.language, {**settings.chat.languages, **channels})

    def at(self, chat: str, space: str, channel: str) -> str:
        """As ``core.tongue.LanguageAt``."""
        own = self.chosen.get((chat, space, channel)) if channel else None
        return own or self._set(chat, space, channel)

    def of_key(self, key: ConversationKey) -> str:
        """The language of a conversation's channel."""
        return self.at(key.chat, key.space, key.channel)

    def _set(self, chat: str, space: str, channel: str) -> str:
        names = (f"{chat}:{channel}", f"{chat}:{space}")
        return next((self.set_for[name] for name in names if name in self.set_for), self.house)

    def learn(self) -> None:
        """Read the catalogues of the languages that are spoken somewhere: not while one speaks."""
        for language in {self.house, *self.set_for.values(), *self.chosen.values()}:
            catalogue(language)

    @staticmethod
    def learn_the_others() -> None:
        """Read all catalogues: somebody may choose another language at any time."""
        for language in LANGUAGES:
            catalogue(language)

    def act(self, acts: Acts, intention: Language) -> Reply:
        """Show or choose the language of a channel, told in the one that holds then."""
        event = acts.event
        key = event.key
        if intention.language is None:
            others = "|".join(one for one in LANGUAGES if one != spoken())
            return Reply(say(SPOKEN, language=NAMES[spoken()], others=others))
        by = f"{key.chat}:{event.author.id}"
        records.choose(key, intention.language, by=by, now=acts.now)
        place = (key.chat, key.space, key.channel)
        acts.language = (place, intention.language)
        now = intention.language or self._set(*place)
        with speaking(now):
            return Reply(say(CHOSEN, language=NAMES[now]))

    def note(self, place: records.Place, language: str) -> None:
        """It was chosen, and that is committed."""
        if language:
            self.chosen[place] = language
        else:
            self.chosen.pop(place, None)
