"""A text as numbered tokens, the common ground of all repetition measures."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt
import regex

_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_WORD = rf"[\p{{L}}\p{{N}}\p{{M}}--{_UNSPACED}]"
_TOKEN = regex.compile(
    rf"(?V1){_UNSPACED}\p{{M}}{{0,8}}|{_WORD}{{1,48}}+(?!{_WORD})|{_WORD}"
    r"|([^\s\p{L}\p{N}\p{M}|=+_*~#-])\1*+"
)

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a text: equal numbers for equal words; offsets are code points.

    A token is a word, a number, a run of one symbol, or one character where there are no word
    spaces: in scripts that have none and in unbroken runs of more than 48 letters. White space
    and the characters that draw rules and tables are no tokens.
    Arrays have shape (n,).
    """

    ids: Ids
    starts: Ids
    ends: Ids
    words: tuple[str, ...]

    def __len__(self) -> int:
        """Number of tokens."""
        return len(self.ids)


def tokenise(text: str, *, fold: bool = True) -> Tokens:
    """Number the tokens of a text; `fold` makes upper and lower case equal."""
    numbers: dict[str, int] = {}
    fresh = count()
    ids: list[int] = []
    places: list[tuple[int, int]] = []
    for word, start, end in iterate_tokens(text):
        key = word.casefold() if fold else word
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = next(fresh)
        ids.append(number)
        places.append((start, end))
    offsets = np.array(places, dtype=np.int64).reshape(-1, 2)
    return Tokens(np.array(ids, dtype=np.int64), offsets[:, 0], offsets[:, 1], tuple(numbers))


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
        total = total * np.uint64(0x100000001B3) + mixed[offset : offset + length]
        total ^= total >> np.uint64(31)
    return total.astype(np.int64)


def seen_before(keys: Ids) -> npt.NDArray[np.bool_]:
    """For each key whether it occurred earlier in the array; shape (n,)."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    earlier: npt.NDArray[np.bool_] = first[inverse] < np.arange(len(keys))
    return earlier
