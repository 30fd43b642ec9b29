"""Halves of characters: JSON may carry one half of a surrogate pair, which no file or socket takes.

Serves C16. Halves that meet when deltas are joined make a proper character; a half that stays alone
becomes U+FFFD, which scoring reports as broken bytes.
"""

from __future__ import annotations

import json
from typing import Any


def whole_characters(text: str) -> str:
    """The text with halves of characters joined; a half without its other becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_json(value: Any) -> Any:
    """A JSON value in whose texts no half of a character is left; ``None`` if nested too deeply."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return whole_characters(value)
    try:
        plain = json.dumps(value, ensure_ascii=False)
        mended = whole_characters(plain)
        return value if mended is plain else json.loads(mended)
    except (ValueError, RecursionError):
        return None
