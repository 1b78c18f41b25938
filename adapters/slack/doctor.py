"""What ``moot doctor`` asks of Slack: tokens and their kinds, sign-in, scopes, membership."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adapters.slack import named
from adapters.slack.api import Api
from adapters.slack.manifest import OPTIONAL, SCOPES
from core.errors import BadSettings, ChatRefused, MootError
from core.model import Check

if TYPE_CHECKING:
    from adapters.slack.chat import SlackConfig

APP_OF = re.compile(r"xapp-\d+-(A[A-Z0-9]+)-.")
REINSTALL = "then Install App > Reinstall to Workspace"
APP_PAGE = "on https://api.slack.com/apps"
BOT_FIX = f"set MOOT__SLACK__BOT_TOKEN to the xoxb- token ({APP_PAGE}: OAuth & Permissions)"
APP_FIX = (
    f"set MOOT__SLACK__APP_TOKEN to an xapp- token with connections:write ({APP_PAGE}: "
    "Basic Information > App-Level Tokens)"
)
SECRET_FIX = f"set MOOT__SLACK__SIGNING_SECRET ({APP_PAGE}: Basic Information > App Credentials)"


def settings(config: SlackConfig) -> list[Check]:
    """PURE: what can be told from the settings alone."""
    swapped = config.bot_token.startswith("xapp-") and config.app_token.startswith("xoxb-")
    found = [_token("slack bot token", config.bot_token, "xoxb-", BOT_FIX, swapped=swapped)]
    if config.mode == "http":
        ok = bool(config.signing_secret)
        detail = "set" if ok else "missing; HTTP mode cannot tell Slack from anybody else"
        found.append(Check("slack signing secret", ok, detail, "" if ok else SECRET_FIX))
    else:
        found.append(_token("slack app token", config.app_token, "xapp-", APP_FIX, swapped=swapped))
    return found


def _token(name: str, token: str, kind: str, fix: str, *, swapped: bool) -> Check:
    if not token:
        return Check(name, ok=False, detail="missing", fix=fix)
    if swapped:
        detail = "the bot token and the app token are swapped"
        return Check(name, ok=False, detail=detail, fix=f"exchange the two; {fix}")
    if not token.startswith(kind):
        return Check(name, ok=False, detail=f"begins with {token[:5]!r}, not {kind!r}", fix=fix)
    return Check(name, ok=True, detail=f"{kind}…")


def refuse_bad_settings(config: SlackConfig) -> None:
    """Raises BadSettings: for the first setting that cannot work, with its fix."""
    for check in settings(config):
        if not check.ok:
            raise BadSettings(f"{check.name}: {check.detail}; {check.fix}")


async def checks(
    config: SlackConfig, api: Api, channels: Sequence[str] = (), people: Sequence[str] = ()
) -> list[Check]:
    """All checks; those that need a working token are left out when there is none."""
    found = settings(config)
    if found[0].ok:
        bot = await _bot(api)
        found += bot
        if bot[0].ok:
            found += [await _channel(api, channel) for channel in channels]
            found += await named.checks(api, people)
    if config.mode == "socket" and found[1].ok:
        opened = await _app(Api(config.app_token, config.base_url))
        found.append(opened)
        if opened.ok and found[0].ok:
            found += await _same_app(config.app_token, api)
    return found


async def _bot(api: Api) -> list[Check]:
    try:
        told, headers = await api.call_with_headers("auth.test")
    except MootError as error:
        return [_failed("slack sign-in", error, BOT_FIX)]
    who = f"{told.get('user')} ({told.get('user_id')}) in {told.get('team')}"
    found = [Check("slack sign-in", ok=True, detail=who)]
    granted = scopes_of(headers)
    return [*found, *([granted] if granted else []), *await _membership(api)]


def scopes_of(headers: Mapping[str, str]) -> Check | None:
    """PURE: the check of the scopes, from an answer's headers; ``None`` where they are not told."""
    granted = {k.lower(): v for k, v in headers.items()}.get("x-oauth-scopes")
    return None if granted is None else scopes(granted)


def grants(headers: Mapping[str, str], scope: str) -> bool:
    """PURE: whether a scope was granted; where an answer tells none, it is taken for granted."""
    told = {k.lower(): v for k, v in headers.items()}.get("x-oauth-scopes")
    return not told or scope in {one.strip() for one in told.split(",")}


def scopes(granted: str) -> Check:
    """PURE: compare the header that lists the granted scopes with those in use."""
    have = {scope.strip() for scope in granted.split(",")}
    missing = {scope: why for scope, why in SCOPES.items() if scope not in have}
    if not missing:
        lacking = [f"{one} is not (to {why})" for one, why in OPTIONAL.items() if one not in have]
        detail = "; ".join((f"{len(SCOPES)} of {len(SCOPES)} granted", *lacking))
        return Check("slack scopes", ok=True, detail=detail)
    listed = ", ".join(f"{scope} ({why})" for scope, why in missing.items())
    return Check(
        "slack scopes",
        ok=False,
        detail=f"missing: {listed}",
        fix=f"add {', '.join(missing)} under OAuth & Permissions {APP_PAGE}, or paste "
        f"`moot slack-manifest` under App Manifest; {REINSTALL}",
    )


async def _membership(api: Api) -> list[Check]:
    try:
        told = await api.call(
            "users.conversations", types="public_channel,private_channel", limit=200
        )
    except ChatRefused:
        return []  # the scope for it is missing, which its own line says
    except MootError as error:
        return [_failed("slack channels", error, "try again")]
    names = [f"#{c.get('name')}" for c in told.get("channels") or () if not c.get("is_im")]
    if names:
        return [Check("slack channels", ok=True, detail=", ".join(names[:10]))]
    return [
        Check(
            "slack channels",
            ok=False,
            detail="a member of no channel, so only direct messages arrive",
            fix="type /invite @moot in a channel",
        )
    ]


async def _channel(api: Api, channel: str) -> Check:
    """A channel that a project lists: a slip in its id would go unnoticed, and its project too."""
    name = f"slack channel {channel}"
    try:
        told = (await api.call("conversations.info", channel=channel))["channel"]
    except ChatRefused as error:
        if error.code == "missing_scope":  # its own line says so
            return Check(name, ok=True, detail="not looked at: a scope is missing")
        fix = "correct the id in [projects] channels (a channel's id ends its About page)"
        if error.code == "channel_not_found":
            fix += ", or, for a private channel, type /invite @moot there"
        return _failed(name, error, fix)
    except MootError as error:
        return _failed(name, error, "try again")
    called = f"#{told.get('name') or channel}"
    if told.get("is_member") or told.get("is_im"):
        return Check(name, ok=True, detail=called)
    return Check(
        name, ok=False, detail=f"Moot is not in {called}", fix=f"type /invite @moot in {called}"
    )


async def _app(api: Api) -> Check:
    try:
        await api.call("apps.connections.open")
    except MootError as error:
        return _failed("slack socket mode", error, f"switch Socket Mode on {APP_PAGE}; {APP_FIX}")
    return Check("slack socket mode", ok=True, detail="a link can be opened")


async def _same_app(app_token: str, api: Api) -> list[Check]:
    """Tokens of two apps work each by itself, and no mention of the bot ever arrives.

    An app-level token names its app (``xapp-1-A0123-…``); that of the bot is told by bots.info.
    """
    named = APP_OF.match(app_token)
    try:
        bot = (await api.call("auth.test")).get("bot_id")
        told = (await api.call("bots.info", bot=bot))["bot"] if named and bot else {}
    except MootError:
        return []  # what is wrong stands in a line of its own; this is only looked at beside it
    its = str(told.get("app_id") or "")
    if named is None or not its or its == named[1]:
        return []
    detail = f"of two apps: the app token of {named[1]}, the bot token of {its}"
    fix = f"take both from the pages of one app, such as https://api.slack.com/apps/{its}"
    return [Check("slack tokens", ok=False, detail=detail, fix=fix)]


def _failed(name: str, error: MootError, fix: str) -> Check:
    code: Any = getattr(error, "code", "")
    if isinstance(error, ChatRefused):
        return Check(name, ok=False, detail=f"{error} ({code})", fix=fix)
    fix = (
        "check this machine's network, and [slack] api_url if it is set; Slack's own troubles are "
        "told at https://slack-status.com; then again"
    )
    return Check(name, ok=False, detail=str(error), fix=fix)
