"""A quick look that clears most honest texts of repetition, so that the slow look is rare.

The slow look (``evalstab.text.repetition``) reads a text word by word. What it can find leaves
traces in the bytes: a periodic stretch has many equal 24-byte pieces at one distance, a
low-entropy stretch compresses well in every part, a wall of numbers is a run of digits. A text
without any of these traces is not looked at again.
"""

from __future__ import annotations

from functools import lru_cache
from threading import get_ident

import numpy as np
import numpy.typing as npt
import zstandard

SHORT = 400
"""Characters up to which a text is always looked at: it costs nothing."""

_WORD = 8
_PIECE = 3 * _WORD
_LEAST_EQUAL = 12
_PERIOD_SHARE = 1.2
_POSITION_BITS = 24
_LARGEST = 1 << _POSITION_BITS
_BLOCK = 3000
_BLOCK_STEP = 1500
_BLOCK_RATIO = 0.6
_LEVEL = -5
_WALL = 300
_NUMBERS = bytes(48 if chr(code) in "0123456789.,:;/ \t\n-" else 32 for code in range(256))
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)

Bytes = npt.NDArray[np.uint8]


def may_repeat(text: str) -> bool:
    """Whether a text may hold a loop, a low-entropy stretch or output that is no language.

    False is certain but for loops whose copies differ throughout: in white space, in punctuation,
    or in the case of letters beyond ASCII.
    Costs about 3 ms for 100,000 characters.
    """
    if len(text) <= SHORT:
        return True
    data = text.encode("utf-8", "surrogatepass").lower()
    if len(data) >= _LARGEST:
        return True
    return _compresses(data) or _is_periodic(data) or _has_wall(data)


def _compresses(data: bytes) -> bool:
    """Whether some block of the text compresses far better than prose does.

    At this level prose keeps 0.7 to 0.95 of its size, and what the slow look finds at most 0.46.
    """
    if len(data) < _BLOCK:
        return False
    compress = _compressor(get_ident()).compress
    view = memoryview(data)
    for start in (*range(0, len(data) - _BLOCK, _BLOCK_STEP), len(data) - _BLOCK):
        if len(compress(view[start : start + _BLOCK])) < _BLOCK_RATIO * _BLOCK:
            return True
    return False


@lru_cache(maxsize=16)
def _compressor(thread: int) -> zstandard.ZstdCompressor:  # noqa: ARG001
    """The compressor of a thread: making one costs more than a block does, and none is shared."""
    return zstandard.ZstdCompressor(_LEVEL, write_content_size=False)


def _is_periodic(data: bytes) -> bool:
    """Whether enough equal pieces follow each other at one and the same distance."""
    keys = _keys(data)
    keys.sort()
    at = np.flatnonzero((keys[1:] ^ keys[:-1]) < _LARGEST)
    if len(at) < _LEAST_EQUAL:
        return False
    counts = np.bincount((keys[at + 1] - keys[at]).view(np.int64))
    distances = np.flatnonzero(counts >= _LEAST_EQUAL)
    enough = np.maximum(_LEAST_EQUAL, _PERIOD_SHARE * distances - 2 * _PIECE)
    return bool((counts[distances] >= enough).any())


def _keys(data: bytes) -> npt.NDArray[np.uint64]:
    """A hash of each 24-byte piece in the high bits, its place in the low ones."""
    count = len(data) - _PIECE + 1
    words: npt.NDArray[np.uint64] = np.ndarray(
        (len(data) - _WORD + 1,), dtype="<u8", buffer=data, strides=(1,)
    ).copy()
    keys = np.zeros(count, dtype=np.uint64)
    for part, factor in enumerate(_MIX):
        keys += words[part * _WORD :][:count] * np.uint64(factor)
    keys &= np.uint64((1 << 64) - _LARGEST)
    keys |= np.arange(count, dtype=np.uint64)
    return keys


def _has_wall(data: bytes) -> bool:
    """Whether a long run is made of digits and what stands between them.

    Digits of other scripts take several bytes and repeat their first ones: ``_compresses`` sees
    them.
    """
    return b"0" * _WALL in data.translate(_NUMBERS)
