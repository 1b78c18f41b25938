"""Modals: shown in answer to a command or a click, and sent back as one event."""

from __future__ import annotations

import pytest

from core.model import Button, ConversationKey, Field, Form, Reply
from tests.integration.discord.room import asked, post, running

FORM = Form(
    "roundtable",
    "Roundtable",
    "Start",
    (
        Field("topic", "Topic", "paragraph", "half a topic"),
        Field(
            "who",
            "Participants",
            "choices",
            "a:x\nb:y",
            (("a:x", "a (x)"), ("b:y", "b (y)"), ("c:z", "c (z)")),
            at_least=2,
            at_most=2,
        ),
        Field("mode", "Mode", "choice", "blind", (("parallel", "at once"), ("blind", "alone"))),
        Field("budget", "Budget", optional=True, hint="characters"),
    ),
    context="--preset review",
)
OPENS = Reply("type it instead", form=FORM)


async def test_a_command_opens_a_modal_and_it_comes_back_as_one_event(world, ears):
    ears.reply = OPENS
    sent = world.alice.slash(world.channel, "roundtable", preset="review")
    assert (await sent.modal())["title"] == "Roundtable"
    assert (await ears.event(kind="command")).text == "--preset review"
    assert sent.filled == {
        "topic": "half a topic",
        "who": ["a:x", "b:y"],
        "mode": ["blind"],
        "budget": "",
    }
    ears.reply = Reply("On it.")
    submitted = world.alice.submit(sent, topic="a <b> & **c**?", who=["a:x", "c:z"], budget="90k")
    shown = await submitted.answer()
    assert (shown.text, shown.ephemeral) == ("On it.", True)
    event = await ears.event(kind="form")
    assert event.key == ConversationKey("discord", world.guild, world.channel, "")
    assert (event.command, event.text) == ("roundtable", "--preset review")
    assert event.values == {
        "topic": ("a <b> & **c**?",),
        "who": ("a:x", "c:z"),
        "mode": ("blind",),
        "budget": ("90k",),
    }
    assert event.author.id == world.alice.id
    assert event.author.trusted


async def test_errors_are_shown_in_private_with_what_was_filled_in(world, ears):
    ears.reply = OPENS
    sent = world.alice.slash(world.channel, "roundtable")
    await sent.modal()
    ears.reply = Reply("No number: `lots`", errors={"budget": "No number"})
    shown = await world.alice.submit(sent, budget="lots").answer()
    assert (shown.text, shown.ephemeral) == ("No number: `lots`", True)


async def test_a_modal_sent_twice_has_one_event_id(world, ears):
    ears.reply = OPENS
    sent = world.alice.slash(world.channel, "roundtable")
    await sent.modal()
    ears.reply = None
    world.alice.submit(sent, times=2)
    await world.until(lambda: len(ears.of("form")) == 2)
    assert len({event.event_id for event in ears.of("form")}) == 1


async def test_a_delivery_that_comes_twice_is_taken_once(world, ears):
    ears.reply = OPENS
    sent = world.alice.slash(world.channel, "roundtable")
    await sent.modal()
    ears.reply = None
    world.gateway.duplicate = 1
    await world.alice.submit(sent).done()
    world.alice.say(world.channel, "afterwards")
    await ears.event("afterwards")
    assert len(ears.of("form")) == 1


async def test_a_button_in_a_thread_opens_one_for_that_thread_and_it_outlives_a_restart(world):
    async with running(world) as (chat, ears):
        event = await asked(world, ears)
        await chat.post(event.key, post("a form?", buttons=(Button("form:", "Fill in a form"),)))
        [shown] = [m for m in world.messages(event.key.root) if m.text == "a form?"]
        ears.reply = OPENS
        sent = world.bob.click(shown, label="Fill in a form")
        await sent.modal()
    async with running(world) as (_, ears):
        await world.bob.submit(sent, topic="after a restart").done()
        form = await ears.event(kind="form")
        assert (form.key, form.in_thread) == (event.key, True)
        assert form.values["topic"] == ("after a restart",)


@pytest.mark.parametrize("case", ["late", "long"])
async def test_where_no_modal_can_be_shown_the_words_are(world, ears, case):
    if case == "late":
        ears.delay_s = 2.5
    context = "--preset " + "x" * 90 if case == "long" else ""
    ears.reply = Reply("type it instead", form=Form("roundtable", "R", "Go", FORM.fields, context))
    sent = world.alice.slash(world.channel, "roundtable")
    assert (await sent.answer()).text == "type it instead"


async def test_everything_else_is_typed_after_moot(world, ears):
    world.alice.slash(world.channel, "moot", words="plan new A title -- with dashes")
    event = await ears.event(kind="command")
    assert (event.command, event.text) == ("moot", "plan new A title -- with dashes")
