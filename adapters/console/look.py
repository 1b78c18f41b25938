"""How the room looks: two calm themes and the style sheet."""

from __future__ import annotations

import zlib

from textual.theme import Theme

NIGHT = Theme(
    name="moot-night",
    primary="#7aa2d6",
    secondary="#9d8ec7",
    accent="#d8a657",
    success="#8fb573",
    warning="#d8a657",
    error="#d9707a",
    foreground="#d6d9e0",
    background="#15171c",
    surface="#1a1d23",
    panel="#22262e",
    dark=True,
    variables={"footer-key-foreground": "#d8a657", "footer-background": "#15171c"},
)
DAY = Theme(
    name="moot-day",
    primary="#2f5f9e",
    secondary="#6a549f",
    accent="#9a6700",
    success="#3f7d20",
    warning="#9a6700",
    error="#b3313f",
    foreground="#24292f",
    background="#fbfaf7",
    surface="#f4f2ec",
    panel="#e8e5dc",
    dark=False,
    variables={"footer-key-foreground": "#9a6700", "footer-background": "#fbfaf7"},
)

_VOICES = 8
_SPREAD = 15  # chosen so that the shipped personas all differ, and the shipped engines too


def voice(name: str) -> str:
    """The style class of a speaker: the same for the same name, every time."""
    return f"voice-{(zlib.crc32(name.encode()) * _SPREAD >> 16) % _VOICES}"


STYLE = """
Screen { background: $background; }
#sidebar, #messages, #composer {
    scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
    scrollbar-background: $background; scrollbar-background-hover: $background;
    scrollbar-background-active: $background; scrollbar-color: $panel;
    scrollbar-color-hover: $primary 60%; scrollbar-color-active: $primary;
}

#sidebar {
    width: 30; height: 1fr; padding: 1 1 0 1; border: none;
    background: $surface; text-wrap: nowrap; text-overflow: ellipsis;
    & > .option-list--option-highlighted {
        background: $panel; color: $foreground; text-style: none;
    }
    & > .option-list--option-hover { background: $panel 60%; }
    &:focus > .option-list--option-highlighted { background: $primary 35%; }
}
.-medium #sidebar { width: 22; }
.-narrow #sidebar { display: none; }
.-narrow.-listing #sidebar { display: block; width: 1fr; }
.-narrow.-listing #place { display: none; }

#title {
    height: 1; padding: 0 2; margin: 1 0 0 0; color: $foreground 75%; text-style: bold;
    text-wrap: nowrap; text-overflow: ellipsis;
}
#messages { height: 1fr; padding: 0 2; }

/* At least as high as the view, for an anchored view of something shorter would leave its top. */
#thread { height: auto; min-height: 100%; }
#thread .intro { padding: 1 2; border-left: outer $accent; background: $surface; }
#earlier { margin: 1 0 0 0; }

.entry { height: auto; margin: 1 0 0 0; padding: 0 0 0 1; border-left: outer $panel; }
.entry .who { height: 1; }
.entry .said { width: 1fr; height: auto; }
.entry Markdown { padding: 0; margin: 0; background: transparent; }
.entry Markdown > MarkdownBlock { margin: 0 0 1 0; }
.entry Markdown > MarkdownBlock:last-child { margin-bottom: 0; }
.entry MarkdownFence { margin: 0 0 1 0; max-height: 200; background: $surface; }
.entry MarkdownH1, .entry MarkdownH2, .entry MarkdownH3 {
    content-align: left middle; text-style: bold; background: transparent; color: $foreground;
    padding: 0; border: none;
}
.entry MarkdownTableContent { keyline: none; grid-gutter: 0 1; }  /* a receipt fits 80 columns */
.entry MarkdownTableContent > .cell, .entry MarkdownTableContent > .header {
    text-overflow: fold;
    padding: 0;
}
.entry .buttons { height: auto; margin: 0 0 0 0; }
.entry .buttons Button { margin: 0 1 0 0; min-width: 8; }
.person { border-left: outer $foreground 40%; }
.whisper { border-left: outer $accent; background: $surface; padding: 0 1 1 1; }
.voice-0 { border-left: outer #7aa2d6; }
.voice-1 { border-left: outer #8fb573; }
.voice-2 { border-left: outer #c98fb8; }
.voice-3 { border-left: outer #d8a657; }
.voice-4 { border-left: outer #6fb3b8; }
.voice-5 { border-left: outer #d98c6a; }
.voice-6 { border-left: outer #9d8ec7; }
.voice-7 { border-left: outer #b8b06a; }

#composer {
    height: auto; min-height: 3; max-height: 10; margin: 1 2 0 2; padding: 0 1;
    border: round $panel; background: $background;
    &:focus { border: round $primary; }
    & .text-area--cursor-line { background: transparent; }
    & .text-area--placeholder { color: $foreground 45%; }
}
/* At the top: below they would hide the line one is writing. */
ToastRack { dock: top; align: right top; margin: 1 1 0 0; }
Footer { background: $background; }
"""
