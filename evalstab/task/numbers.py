"""Numbers as people and models write them in tables, lists and JSON strings."""

from __future__ import annotations

import re

LARGEST = 1e9

_FIGURE = r"[+-]?\d{1,9}(?:[.,]\d{1,6})?"
_UNIT = r"(?:(?:punkte?n?|pkt|points?|pts)\.?)"
_WHOLE = re.compile(
    rf"({_FIGURE})(?:\s*(?:/|von|of|out of|aus)\s*{_FIGURE})?\s*{_UNIT}?", re.IGNORECASE
)
_LEADING = re.compile(rf"\W*?({_FIGURE})(?!\w|\s?%|[.,]\d)")
_WITH_UNIT = re.compile(
    rf"(?<![\w.,])({_FIGURE})(?:\s*(?:/|von|of|out of|aus)\s*{_FIGURE})?\s*{_UNIT}(?!\w)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"[=t#]?\s*(\d{1,4})(?:\.|\)|st|nd|rd|th)?", re.IGNORECASE)
_MEDALS = {"🥇": 1, "🥈": 2, "🥉": 3}
_MARKUP = " \t*_`~()[]=:"


def number_in(value: object) -> float | None:
    """The number that a JSON value or a cell states, ``None`` where it states none.

    Decimal commas are read; ``79/160`` and ``79 points`` are 79.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) <= LARGEST else None
    if not isinstance(value, str) or len(value) > 100:
        return None
    found = _WHOLE.fullmatch(value.strip(_MARKUP))
    return _value(found[1]) if found else None


def place_in(value: object) -> int | None:
    """The place that a value states (1, "1.", "2nd", "=3", a medal), ``None`` if it states none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if 0 <= value <= 9999 and value == int(value) else None
    if not isinstance(value, str) or len(value) > 50:
        return None
    text = value.strip(" \t*_`~")
    if text in _MEDALS:
        return _MEDALS[text]
    found = _PLACE.fullmatch(text.strip("".join(_MEDALS)).strip(" \t*_`~"))
    return int(found[1]) if found else None


def number_after(text: str) -> float | None:
    """The points that follow a name in running text: the first figure, or one with a unit."""
    head = text[:120]
    found = _WITH_UNIT.search(head) or _LEADING.match(head)
    return _value(found[1]) if found else None


def _value(figure: str) -> float:
    return float(figure.replace(",", "."))
