"""What was said and fits a text: keywords and meaning in one ranking, with what counted.

On the records' thread. What may not be seen is not there: keywords are searched by
``core.records.search``, and what vectors found is asked of the rows again by its ``allowed``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo

from core.keywords import STOP_WORDS, is_run, query_terms, tokens
from core.memory.alike import folded, sameness
from core.memory.dates import spans
from core.memory.names import named, without
from core.memory.ranking import RECIPE, Asked, Candidate, Ranked, Recipe, rank, timed
from core.memory.when import asked_in, tells
from core.model import Conversation, Mark, Message, Near, Scene
from core.records import people, search, statements
from core.records.prepared import Prepared, each, meta_of
from core.records.tables import MarkRow, MessageRow

CANDIDATES = 200  # of keywords, and of vectors
ASKED_CHARS = 2_000  # that show in what a text is written
TIMED = 60  # of the best, whose texts are read where it is asked when something was


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that fits, and why.

    Attributes:
        score: 0 to about 1.5; comparable within one answer only.
        marks: what people said of it (wrong, stale), oldest first.
        why: the parts of the score: ``found`` (words and meaning), ``beside`` (its neighbours),
            ``sitting`` (what was said together with it), ``author`` and ``date`` (named in the
            question), ``when`` (it is asked when, and it names a time), ``crowd`` (its thread has
            others before it); factors: ``age``, ``wrong``, ``stale``.
        again: ids of earlier messages in which the same person said the very same.
    """

    message: Message
    conversation: Conversation
    score: float
    marks: tuple[Mark, ...] = ()
    why: Mapping[str, float] = field(default_factory=dict[str, float])
    again: tuple[int, ...] = ()


def find(
    scene: Scene,
    text: str,
    limit: int,
    near: Near | None = None,
    *,
    now: float | None = None,
    recipe: Recipe = RECIPE,
    zone: tzinfo | None = None,
    few: bool | None = None,
) -> tuple[Hit, ...]:
    """The best ``limit`` messages for ``text``, best first; without what ``scene.shown`` holds.

    Args:
        scene: whose eyes; nothing outside what it may draw from is returned.
        text: a question, or words.
        limit: how many at most.
        near: what vectors found for the same text; ``None``: keywords only.
        now: the time of the question (UTC seconds).
        recipe: what counts how much; how much age does, the scene's project says if it says it.
        zone: in which a day begins (``None``: this host's).
        few: as for ``core.records.search.search``.
    """
    now = time.time() if now is None else now
    named_here = _named(scene, text)
    words = _words_of(text, named_here)
    by_words = search.scored(scene, words, CANDIDATES, few=few)
    if not by_words and words != text:  # nobody but the name was meant: "why Kafka?"
        words, by_words = text, search.scored(scene, text, CANDIDATES, few=few)
    stated = _stated(near.statements if near else None)
    found, cosines = _found(scene, by_words, near, stated)
    marks = _marks(found)
    candidates = [
        Candidate(
            id=number,
            thread=thread,
            before=before,
            author=author,
            sent_at=sent_at,
            keyword=found[number],
            cosine=cosines.get(number),
            marks={mark.kind for mark in marks.get(number, ())},
            stated=stated.get((False, number), 0.0),
            summed=stated.get((True, number), 0.0),
        )
        for number, thread, author, sent_at, before in _standing(found)
    ]
    zone = zone or datetime.now().astimezone().tzinfo or UTC
    times = [(span.begin, span.end) for span in spans(text, now, zone)]
    if half_life := scene.project.half_life_days:
        recipe = replace(recipe, half_life_days=half_life)
    asked = Asked(frozenset(named_here), times, now, _pairs(words))
    ranked = rank(candidates, recipe, asked, near.floor if near else 0.0)
    ranked = _timed(scene, text, ranked, recipe)
    return _told(text, _hits(ranked[: 2 * limit], marks))[:limit]


def _told(text: str, hits: Iterator[Hit]) -> tuple[Hit, ...]:
    """The hits; those that ask the very same question come last: they are no answer to it."""
    found = tuple(hits)
    if not text.rstrip().endswith(("?", "？")):
        return found
    asked = sameness(text)
    asking = [sameness(hit.message.text) == asked for hit in found]
    answers = [hit for hit, again in zip(found, asking, strict=True) if not again]
    return (*answers, *(hit for hit, again in zip(found, asking, strict=True) if again))


def _timed(scene: Scene, text: str, ranked: Sequence[Ranked], recipe: Recipe) -> tuple[Ranked, ...]:
    """Where it is asked when something was: what names a time has a bonus, among the first."""
    tongue = asked_in(text)
    if tongue is None:
        return tuple(ranked)
    said = search.fetch(scene, [one.id for one in ranked[:TIMED]])
    telling = {one.message.id for one in said if tells(one.message.text, tongue)}
    return (*timed(ranked[:TIMED], telling, recipe), *ranked[TIMED:])


def authors(scene: Scene, text: str) -> frozenset[str]:
    """The keys of the people whom a text names, among those whose words may be seen."""
    return frozenset(_named(scene, text))


def _named(scene: Scene, text: str) -> dict[str, str]:
    """``authors``, each with the display name."""
    seen = people.of(scene, people_in(text))
    keys = named(text, {key: (name,) for key, name in seen.items()})
    return {key: seen[key] for key in keys}


def _words_of(text: str, named_here: Mapping[str, str]) -> str:
    """What is searched for: without the one name that counts as a bonus, if there is more.

    Among many people one name is a rare word: it would weigh more than what is asked. Those of
    agents and apps are mostly what is asked about ("why did we leave GitHub?").
    """
    if len(named_here) != 1 or not all(people.is_human(*one) for one in named_here.items()):
        return text
    rest = without(text, named_here.values())
    return rest if any(word not in STOP_WORDS for word in tokens(rest)) else text


def _pairs(words: str) -> float:
    """How many of the words that are searched for are pairs of characters, 0 to 1."""
    terms = query_terms(words[:ASKED_CHARS])
    return sum(map(is_run, terms)) / len(terms) if terms else 0.0


def people_in(text: str, scene: Scene | None = None) -> tuple[str, ...]:
    """The display names that a text holds: what ``core.memory.texts.question_of`` leaves out.

    With a ``scene`` only those of people whose words may be seen: what else is known of names
    changes nothing that is found.
    """
    known = people.names()
    held = sorted(named(text, {name: (name,) for name in known}, doubtful=True))
    if scene is None:
        return tuple(held)
    seen = people.of(scene, held).items()
    return tuple(sorted({name for key, name in seen if people.is_human(key, name)}))


def _found(
    scene: Scene,
    by_words: Sequence[tuple[int, float]],
    near: Near | None,
    stated: Mapping[tuple[bool, int], float],
) -> tuple[dict[int, float], dict[int, float]]:
    """The keyword scores of the candidates by id, and the cosines that vectors have of them."""
    found = dict(by_words)
    if near is None:
        return found, {}
    cosines = dict(zip(near.ids, near.cosines, strict=True))
    told = sorted((-share, number) for (whole, number), share in stated.items() if not whole)
    more = dict.fromkeys((*near.ids, *(number for _, number in told[:CANDIDATES])))
    seen = search.allowed(scene, [number for number in more if number not in found])
    found |= dict.fromkeys(seen, 0.0)
    return found, {number: cosine for number, cosine in cosines.items() if number in found}


def _stated(near: Near | None) -> dict[tuple[bool, int], float]:
    """How near the nearest topic (True) or statement of each message is, from 0 to 1 of them all.

    A statement is nobody's word and may be wrong: only its messages are told, each if it may be.
    """
    best: dict[tuple[bool, int], float] = {}
    if near is None or not near.ids:
        return best
    sources = statements.sources(near.ids)
    for number, cosine in zip(near.ids, near.cosines, strict=True):
        if (one := sources.get(number)) is None:
            continue
        top = near.cosines[0]
        share = (cosine - near.floor) / (top - near.floor) if top > near.floor else 1.0
        for message in one.messages:
            best[one.whole, message] = max(best.get((one.whole, message), 0.0), share)
    return best


def _hits(ranked: Sequence[Ranked], marks: Mapping[int, Sequence[Mark]]) -> Iterator[Hit]:
    """What is said, each once: the newest of the very same, in the place of the best of them."""
    # Only these are read; of the other candidates no more than their places was wanted.
    found = {one.message.id: one for one in search.read([(one.id, one.score) for one in ranked])}
    said = [found[one.id].message for one in ranked]
    groups = folded([(message.id, message.author_key, message.text) for message in said])
    by_id = {one.id: one for one in ranked}
    for number, others in groups.items():
        best = max((by_id[one] for one in (number, *others)), key=lambda one: one.score)
        one = found[number]
        yield Hit(
            one.message,
            one.conversation,
            best.score,
            tuple(marks.get(number, ())),
            best.why,
            others,
        )


_marked = Prepared(
    MarkRow,
    lambda ids: (
        MarkRow.select(MarkRow.message, MarkRow.kind, MarkRow.by_name, MarkRow.note, MarkRow.at)
        .where(MarkRow.message.in_(each(ids)))
        .order_by(MarkRow.at)
    ),
)


def _marks(ids: Iterable[int]) -> dict[int, list[Mark]]:
    marks: dict[int, list[Mark]] = {}
    for number, kind, *said in _marked.tuples(ids=json.dumps(list(ids))):
        mark = Mark(number, "wrong" if kind == "wrong" else "stale", *said)
        marks.setdefault(number, []).append(mark)
    return marks


# Where messages stand, with the two before each in its conversation: these come from the index
# ``message_standing``, which a comparison of pairs enters at the message itself.
_STANDING = """
SELECT m.id, m.conversation_id, m.author_key, m.sent_at, (
  SELECT json_group_array(id) FROM (
    SELECT p.id FROM message AS p
    WHERE p.conversation_id = m.conversation_id AND p.deleted_at IS NULL
      AND (p.sent_at, p.id) < (m.sent_at, m.id)
    ORDER BY p.sent_at DESC, p.id DESC LIMIT 2
  )
) FROM json_each(?) AS asked CROSS JOIN message AS m ON m.id = asked.value ORDER BY asked.key
"""


def _standing(ids: Iterable[int]) -> Iterator[tuple[int, int, str, float, tuple[int, ...]]]:
    """(id, conversation, author's key, time, ids of the two before it) of each, in their order."""
    database = meta_of(MessageRow).database
    rows = database.execute_sql(_STANDING, (json.dumps(list(ids)),)).fetchall()
    before = json.loads(f"[{','.join(row[-1] for row in rows)}]")  # at once: a call each is slow
    return ((*row[:-1], tuple(ids)) for row, ids in zip(rows, before, strict=True))
