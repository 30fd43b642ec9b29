"""Characters that a text spells out: JSON escapes and numeric HTML entities."""

from bisect import bisect_left
from itertools import accumulate

import regex

_JSON = regex.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
)
_ENTITY = regex.compile(r"&\#(?:[0-9]{2,7}|[xX][0-9a-fA-F]{2,6});")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": "\f"}


class Decoded:
    """A text with its escapes resolved, and the way back to the original offsets."""

    def __init__(self, text: str, pattern: regex.Pattern[str]) -> None:
        """Resolve every match of `pattern` in `text`."""
        parts: list[str] = []
        grown: list[tuple[int, int]] = []
        last = 0
        for match in pattern.finditer(text):
            char = _resolve(match.group())
            parts += (text[last : match.start()], char)
            last = match.end()
            grown.append((match.start(), match.end() - match.start() - len(char)))
        self.text = "".join([*parts, text[last:]])
        self._shifts = [0, *accumulate(extra for _, extra in grown)]
        self._places = [
            start - shift for (start, _), shift in zip(grown, self._shifts, strict=False)
        ]

    def original(self, position: int) -> int:
        """Offset in the original text of a start or an exclusive end in the decoded one."""
        return position + self._shifts[bisect_left(self._places, position)]


def decode_json(text: str) -> Decoded | None:
    """Resolve the escapes of JSON strings; None when there are none."""
    return Decoded(text, _JSON) if "\\" in text else None


def decode_entities(text: str) -> Decoded | None:
    """Resolve numeric HTML entities; None when there are none."""
    return Decoded(text, _ENTITY) if "&" in text and _ENTITY.search(text) else None


def _resolve(escape: str) -> str:
    if escape[0] == "&":
        body = escape[2:-1]
        point = int(body[1:], 16) if body[0] in "xX" else int(body)
        return chr(point) if 0 < point < 0x110000 else "\ufffd"
    if escape[1] != "u" or len(escape) < 6:
        return _SIMPLE.get(escape[1], escape[1])
    if len(escape) == 12:
        high, low = int(escape[2:6], 16), int(escape[8:12], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return chr(int(escape[2:6], 16))
