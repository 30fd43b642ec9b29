"""Which stretches of a text need a closer look: the pass that all characters go through.

What is left of a text without plain ASCII goes through one character class of `regex`. Where that
finds something, short texts go through it whole and long ones through a table with one entry per
code point, which is made from that same class.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .characters import CONTROL, prefilter
from .expected import Expectation

_LONG = 20_000
_CHUNK = 1 << 16
_PLAIN = bytes(sorted({9, 10, 12, 13, *range(32, 127)}))
_POINTS = 0x110000


def suspects(text: str, expectation: Expectation) -> list[tuple[int, int]]:
    """Start and end of each run of characters that are not plainly allowed, in order."""
    pattern = prefilter(expectation.scripts, expectation.east_asian)
    odd = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    rare = odd.decode("utf-8", "surrogatepass")
    if not rare or not (pattern.search(rare) or CONTROL.search(rare)):
        return []
    if len(text) < _LONG:
        found = [match.span() for match in pattern.finditer(text)]
        return sorted([*found, *(match.span() for match in CONTROL.finditer(text))])
    table = _table(expectation.scripts, expectation.east_asian)
    return [run for start in range(0, len(text), _CHUNK) for run in _runs(text, start, table)]


def _runs(text: str, start: int, table: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    chunk = text[start : start + _CHUNK]
    if chunk.isascii() and not chunk.encode("ascii").translate(None, _PLAIN):
        return
    points = np.frombuffer(chunk.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    places = np.flatnonzero(table[points])
    if not len(places):
        return
    breaks = np.flatnonzero(np.diff(places) > 1)
    firsts = places[np.concatenate(([0], breaks + 1))]
    lasts = places[np.concatenate((breaks, [len(places) - 1]))]
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        yield start + first, start + last + 1


@lru_cache(maxsize=16)
def _table(allowed: frozenset[str], east_asian: bool) -> npt.NDArray[np.bool_]:
    every = "".join(map(chr, range(_POINTS)))
    table = np.zeros(_POINTS, dtype=np.bool_)
    for pattern in (prefilter(allowed, east_asian), CONTROL):
        for match in pattern.finditer(every):
            table[match.start() : match.end()] = True
    return table
