"""Telling a transport that says everything twice from a model that repeats itself.

Decided on the deltas as they came, before any other judgement: what a gateway doubled is counted
once and is no loop. Serves A12 and A16 (a whole text again), A23 (every delta twice) and streams
whose deltas each carry the whole text so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Kind = Literal["deltas", "halves", "whole", "text"]

MIN_PAIRS = 4
PAIRED_SHARE = 0.9
MAX_NEIGHBOUR_SHARE = 0.5
MIN_WHOLE_CHARS = 40
MIN_TEXT_CHARS = 80
MIN_GROWING = 3


@dataclass(frozen=True, slots=True)
class Joined:
    """The text that was meant, and how it had been doubled (``None``: it had not)."""

    text: str
    doubled: Kind | None = None


def join(parts: Sequence[str]) -> Joined:
    """Put the deltas of one channel together, each counted once."""
    deltas = [part for part in parts if part]
    if is_cumulative(deltas):
        return Joined(deltas[-1])
    single = _one_of_each_pair(deltas)
    if single is not None:
        return Joined("".join(single), "deltas")
    halves = _first_halves(deltas)
    if halves is not None:
        return Joined("".join(halves), "halves")
    return _whole_again(deltas)


def is_cumulative(deltas: Sequence[str]) -> bool:
    """Whether each delta carries the whole text so far, as snapshots rather than additions."""
    if len(deltas) < MIN_GROWING + 1 or len(deltas[-1]) < MIN_WHOLE_CHARS:
        return False
    grown = 0
    for before, after in pairwise(deltas):
        if len(after) < len(before) or not after.startswith(before):
            return False
        grown += len(after) > len(before)
    return grown >= MIN_GROWING and 2 * grown >= len(deltas) - 1


def _one_of_each_pair(deltas: Sequence[str]) -> list[str] | None:
    """One delta of each equal pair, or ``None`` where the deltas do not come in pairs.

    Pairs that equal their neighbouring pair are what a token loop looks like, so these must
    be the minority.
    """
    kept: list[str] = []
    pairs: list[str] = []
    position = 0
    while position < len(deltas):
        kept.append(deltas[position])
        if position + 1 < len(deltas) and deltas[position] == deltas[position + 1]:
            pairs.append(deltas[position])
            position += 1
        position += 1
    if len(pairs) < MIN_PAIRS or 2 * len(pairs) <= PAIRED_SHARE * len(deltas):
        return None
    same = sum(a == b for a, b in pairwise(pairs))
    return kept if same < MAX_NEIGHBOUR_SHARE * len(pairs) else None


def _first_halves(deltas: Sequence[str]) -> list[str] | None:
    """The first half of each delta, where nearly every delta is one text twice."""
    if len(deltas) < 2 * MIN_PAIRS:
        return None
    halves = [_half(delta) for delta in deltas]
    doubled = [half for half in halves if half is not None]
    if len(doubled) <= PAIRED_SHARE * len(deltas) or len(set(doubled)) < MIN_PAIRS:
        return None
    return [half if half is not None else d for half, d in zip(halves, deltas, strict=True)]


def _half(text: str) -> str | None:
    middle = len(text) // 2
    return text[:middle] if len(text) % 2 == 0 and text[:middle] == text[middle:] else None


def _whole_again(deltas: Sequence[str]) -> Joined:
    """The text once, where its last delta or its second half is the whole of it again."""
    text = "".join(deltas)
    if len(deltas) > 2 and len(deltas[-1]) >= MIN_WHOLE_CHARS:
        before = text[: -len(deltas[-1])]
        if before.strip() == deltas[-1].strip():
            return Joined(before, "whole")
    middle = len(deltas) // 2
    echoed = len(deltas) == 1 or deltas[:middle] == deltas[middle:]
    half = _half(text) if echoed else None
    if half is not None and len(text) >= MIN_TEXT_CHARS and not _periodic(half):
        return Joined(half, "text")
    return Joined(text)


def _periodic(text: str) -> bool:
    """Whether the text is itself a shorter text over and over: then it is a loop, no echo."""
    return (text + text).find(text, 1) < len(text)
