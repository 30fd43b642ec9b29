"""Watches the end of a stream for loops while it is still coming."""

from dataclasses import replace

import numpy as np

from .entropy import SURE_RATIO, WINDOW, compression_ratio, low_entropy
from .loops import Loop
from .periodic import SLACK, loop_of, periodic_stretches
from .tokens import Tokens, iterate_tokens

_KEEP = 24_000
_MAX_TOKENS = 4096
_MAX_WORDS = 50_000


class TailWatch:
    """Tells of a loop as soon as the text so far ends in one.

    Every `every` characters the last 4,096 tokens (at most 24,000 characters) are tested for a
    periodic tail of at least `min_tokens` tokens and three copies, and the last 8,000
    characters for low entropy. Each character is read once, a test takes about a millisecond,
    and the memory is that of the tail. One loop is told; `done` says that it was.
    """

    def __init__(self, every: int = 1024, min_tokens: int = 200) -> None:
        """Set how often to test, in characters, and how long a periodic tail must be."""
        if every < 1 or min_tokens < 1:
            raise ValueError("every and min_tokens must be positive")
        self.done = False
        self._every = every
        self._min_tokens = min_tokens
        self._parts: list[str] = []
        self._waiting = 0
        self._tail = ""
        self._length = 0
        self._numbers: dict[str, int] = {}
        self._tokens: list[tuple[int, int, int]] = []
        self._read = 0

    def feed(self, delta: str) -> Loop | None:
        """Take more text; offsets of the loop count from the start of the stream."""
        if self.done:
            return None
        self._parts.append(delta)
        self._waiting += len(delta)
        if self._waiting < self._every:
            return None
        self._length += self._waiting
        self._waiting = 0
        self._tail = "".join([self._tail, *self._parts])[-_KEEP:]
        self._parts.clear()
        self._read_on()
        found = self._periodic() or self._repetitive()
        self.done = found is not None
        return found

    @property
    def _offset(self) -> int:
        return self._length - len(self._tail)

    def _read_on(self) -> None:
        """Number the tokens that are complete, those that the end may still change left out."""
        offset = self._offset
        start = max(self._read, offset)
        last = start
        for word, first, end in iterate_tokens(self._tail, start - offset):
            if end == len(self._tail):
                break
            number = self._numbers.setdefault(word.casefold(), len(self._numbers))
            self._tokens.append((number, first + offset, end + offset))
            last = end + offset
        self._read = last
        kept = [token for token in self._tokens[-_MAX_TOKENS:] if token[1] >= offset]
        self._tokens = kept
        if len(self._numbers) > _MAX_WORDS:
            self._numbers, self._tokens, self._read = {}, [], 0

    def _periodic(self) -> Loop | None:
        if len(self._tokens) < self._min_tokens:
            return None
        ids, starts, ends = np.array(self._tokens, dtype=np.int64).T
        offset = self._offset
        for first, last, period in periodic_stretches(np.ascontiguousarray(ids)):
            if last >= len(ids) - SLACK and last - first >= self._min_tokens:
                tokens = Tokens(ids, starts - offset, ends - offset)
                stretch = (first, last, period)
                return self._moved(loop_of(self._tail, tokens, stretch, recovered=False))
        return None

    def _repetitive(self) -> Loop | None:
        ratio = compression_ratio(self._tail[-WINDOW:])
        if len(self._tail) < WINDOW or ratio is None or ratio >= 2 * SURE_RATIO:
            return None
        found = low_entropy(self._tail)
        if found is None or found.tier != "sure" or found.detail["recovered"]:
            return None
        return self._moved(found)

    def _moved(self, loop: Loop) -> Loop:
        return replace(loop, start=loop.start + self._offset, end=loop.end + self._offset)
