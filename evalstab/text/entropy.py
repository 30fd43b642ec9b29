"""Low-entropy stretches: loops whose copies differ a little, found by compression.

A counter ("step 17 … step 18"), a flip-flop or a near-variant is no periodic text, but it
compresses far better than anything honest. Ratios are compressed to plain UTF-8 bytes, 0 to
about 0.6, low is repetitive.
"""

import zlib
from bisect import bisect_right
from dataclasses import dataclass

import regex

from .loops import Loop
from .spans import Tier

WINDOW = 8000
STEP = 2000
SURE_RATIO = 0.11
SUSPECT_RATIO = 0.13
SHORT_WINDOW = 3000
SHORT_STEP = 1000
SHORT_RATIO = 0.15
_STRUCTURED = 0.22
_REFINE_STEP = 250
_ONSET_WINDOWS = ((1000, 0.28), (SHORT_WINDOW, SHORT_RATIO))
_SAMPLE = 80
_NOISE = regex.compile(r"\s++|[-=_*~#|+.:]{3,}+")
_SYMBOL = regex.compile(r"[^\p{L}\p{N}\p{M}\s]")


@dataclass(frozen=True, slots=True)
class _Plain:
    """A text without layout, in lower case, and the way back to its offsets."""

    text: str
    places: list[int]
    origins: list[int]

    def original(self, position: int) -> int:
        index = bisect_right(self.places, position) - 1
        return self.origins[index] + position - self.places[index]


def low_entropy(text: str) -> Loop | None:
    """The first stretch that compresses as no honest text does, or None.

    Sure: some window of 8,000 characters (layout collapsed, lower case) has a ratio below 0.11.
    Probable: one below 0.13, or one of 3,000 characters below 0.15. Tables and data, where more
    than a fifth of the characters are symbols, are at most probable and only by the long window.
    Texts of fewer than 3,000 characters are never judged. The beginning of a stretch is exact to
    about a thousand characters. Ratios after `docs/measures/language.md`.
    """
    plain = _flatten(text)
    rules: tuple[tuple[Tier, int, int, float], ...] = (
        ("sure", WINDOW, STEP, SURE_RATIO),
        ("probable", WINDOW, STEP, SUSPECT_RATIO),
        ("probable", SHORT_WINDOW, SHORT_STEP, SHORT_RATIO),
    )
    for tier, size, step, limit in rules:
        found = _stretch(plain.text, size, step, limit)
        if found is None:
            continue
        structured = _is_structured(plain.text[found[0] : found[1]])
        if not structured or size == WINDOW:
            return _loop(text, plain, found, "probable" if structured else tier)
    return None


def compression_ratio(text: str) -> float | None:
    """Compressed to plain size of a text in UTF-8; None for an empty one."""
    data = text.encode("utf-8", "surrogatepass")
    return len(zlib.compress(data, 6)) / len(data) if data else None


def _flatten(text: str) -> _Plain:
    parts: list[str] = []
    places, origins = [0], [0]
    length = last = 0
    for match in _NOISE.finditer(text):
        start, end = match.span()
        if end - start == 1:
            continue
        parts += (text[last:start], " ")
        length += start - last + 1
        places.append(length)
        origins.append(end)
        last = end
    parts.append(text[last:])
    joined = "".join(parts)
    lowered = joined.lower()
    return _Plain(lowered if len(lowered) == len(joined) else joined, places, origins)


def _stretch(text: str, size: int, step: int, limit: float) -> tuple[int, int, float] | None:
    """First run of windows below the limit, with the lowest ratio in it."""
    if len(text) < size:
        return None
    starts = [*range(0, len(text) - size, step), len(text) - size]
    first, last, lowest = -1, -1, 1.0
    for start in starts:
        ratio = compression_ratio(text[start : start + size]) or 1.0
        if ratio < limit:
            first = start if first < 0 else first
            last, lowest = start + size, min(lowest, ratio)
        elif first >= 0 and start >= last:
            break
    return None if first < 0 else (_onset(text, first, last), last, lowest)


def _onset(text: str, first: int, last: int) -> int:
    """Where inside the first window the repetition begins, found with ever longer windows."""
    for size, limit in _ONSET_WINDOWS:
        for start in range(first, min(first + WINDOW, last - size), _REFINE_STEP):
            if (compression_ratio(text[start : start + size]) or 1.0) < limit:
                return start
    return first


def _is_structured(piece: str) -> bool:
    return len(_SYMBOL.findall(piece)) > _STRUCTURED * len(piece)


def _loop(text: str, plain: _Plain, found: tuple[int, int, float], tier: Tier) -> Loop:
    first, last, ratio = found
    start = plain.original(first)
    end = min(len(text), plain.original(last - 1) + 1)
    words = len(plain.text[first:last].split())
    return Loop(
        kind="low_entropy",
        start=start,
        end=end,
        period=None,
        copies=None,
        tier=tier,
        detail={
            "tokens": words,
            "ratio": round(ratio, 4),
            "recovered": last < len(plain.text),
            "sample": text[start : start + _SAMPLE].strip(),
        },
    )
