"""Hostile text cut into pieces where findings stand, with nothing unseen left in it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from evalstab.chat import Json
from evalstab.report.facts import number
from evalstab.text.excerpt import MARK_CLOSE, MARK_OPEN, visible

Mark = tuple[int, int, int]
"""Start and end in code points of one text, and the number of the finding that stands there."""

MAX_MARKS = 2_000
_COMPARED = 20


def shown(text: str) -> str:
    """The text line by line, every character that hides, reorders or breaks others spelt out."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "\n".join(
        line if line.isascii() and line.isprintable() else visible(line)
        for line in text.split("\n")
    )


def cut(text: str, marks: Iterable[Mark]) -> list[str | list[object]]:
    """The shown text in order: plain pieces, and ``[piece, [findings]]`` where marks lie.

    Marks may overlap; what lies outside the text is left out. Of very many marks the first are
    kept.
    """
    inside = [(max(0, a), min(len(text), b), i) for a, b, i in marks]
    inside = sorted(mark for mark in inside if mark[0] < mark[1])[:MAX_MARKS]
    if not inside:
        return [shown(text)] if text else []
    opened = {a: [m[2] for m in inside if m[0] == a] for a in {m[0] for m in inside}}
    closed = {b: [m[2] for m in inside if m[1] == b] for b in {m[1] for m in inside}}
    edges = sorted({0, len(text), *opened, *closed})
    pieces: list[str | list[object]] = []
    active: list[int] = []
    for low, high in pairwise(edges):
        for index in closed.get(low, ()):
            active.remove(index)
        active += opened.get(low, ())
        piece = shown(text[low:high])
        pieces.append([piece, sorted(set(active))] if active else piece)
    return pieces


def lies_in(finding: Json, text: str) -> bool:
    """Whether a finding's offsets fit this text, and its excerpt is what stands there."""
    start, end = number(finding, "start"), number(finding, "end")
    if start is None or end is None or not 0 <= start < end <= len(text):
        return False
    told = str(finding.get("excerpt") or "")
    if MARK_OPEN in told:
        told = told.partition(MARK_OPEN)[2].partition(MARK_CLOSE)[0]
    span = text[int(start) : int(start) + 4 * _COMPARED]
    told, seen = told[:_COMPARED], visible(span)
    return not told or told.startswith(seen[: len(told)]) or told in (seen, span) or told in span
