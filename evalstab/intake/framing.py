"""Where an answer's body ends, and what of the bytes on the wire it is (RFC 9112, 6.3 and 7.1).

The bytes themselves are passed on as they are; this only follows them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

LONGEST_LINE = 16 << 10
_BODILESS = frozenset({204, 304})


class FramingError(Exception):
    """The bytes do not follow the framing that the headers announce."""


class Body:
    """An answer's body: of a known length, in chunks, or up to the end of the connection."""

    def __init__(self, method: bytes, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        named = dict(headers)
        self.ended = False
        self.until_close = False
        self._chunked = b"chunked" in named.get(b"transfer-encoding", b"").lower()
        self._left: float = 0
        self._line = b""
        self._trailing = False
        self._after_chunk = False
        if method == b"HEAD" or status in _BODILESS:
            self._chunked, self.ended = False, True
        elif not self._chunked:
            length = named.get(b"content-length")
            self.until_close = length is None
            self._left = math.inf if length is None else int(length)
            self.ended = self._left == 0

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """The body's bytes in ``data``, and what stands behind its end.

        FramingError where chunks are none.
        """
        if self._chunked:
            return self._chunks(data)
        if len(data) < self._left:
            self._left -= len(data)
            return data, b""
        left, self._left, self.ended = int(self._left), 0, True
        return data[:left], data[left:]

    def _chunks(self, data: bytes) -> tuple[bytes, bytes]:
        pieces: list[bytes] = []
        at, size = 0, len(data)
        while at < size and not self.ended:
            if self._left:
                until = min(size, at + int(self._left))
                pieces.append(data[at:until])
                self._left -= until - at
                self._after_chunk = not self._left
                at = until
                continue
            end = data.find(b"\n", at)
            line = data[at : end + 1] if end >= 0 else data[at:]
            at += len(line)
            if self._line:
                line, self._line = self._line + line, b""
            if end >= 0:
                self._take(line)
            elif len(line) > LONGEST_LINE:
                raise FramingError("a line between chunks has no end")
            else:
                self._line = line
        return b"".join(pieces), data[at:]

    def _take(self, line: bytes) -> None:
        """A whole line between two chunks: the end of one, the size of one, or a trailer."""
        if self._trailing:
            self.ended = line in (b"\r\n", b"\n")
            return
        if self._after_chunk:
            self._after_chunk = False
            if line not in (b"\r\n", b"\n"):
                raise FramingError("a chunk is longer than its size")
            return
        digits = line.partition(b";")[0].strip()
        if not 0 < len(digits) <= 16 or not digits.isalnum():
            raise FramingError("a chunk has no size")
        try:
            self._left = int(digits, 16)
        except ValueError as error:
            raise FramingError("a chunk's size is no number") from error
        self._trailing = not self._left
