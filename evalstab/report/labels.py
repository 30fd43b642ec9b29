"""Names and sentences that others wrote, made fit to stand in a page: one line, bounded, visible.

Candidates, endpoints, models and reasons may hold anything: line breaks, control and direction
characters, floods of combining marks. What is left is plain text; renderers escape their syntax.
"""

from __future__ import annotations

import os

from evalstab.text import excerpt

NAME_LIMIT = 40
TEXT_LIMIT = 200
_LONGEST_RAW = 20_000


def name(value: object, limit: int = NAME_LIMIT) -> str:
    """A name in one line of at most ``limit`` characters; the middle of a longer one is left out.

    Both ends are kept, because long names often differ in their last characters only.
    """
    text = visible(value)
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - limit :]}"


def sentence(value: object, limit: int = TEXT_LIMIT) -> str:
    """A text in one line of at most ``limit`` characters; the end of a longer one is left out."""
    text = visible(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def file_name(path: object) -> str:
    """A path, or what was said of one, as text: bytes that are no text are spelt out."""
    return visible(os.fsencode(str(path)).decode(errors="backslashreplace"))


def visible(value: object) -> str:
    """The text in one line: white space runs become one space, unseen characters are spelt out."""
    return excerpt.visible(" ".join(str(value)[:_LONGEST_RAW].split()))
