"""How numbers are written, in one place: significant digits, thousands, units, no false precision.

Every function takes a finite number and returns plain text; what is not known never comes here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

UNKNOWN = "not known"
MINUS = "−"


def count(value: float) -> str:
    """A whole number with thousands: ``10,070``."""
    return _signed(f"{abs(round(value)):,}", value)


def decimal(value: float, places: int = 2) -> str:
    """A number with fixed decimal places, never ``-0.00``: ``0.43``, ``−0.10``."""
    return _signed(f"{abs(value):,.{places}f}", value)


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, written out: ``83.1``, ``2,010``, ``0.350``."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    return _signed(f"{abs(rounded):,.{min(max(0, places), 12)}f}", value)


def plain(value: float) -> str:
    """Up to three significant digits, without trailing zeros: ``0.5``, ``2``, ``0.004``."""
    text = significant(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def points(value: float) -> str:
    """A score as it was awarded: whole where it is whole, else at most two decimal places."""
    text = f"{abs(value):,.2f}".rstrip("0").rstrip(".")
    return _signed(text, value)


def percent(share: float) -> str:
    """A share as a whole percentage; ends that are not exact do not read as 0 % or 100 %."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 < share < 1:
        return "over 99 %"
    return f"{round(share * 100)} %"


def interval(low: float, high: float, places: int = 2) -> str:
    """Both limits: ``0.13 to 0.67``."""
    return f"{decimal(low, places)} to {decimal(high, places)}"


def percent_interval(low: float, high: float) -> str:
    """Both limits of a share: ``48 % to 100 %``."""
    return f"{percent(low)} to {percent(high)}"


def duration(seconds: float) -> str:
    """A time at the grain a person needs: ``4.2 s``, ``48 s``, ``18 min``, ``3 h 20 min``."""
    if seconds < 10:
        return f"{decimal(seconds, 1)} s"
    if seconds < 90:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def tokens(value: float) -> str:
    """A token count with its unit."""
    return f"{count(value)} tokens"


def rate(value: float) -> str:
    """Tokens a second, three significant digits."""
    return f"{significant(value)} tok/s"


def context(value: float) -> str:
    """A size of context for a sentence: ``about 61,000 tokens``, exact below 1,000."""
    if value < 1000:
        return tokens(value)
    grain = 100 if value < 10_000 else 1000
    return f"about {count(round(value / grain) * grain)} tokens"


def short(value: float) -> str:
    """A size of context where room is short: ``62k``, exact below 1,000."""
    return count(value) if value < 1000 else f"{plain(round(value / 1000, 1))}k"


def span(values: Sequence[float]) -> str:
    """Smallest to largest as counts, one number where they are equal: ``6,712 to 12,880``."""
    low, high = count(min(values)), count(max(values))
    return low if low == high else f"{low} to {high}"


def duration_span(values: Sequence[float]) -> str:
    """Shortest to longest time: ``18 min to 38 min``."""
    low, high = duration(min(values)), duration(max(values))
    return low if low == high else f"{low} to {high}"


def times(number: int) -> str:
    """How often, in words as far as they are short: ``once``, ``three times``, ``14 times``."""
    words = ("never", "once", "twice", "three times", "four times", "five times", "six times")
    return words[number] if 0 <= number < len(words) else f"{count(number)} times"


def plural(number: int, one: str, many: str | None = None) -> str:
    """A count with its noun: ``1 trial``, ``5 trials``."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def _signed(text: str, value: float) -> str:
    return MINUS + text if value < 0 and any(c in "123456789" for c in text) else text
