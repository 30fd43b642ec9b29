"""The simulator's tokenizer: one simple, lossless rule, about four characters a token.

Used for usage, for ``/tokenize``, for limits and for pacing, so that all of them agree.
"""

from __future__ import annotations

import re
from functools import lru_cache
from zlib import crc32

_PIECE = re.compile(r"\s?[^\W\d_]{1,5}|\s?\d{1,3}|\s+|[^\w\s]{1,2}|_")
_VOCABULARY = 150_000


def pieces(text: str) -> list[str]:
    """The tokens of a text; joined they give the text again."""
    return _PIECE.findall(text)


@lru_cache(maxsize=4096)
def count(text: str) -> int:
    """Number of tokens of a text (cached: a conversation's old messages are counted once)."""
    return sum(1 for _ in _PIECE.finditer(text))


def token_id(piece: str) -> int:
    """A stable number for a piece, as ``/tokenize`` states it; distinct pieces may share one."""
    return crc32(piece.encode("utf-8", "surrogatepass")) % _VOCABULARY
