"""Answers to what agents want to know: how they are given, and what was meant. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.errors import BadInput
from core.model import Asked, AskedQuestion, Field, FieldKind, Form
from core.tongue import say
from core.words import literal

FORM = "answer"
MAX_FIELDS = 5  # of a form (Discord)
MAX_ANSWER_CHARS = 4_000
_PICKS = re.compile(r"[0-9]{1,2}(?:\s*[,;\s]\s*[0-9]{1,2})*")
Values = Mapping[str, tuple[str, ...]]


def how_to_answer(asked: Asked) -> str:
    """What to type where no form can be shown."""
    lines = say(" with a line for each question") if len(asked.request.questions) > 1 else ""
    return say(
        "type `!answer {id} …`{lines}: numbers of options, or your own words.",
        id=asked.id,
        lines=lines,
    )


def answer_form(asked: Asked) -> Form | None:
    """A form for all questions of a request; ``None`` when they are too many for one."""
    questions = asked.request.questions
    if not 0 < len(questions) <= MAX_FIELDS:
        return None
    fields: list[Field] = []
    both = 2 * len(questions) <= MAX_FIELDS
    for at, question in enumerate(questions):
        label = " ".join(question.text.split())[:45] or say("Question {at}", at=at + 1)
        options = tuple(
            (str(number), " ".join(f"{number} = {name}".split())[:75])
            for number, (name, _) in enumerate(question.options, 1)
        )[:25]
        if options and both:
            kind: FieldKind = "choices" if question.several else "choice"
            fields.append(Field(f"pick{at}", label, kind, options=options, optional=True))
            words = Field(f"text{at}", say("Or in your own words"), "paragraph", optional=True)
        else:
            hint = say("Numbers of the options, or your own words") if options else ""
            words = Field(f"text{at}", label, "paragraph", optional=True, hint=hint)
        fields.append(words)
    return Form(
        FORM, say("Answer #{id}", id=asked.id)[:24], say("Send"), tuple(fields), str(asked.id)
    )


def read_answers(asked: Asked, values: Values) -> tuple[tuple[str, ...], ...]:
    """What was filled in, for each question in order.

    Raises:
        BadInput: nothing at all.
    """
    answers: list[tuple[str, ...]] = []
    for at, question in enumerate(asked.request.questions):
        written = next(iter(values.get(f"text{at}", ())), "").strip()
        picked = [
            question.options[int(number) - 1][0]
            for number in values.get(f"pick{at}", ())
            if number.isdecimal() and 0 < int(number) <= len(question.options)
        ]
        words = one_answer(question, written) if written else ()
        answers.append((*picked, *words))
    if not any(answers):
        raise BadInput(say("Pick something, or write an answer."))
    return tuple(answers)


def typed_answers(asked: Asked, text: str) -> tuple[tuple[str, ...], ...]:
    """The same from typed text: one question takes all of it, several take a line each.

    Raises:
        BadInput: there are not as many lines as questions.
    """
    questions = asked.request.questions
    if len(questions) == 1:
        return (one_answer(questions[0], text),)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != len(questions):
        raise BadInput(
            say(
                "#{id} asks {count} questions, and {count2} lines answer them: {how_to_answer}",
                id=asked.id,
                count=len(questions),
                count2=len(lines),
                how_to_answer=how_to_answer(asked),
            )
        )
    return tuple(one_answer(q, line) for q, line in zip(questions, lines, strict=True))


def one_answer(question: AskedQuestion, text: str) -> tuple[str, ...]:
    """Options by their numbers or names where that is what was written, else the words.

    Raises:
        BadInput: a number that no option has, or several where one may be picked.
    """
    text = text.strip()[:MAX_ANSWER_CHARS]
    names = [name for name, _ in question.options]
    named = next((name for name in names if name.casefold() == text.casefold()), None)
    if not names or not _PICKS.fullmatch(text):
        return (named or text,)
    numbers = list(dict.fromkeys(int(n) for n in re.findall(r"[0-9]+", text)))
    if all(0 < n <= len(names) for n in numbers):
        if not question.several and len(numbers) > 1:
            raise BadInput(say("Only one can be picked: {options}.", options=_options(names)))
        return tuple(names[n - 1] for n in numbers)
    if named:
        return (named,)
    wrong = ", ".join(str(n) for n in numbers if not 0 < n <= len(names))
    raise BadInput(
        say(
            "There is no option {wrong}. There are: {options}. If the number itself is your "
            "answer, put a word with it.",
            wrong=wrong,
            options=_options(names),
        )
    )


def _options(names: list[str]) -> str:
    return ", ".join(f"{number} = {literal(name, 80)}" for number, name in enumerate(names, 1))
