"""Skills: what a team (or the user) wrote down for agents, in folders with a ``SKILL.md``.

Read anew for each round: the project's ``.moot/skills`` and ``.claude/skills``, then the user's
``~/.config/moot/skills`` and ``~/.claude/skills``; of one name the first counts. A skill is chosen
when it is named, when its keywords or its description fit the prompt, when the project depends on
what it is about, or always, as its front matter says. Only its parts that fit are told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import yaml

from core.keywords import tokens
from core.model import Candidate, Check, Offer, Pull, PulledResult, Scene
from core.sources.fitting import Fit, fits, says
from core.sources.port import Source
from core.sources.project import dependencies, plain_name

PROJECT_FOLDERS = (".moot/skills", ".claude/skills")
USER_FOLDERS = ("~/.config/moot/skills", "~/.claude/skills")
FILE = "SKILL.md"
MAX_FILE_BYTES = 200_000
MAX_FRONT_CHARS = 10_000  # reading YAML takes its time
MAX_SKILLS = 200  # of one folder
MAX_NOTES = 5
MAX_INTRO_CHARS = 400
MAX_PART_CHARS = 2_500
MAX_PARTS = 4  # fitting parts of one skill
MAX_LISTED = 8
PULL = "<!-- pull:skill: name, or name: what about it, or words -->"

Activation = Literal["always", "auto", "manual"]
_NAME = re.compile(r"\w[\w.-]{0,63}")
_FRONT = re.compile(r"---[ \t]*\n(.*?)(?:^---[ \t]*(?:\n|\Z))", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")


@dataclass(frozen=True, slots=True)
class Part:
    """What stands under a heading, the heading itself left out ("" = before the first)."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as it was read."""

    name: str
    description: str
    keywords: tuple[str, ...]
    dependencies: tuple[str, ...]
    activation: Activation
    parts: tuple[Part, ...]

    @property
    def intro(self) -> str:
        """Its name and what it is for, in one line."""
        about = self.description or (self.parts[0].text if self.parts else "")
        line = " ".join(about.split())
        line = line if len(line) <= MAX_INTRO_CHARS else f"{line[: MAX_INTRO_CHARS - 1]}…"
        return f"{self.name}: {line}" if line else self.name


class BadSkill(ValueError):
    """A skill that cannot be used; the message says why, in words of ours."""


# --- reading -----------------------------------------------------------------------------


def read_skills(project: Path, home: Path) -> tuple[dict[str, Skill], tuple[str, ...]]:
    """All skills by name, in the order in which they count, and notes on what was left out.

    Blocking. Nothing that is wrong with a file is an error.
    """
    folders = _folders(project, home)
    skills: dict[str, Skill] = {}
    notes: list[str] = []
    for folder in folders:
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if not _hidden(entry.name))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            notes.append(f"skills: a folder cannot be read ({type(error).__name__})")
            continue
        if folder.is_relative_to(project) and not _is_within(folder, project):
            notes.append("skills: a folder is a link that leads out of the project")
            continue
        if len(names) > MAX_SKILLS:
            notes.append(f"skills: only {MAX_SKILLS} of {len(names)} in one folder are read")
        for name in names[:MAX_SKILLS]:
            try:
                skill = _read(folder, name)
            except BadSkill as error:
                notes.append(f"skills: {_safe(name)} left out, {error}")
            else:
                if skill is not None:
                    skills.setdefault(skill.name, skill)
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES:] = [f"skills: {len(notes) - MAX_NOTES} more are left out"]
    return skills, tuple(notes)


def _folders(project: Path, home: Path) -> list[Path]:
    mine = [home / folder.removeprefix("~/") for folder in USER_FOLDERS]
    return [*(project / folder for folder in PROJECT_FOLDERS), *mine]


def _is_within(path: Path, folder: Path) -> bool:
    """Whether ``path`` really lies in ``folder``, wherever links lead."""
    return path.resolve().is_relative_to(folder.resolve())


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _safe(name: str) -> str:
    return name if _NAME.fullmatch(name) else "one without a plain name"


def _read(folder: Path, name: str) -> Skill | None:
    """The skill in a folder, or ``None`` when that is no skill's folder.

    Raises:
        BadSkill: it cannot be used.
    """
    path = folder / name / FILE
    try:
        if not path.is_file():
            return None
        if not _is_within(path, folder):
            raise BadSkill("it is a link that leads out of the skills folder")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadSkill(f"its {FILE} is larger than {MAX_FILE_BYTES // 1000} kB")
        text = path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise BadSkill(f"its {FILE} cannot be read ({type(error).__name__})") from None
    return parse(name, text)


def parse(folder_name: str, text: str) -> Skill:
    """A skill from the text of its ``SKILL.md``; the folder's name is its name if it has no other.

    Raises:
        BadSkill: front matter that is none, or no plain name.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front = _FRONT.match(text)
    facts: Mapping[str, Any] = _front_matter(front[1]) if front else {}
    name = _text(facts.get("name")) or folder_name
    if not _NAME.fullmatch(name):
        raise BadSkill("its name is more than letters, digits, dots and hyphens")
    activation = (_text(facts.get("activation")) or "auto").lower()
    if activation not in get_args(Activation):
        raise BadSkill("its activation is not one of always, auto, manual")
    return Skill(
        name=name,
        description=_text(facts.get("description")),
        keywords=_list(facts.get("keywords")),
        dependencies=_list(facts.get("dependencies")),
        activation=cast(Activation, activation),
        parts=split(text[front.end() :] if front else text),
    )


def _front_matter(text: str) -> Mapping[str, Any]:
    if len(text) > MAX_FRONT_CHARS:
        raise BadSkill(f"its front matter is longer than {MAX_FRONT_CHARS:,} characters")
    try:
        # No aliases: a few lines of them are billions of words. Scalars as they are written: a
        # number of thousands of digits is no number.
        events = cast(Iterator[object], yaml.parse(text, yaml.BaseLoader))  # pyright: ignore[reportUnknownMemberType]
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise BadSkill("its front matter has aliases (*name), which are not read")
        facts = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - it makes text, lists and maps only
    except BadSkill:
        raise
    except (yaml.YAMLError, ValueError, RecursionError):
        raise BadSkill("its front matter is not valid YAML") from None
    if facts is None:
        return {}
    if not isinstance(facts, dict):
        raise BadSkill("its front matter is no list of keys and values")
    return {str(key).lower(): value for key, value in cast(dict[object, Any], facts).items()}


def _text(value: object) -> str:
    return " ".join(str(value).split())[:2_000] if isinstance(value, str | int | float) else ""


def _list(value: object) -> tuple[str, ...]:
    """A list, or one text with commas; what is no text in it does not count."""
    entries = value.split(",") if isinstance(value, str) else value
    if not isinstance(entries, list):
        return ()
    texts = (_text(entry) for entry in cast(list[object], entries)[:100])
    return tuple(text for text in texts if text)


def split(text: str) -> tuple[Part, ...]:
    """The parts of a Markdown text by its headings; one inside a fence is none."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in text.split("\n"):
        opened = re.match(r" {0,3}(`{3,}|~{3,})", line)
        heading = None if fence else _HEADING.fullmatch(line)
        if opened and not fence:
            fence = opened[1]
        elif opened and opened[1].startswith(fence):
            fence = ""
        if heading:
            parts.append((heading[2], []))
        else:
            parts[-1][1].append(line)
    found = (Part(heading[:120], "\n".join(lines).strip("\n")) for heading, lines in parts)
    return tuple(part for part in found if part.text.strip() or part.heading)


# --- choosing ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """A skill that is active for a prompt, with how strongly (higher first)."""

    skill: Skill
    weight: float


def choose(skills: Mapping[str, Skill], prompt: str, needs: frozenset[str]) -> list[Chosen]:
    """The active skills, those that fit best first.

    ``needs`` are the project's dependencies (``core.sources.project.dependencies``).
    """
    wanted = Fit(prompt)
    weighed = (Chosen(skill, _weight(skill, wanted, needs)) for skill in skills.values())
    active = [chosen for chosen in weighed if chosen.weight > 0]
    return sorted(active, key=lambda chosen: (-chosen.weight, chosen.skill.name))


def _weight(skill: Skill, wanted: Fit, needs: frozenset[str]) -> float:
    if skill.activation == "manual":
        return 8.0 if wanted.names(skill.name) else 0.0
    needed = any(plain_name(name) in needs for name in skill.dependencies)
    return _said(skill, wanted) + 2.0 * (skill.activation == "always") + 1.0 * needed


def _said(skill: Skill, wanted: Fit) -> float:
    """How strongly the words of the prompt ask for a skill."""
    weight = 8.0 if wanted.names(skill.name) else 0.0
    weight += 4 * sum(says(wanted, keyword) for keyword in skill.keywords)
    weight += 3 * fits(wanted, skill.name.replace("-", " "), least=1, of=0.5)
    return weight + 2 * fits(wanted, skill.description, least=2, of=0.0)


def fitting_parts(skill: Skill, prompt: str, limit: int = MAX_PARTS) -> tuple[str, ...]:
    """The intro line, and the parts that fit ``prompt``, in the skill's own order.

    Of one that is always active the first part is told whatever is asked.
    """
    wanted = Fit(prompt)
    scored = [(_part_score(part, wanted), at) for at, part in enumerate(skill.parts)]
    if skill.activation == "always" and scored:
        scored[0] = (max(scored[0][0], 0.01), 0)
    best = sorted((entry for entry in scored if entry[0] > 0), key=lambda e: (-e[0], e[1]))[:limit]
    kept = [skill.parts[at] for _, at in sorted(best, key=lambda entry: entry[1])]
    return (skill.intro, *(_shown(skill, part) for part in kept))


def _part_score(part: Part, wanted: Fit) -> float:
    own = 2 * fits(wanted, part.heading, least=1, of=0.25)
    return own + fits(wanted, part.text, least=2, of=0.0)


def _shown(skill: Skill, part: Part) -> str:
    head = f"{skill.name}, {part.heading}" if part.heading else skill.name
    text = part.text
    if len(text) > MAX_PART_CHARS:
        text = f"{text[:MAX_PART_CHARS].rpartition(chr(10))[0]}\n[…]"
    return f"{head}:\n{text}"


# --- the source --------------------------------------------------------------------------


def wants(scene: Scene) -> bool:
    """Whether there is any folder that may hold skills."""
    return any(map(os.path.lexists, _folders(Path(scene.project.path), Path.home())))


def offer(scene: Scene) -> Offer:
    """The active skills' fitting parts; in mode full a line of each of the others as well."""
    project = Path(scene.project.path)
    skills, notes = read_skills(project, Path.home())
    if not skills:
        return Offer(notes=notes)
    chosen = choose(skills, scene.prompt, dependencies(project))
    parts = [part for one in chosen for part in fitting_parts(one.skill, scene.prompt)]
    if scene.mode == "full":
        active = {one.skill.name for one in chosen}
        others = (s for s in skills.values() if s.name not in active and s.activation != "manual")
        parts += [skill.intro for skill in others]
    if not parts:
        return Offer(notes=notes)
    found = Candidate(tuple(parts), pull=PULL, available=_available(chosen, len(skills)))
    return Offer({"skills": found}, notes)


def _available(chosen: Sequence[Chosen], total: int) -> str:
    """What there is, in one line: names are plain words (see ``_NAME``)."""
    if not chosen:
        return f"{total} there, none matches"
    names = ", ".join(one.skill.name for one in chosen[:MAX_LISTED])
    more = ", …" if len(chosen) > MAX_LISTED else ""
    return f"{len(chosen)} {'match' if len(chosen) > 1 else 'matches'}: {names}{more}"


def answer(pull: Pull, scene: Scene) -> PulledResult:
    """A skill by its name, the parts of it that fit (``name: words``), or a list by words."""
    skills, _ = read_skills(Path(scene.project.path), Path.home())
    if not skills:
        return PulledResult(pull, (), "there are no skills in this project")
    query = pull.query.strip().strip("`/$")
    name, _, about = query.partition(":")
    by_name = {skill.name.lower(): skill for skill in skills.values()}
    skill = by_name.get(name.strip().lower())
    if skill is not None and about.strip():
        parts = _asked_for(skill, about.strip())
        note = "" if len(parts) > 1 else f"no part fits; its headings: {_headings(skill)}"
        return PulledResult(pull, parts, note)
    if skill is not None:
        return PulledResult(pull, (skill.intro, *(_shown(skill, part) for part in skill.parts)))
    wanted = Fit(query)
    said = {name: _said(skill, wanted) for name, skill in skills.items()}
    matching = sorted((name for name in said if said[name]), key=lambda name: (-said[name], name))
    note = "" if matching else "no skill matches; these are there"
    listed = [skills[name].intro for name in matching or skills]
    return PulledResult(pull, tuple(listed[:MAX_LISTED]), note)


def _asked_for(skill: Skill, about: str) -> tuple[str, ...]:
    """The part with that heading, else the parts that hold the words."""
    wanted = " ".join(tokens(about))
    named = [part for part in skill.parts if " ".join(tokens(part.heading)) == wanted]
    if named:
        return (skill.intro, *(_shown(skill, part) for part in named))
    words = Fit(about)
    kept = [p for p in skill.parts if fits(words, f"{p.heading}\n{p.text}", least=1, of=0.0) > 0]
    kept.sort(key=lambda part: -_part_score(part, words))
    return (skill.intro, *(_shown(skill, part) for part in kept[:MAX_PARTS]))


def _headings(skill: Skill) -> str:
    """Headings as a line of ours: letters, digits and spaces only."""
    plain = (re.sub(r"[^\w ]+", " ", part.heading).strip() for part in skill.parts)
    return ", ".join(heading for heading in plain if heading)[:400] or "none"


def check() -> Iterator[Check]:
    """A line for ``doctor`` on the user's own skills (a project's are looked at in its rounds)."""
    skills, notes = read_skills(Path("/nonexistent"), Path.home())
    detail = f"{len(skills)} of your own, beside each project's {' and '.join(PROJECT_FOLDERS)}"
    yield Check("skills", ok=True, detail="; ".join((detail, *notes)))


SOURCE = Source(
    "skills",
    "outside",
    sections=("skills",),
    kinds=("skill",),
    offer=offer,
    wants=wants,
    answer=answer,
    check=lambda: tuple(check()),
)
