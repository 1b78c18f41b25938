"""Whose words a question may draw from, against a second reading of the rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from peewee import SqliteDatabase

from bridge.projects import channels_of, project_of
from config.settings import load_settings
from config.tables import Project as ProjectEntry
from core.model import ConversationKey, Scene
from core.records import messages, places, scope
from core.records.tables import ConversationRow

SETTINGS = load_settings(Path("config/default.toml"))
PLACES = [f"slack:C{n}" for n in range(4)]


@contextmanager
def rows() -> Iterator[None]:
    """The tables in memory."""
    database = SqliteDatabase(":memory:")
    with database.bind_ctx([ConversationRow]):
        database.create_tables([ConversationRow])
        yield
    database.close()


conversations = st.lists(
    st.fixed_dictionaries(
        {
            "chat": st.sampled_from(["slack", "discord"]),
            "space": st.sampled_from(["T1", "T2"]),
            "channel": st.sampled_from(["C0", "C1", "C2", "C3"]),
            "kind": st.sampled_from(["channel", "channel", "channel", "thread-apart", "direct"]),
        }
    ),
    min_size=2,
    max_size=12,
)


@st.composite
def projects(draw: st.DrawFn) -> dict[str, ProjectEntry]:
    """Channels and ``*`` dealt out to at most two projects; some belong to none."""
    owners = {place: draw(st.sampled_from(["", "a", "b"])) for place in [*PLACES, "*"]}
    return {
        name: ProjectEntry(
            path=Path("/"), channels=tuple(place for place in owners if owners[place] == name)
        )
        for name in ("a", "b")
    }


def wanted(scene: Scene, public: set[tuple[str, str, str]], other, configured) -> bool:
    """The rule in words, asked of values instead of rows."""
    here = scene.conversation
    if other.id == here.id:
        return True
    if other.apart or (other.key.chat, other.key.space) != (here.key.chat, here.key.space):
        return False
    if other.key.channel == here.key.channel:
        return True
    if here.direct or other.direct or not scene.asker_trusted:
        return False
    same = project_of(configured, other.key) == project_of(configured, here.key)
    return same and (other.key.chat, other.key.space, other.key.channel) in public


@settings(deadline=None)  # the host may be busy
@given(
    conversations,
    projects(),
    st.sets(
        st.tuples(
            st.sampled_from(["slack", "discord"]),
            st.sampled_from(["T1", "T2"]),
            st.sampled_from(["C0", "C1", "C2", "C3"]),
        )
    ),
    st.booleans(),
)
def test_exactly_what_the_asker_and_the_whole_channel_may_see(made, listed, public, trusted):
    configured = SETTINGS.model_copy(update={"projects": listed})
    with rows():
        for number, place in enumerate(made):
            direct = place["kind"] == "direct"
            channel = f"D{place['channel']}" if direct else place["channel"]
            ConversationRow.create(
                chat=place["chat"],
                space=place["space"],
                channel=channel,
                root=str(number),
                direct=direct,
                apart=place["kind"] == "thread-apart",
                created_at=1.0,
            )
        for key in public:
            places.set_public(ConversationKey(*key, ""), public=True)
        known = [messages.to_conversation(row) for row in ConversationRow.select()]
        for here in known:
            project = project_of(configured, here.key)
            scene = Scene(
                conversation=here,
                project=project,
                prompt="",
                turn_id=1,
                prompt_message_id=1,
                project_channels=channels_of(configured, project),
                asker_trusted=trusted,
            )
            expected = {other.id for other in known if wanted(scene, public, other, configured)}
            found = {row.id for row in ConversationRow.select().where(scope.visible(scene))}
            assert found == expected
            assert {other.id for other in known if scope.may_see(scene, other.id)} == expected
            assert not scope.may_see(scene, 10_000)


def test_a_channel_that_became_private_is_private_for_the_next_question():
    with rows():
        here, there = (
            messages.open_conversation(
                ConversationKey("slack", "T1", channel, "1"), direct=False, in_thread=False, now=1.0
            )
            for channel in ("C0", "C1")
        )
        scene = Scene(
            conversation=here,
            project=project_of(SETTINGS, here.key),
            prompt="",
            turn_id=1,
            prompt_message_id=1,
            project_channels=("slack:C0", "slack:C1"),
            asker_trusted=True,
        )
        assert not scope.may_see(scene, there.id)  # not known to be public
        places.set_public(there.key, public=True)
        assert scope.may_see(scene, there.id)
        places.set_public(there.key, public=False)
        assert not scope.may_see(scene, there.id)
