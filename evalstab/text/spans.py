"""What a scan returns: a place in a text and what is wrong there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "script",
    "homoglyph",
    "language",
    "width",
    "punct",
    "invisible",
    "garbage",
    "degenerate",
    "special_token",
]
Tier = Literal["sure", "probable"]


@dataclass(frozen=True, slots=True)
class Span:
    """One foreign or broken piece of a text.

    `start` and `end` count Unicode code points of the text that was given, end exclusive.
    `script` is the long Unicode script name ("Han", "Cyrillic", "Hangul", "Hiragana",
    "Katakana", "Latin", "Common", …). `graphemes` counts extended grapheme clusters inside the
    span, white space left out. `zone` is None in prose and in code comments, else "code",
    "url", "path" or "math". `copied` is True when the piece stood in an input.
    `tier` is "sure" for what counts as a leak by itself, "probable" for what a reader should
    look at. `detail` holds plain JSON values, by kind:

    * script: `scripts` {name: letters}; `group` "Jpan" where Han and kana stand in one run;
      `language_guess` where the characters of a Han run decide it; `comment`, `gloss`
    * homoglyph: `scripts` {name: letters}
    * language: `language`, `votes`, `letters`
    * garbage: `cause` "replacement" | "surrogate" | "noncharacter" | "control" |
      "private_use" | "unassigned"
    * invisible: `names`, the code points as "U+200B"
    * degenerate: `cause`, `symbol`, `count`
    * special_token: `token`
    """

    kind: Kind
    start: int
    end: int
    script: str
    graphemes: int
    zone: str | None = None
    copied: bool = False
    tier: Tier = "sure"
    detail: Mapping[str, object] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """True for a leak that headline numbers count: sure, in prose, in no input."""
        return self.tier == "sure" and not self.copied and self.zone is None
