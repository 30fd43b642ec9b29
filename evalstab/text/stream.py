"""Watches the end of a stream for loops while it is still coming."""

from dataclasses import replace

import numpy as np

from .entropy import SURE_RATIO, WINDOW, compression_ratio, low_entropy
from .loops import Loop
from .periodic import SLACK, loop_of, periodic_stretches
from .tokens import tokenise

_KEEP = 24_000
_MAX_TOKENS = 4096


class TailWatch:
    """Tells of a loop as soon as the text so far ends in one.

    Every `every` characters the last 4,096 tokens (at most 24,000 characters) are tested for a
    periodic tail of at least `min_tokens` tokens and three copies, and the last 8,000
    characters for low entropy. One test takes a few milliseconds; the memory is that of the
    tail. The same loop is told once; `done` says that one was told.
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

    def feed(self, delta: str) -> Loop | None:
        """Take more text; offsets of the loop count from the start of the stream."""
        self._parts.append(delta)
        self._waiting += len(delta)
        if self.done or self._waiting < self._every:
            return None
        self._length += self._waiting
        self._waiting = 0
        self._tail = "".join([self._tail, *self._parts])[-_KEEP:]
        self._parts.clear()
        return self._test()

    def _test(self) -> Loop | None:
        found = self._periodic() or self._repetitive()
        if found is None:
            return None
        self.done = True
        offset = self._length - len(self._tail)
        return replace(found, start=found.start + offset, end=found.end + offset)

    def _periodic(self) -> Loop | None:
        tokens = tokenise(self._tail)
        skipped = max(0, len(tokens) - _MAX_TOKENS)
        ids = np.ascontiguousarray(tokens.ids[skipped:])
        for first, last, period in periodic_stretches(ids):
            if last >= len(ids) - SLACK and last - first >= self._min_tokens:
                stretch = (first + skipped, last + skipped, period)
                return loop_of(self._tail, tokens, stretch, recovered=False)
        return None

    def _repetitive(self) -> Loop | None:
        ratio = compression_ratio(self._tail[-WINDOW:])
        if len(self._tail) < WINDOW or ratio is None or ratio >= 2 * SURE_RATIO:
            return None
        found = low_entropy(self._tail)
        if found is None or found.tier != "sure" or found.detail["recovered"]:
            return None
        return found
