"""A text as numbered tokens, the common ground of all repetition measures.

Deltas of a stream go through a regular expression (microseconds for a few words), whole texts
through tables with one entry per code point, which are made from the same classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
import regex

_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_WORD = rf"[\p{{L}}\p{{N}}\p{{M}}--{_UNSPACED}]"
_LONGEST = 48
_MARKS = 8
_TOKEN = regex.compile(
    rf"(?V1){_UNSPACED}\p{{M}}{{0,{_MARKS}}}|{_WORD}{{1,{_LONGEST}}}+(?!{_WORD})|{_WORD}"
    r"|([^\s\p{L}\p{N}\p{M}|=+_*~#-])\1*+"
)

Ids = npt.NDArray[np.int64]
_Kinds = npt.NDArray[np.uint8]
_Codes = npt.NDArray[np.uint32]

_POINTS = 0x110000
_SYMBOLS, _SPACES, _LETTERS, _LONE, _PART = range(5)
_CLASSES = (
    (r"[\s|=+_*~#-]++", _SPACES),
    (r"[\p{L}\p{N}\p{M}]++", _LETTERS),
    (rf"{_UNSPACED}++", _LONE),
)
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a text: equal numbers for equal words; offsets are code points.

    A token is a word, a number, a run of one symbol, or one character where there are no word
    spaces: in scripts that have none and in unbroken runs of more than 48 letters. White space
    and the characters that draw rules and tables are no tokens. Numbers count from 0 in the order
    of first occurrence; upper and lower case are equal. Arrays have shape (n,).
    """

    ids: Ids
    starts: Ids
    ends: Ids

    def __len__(self) -> int:
        """Number of tokens."""
        return len(self.ids)


def tokenise(text: str) -> Tokens:
    """Number the tokens of a text."""
    keys, starts, ends = _keyed(text)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return Tokens(number[inverse], starts, ends)


def token_keys(text: str) -> Ids:
    """A 64-bit hash of each token, for those who ask only which are equal; shape (n,)."""
    return _keyed(text)[0]


def iterate_tokens(text: str, start: int = 0) -> Iterator[tuple[str, int, int]]:
    """The tokens from an offset on, with their start and end."""
    for match in _TOKEN.finditer(text, start):
        yield match.group(), *match.span()


def gram_hashes(ids: Ids, size: int) -> Ids:
    """A 64-bit hash of each run of `size` tokens; shape (n - size + 1,), empty when shorter."""
    if len(ids) < size:
        return np.empty(0, dtype=np.int64)
    length = len(ids) - size + 1
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    total = np.zeros(length, dtype=np.uint64)
    for offset in range(size):
        total *= np.uint64(0x100000001B3)
        total += mixed[offset : offset + length]
        total ^= total >> np.uint64(31)
    return total.view(np.int64)


def seen_before(keys: Ids) -> npt.NDArray[np.bool_]:
    """For each hash whether it occurred earlier in the array; shape (n,).

    The place of a hash is sorted in its low bits, which is far quicker than sorting indices.
    """
    earlier = np.zeros(len(keys), dtype=np.bool_)
    places = np.uint64((1 << len(keys).bit_length()) - 1)
    packed = (keys.view(np.uint64) & ~places) | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & places).view(np.int64)
    ordered = keys[order]
    earlier[order[1:]] = ordered[1:] == ordered[:-1]
    return earlier


def _keyed(text: str) -> tuple[Ids, Ids, Ids]:
    """Hash, start and end of each token."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    if not len(codes):
        none = np.empty(0, dtype=np.int64)
        return none, none, none
    kinds = _kinds_of(codes)
    starts = _starts_of(codes, kinds)
    keep = kinds[starts] != _SPACES
    ends = np.append(starts[1:], len(codes))[keep]
    starts = starts[keep]
    powers, inverse = _powers(1 << len(codes).bit_length())
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum(np.take(_folded(), codes) * powers[: len(codes)], out=sums[1:])
    keys = (sums[ends] - sums[starts]) * inverse[starts]
    return keys.view(np.int64), starts, ends


def _kinds_of(codes: _Codes) -> _Kinds:
    kinds = np.take(_kinds(), codes)
    if (kinds == _LONE).any():
        _join_marks(kinds, np.flatnonzero(_marks()[codes]).tolist())
    return kinds


def _join_marks(kinds: _Kinds, marks: list[int]) -> None:
    """Marks belong to the lone character before them, up to eight."""
    last, joined = -2, -1
    for place in marks:
        if place - 1 != last:
            joined = 0 if place and kinds[place - 1] == _LONE else -1
        if 0 <= joined < _MARKS:
            kinds[place] = _PART
            joined += 1
        else:
            joined = 0 if kinds[place] == _LONE else -1
        last = place


def _starts_of(codes: _Codes, kinds: _Kinds) -> Ids:
    new = np.empty(len(codes), dtype=np.bool_)
    new[0] = True
    np.not_equal(kinds[1:], kinds[:-1], out=new[1:])
    new[1:] |= (kinds[1:] == _SYMBOLS) & (codes[1:] != codes[:-1])
    new |= kinds == _LONE
    new &= kinds != _PART
    starts = np.flatnonzero(new)
    lengths = np.diff(starts, append=len(codes))
    long = (lengths > _LONGEST) & (kinds[starts] == _LETTERS)
    if not long.any():
        return starts
    for start, length in zip(starts[long], lengths[long], strict=True):
        new[start : start + length - _LONGEST + 1] = True
    return np.flatnonzero(new)


@cache
def _kinds() -> _Kinds:
    """The kind of every code point."""
    kinds = np.full(_POINTS, _SYMBOLS, dtype=np.uint8)
    every = _every_character()
    for pattern, kind in _CLASSES:
        for match in regex.finditer(pattern, every):
            kinds[match.start() : match.end()] = kind
    return kinds


@cache
def _marks() -> npt.NDArray[np.bool_]:
    """Which code points are combining marks."""
    marks = np.zeros(_POINTS, dtype=np.bool_)
    for match in regex.finditer(r"\p{M}++", _every_character()):
        marks[match.start() : match.end()] = True
    return marks


@cache
def _folded() -> npt.NDArray[np.uint64]:
    """A number of every code point, the same for upper and lower case (simple folding)."""
    folded = np.arange(1, _POINTS + 1, dtype=np.uint64)
    for match in regex.finditer(r"\p{Changes_When_Casefolded}", _every_character()):
        low = match.group().casefold()
        if len(low) == 1:
            folded[match.start()] = ord(low) + 1
    return folded


def _every_character() -> str:
    points = np.arange(_POINTS, dtype="<u4")
    return points.tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=4)
def _powers(count: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The powers of an odd number modulo 2^64, and those of its inverse.

    A sum of letters times powers, times the inverse of the power at its beginning, is a polynomial
    hash of a token wherever it stands, and all of them come from one running sum.
    """
    ones = np.full(count, _BASE, dtype=np.uint64), np.full(count, _INVERSE, dtype=np.uint64)
    return np.cumprod(ones[0]) * np.uint64(_INVERSE), np.cumprod(ones[1]) * np.uint64(_BASE)
