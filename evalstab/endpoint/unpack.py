"""Bodies that a server compressed although it was asked not to: unpacked a bounded piece a time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE = 1 << 20


class Unpacker:
    """Undoes gzip and deflate in pieces of at most 1 MiB; other encodings pass as they are.

    A compressed bomb therefore meets the reader's own bounds before it meets the memory.
    """

    def __init__(self, encoding: str) -> None:
        packed = encoding.strip().lower() in ("gzip", "x-gzip", "deflate")
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The plain bytes in ``data``; data that is no valid stream is passed on as it is."""
        if self._zlib is None:
            yield data
            return
        while data:
            try:
                piece = self._zlib.decompress(data, PIECE)
            except zlib.error:
                self._zlib = None
                yield data
                return
            if piece:
                yield piece
            data = self._zlib.unconsumed_tail
