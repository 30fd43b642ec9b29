"""Randomness that depends on nothing but its key: same key, same draws, anywhere.

Python's hash seed, the locale, the clock, the order of requests and other draws have no part in
it: every decision of the simulator throws its own dice, named by what it decides.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws determined by a key; one object gives a sequence of draws."""

    def __init__(self, *key: object) -> None:
        text = "\x1f".join(str(part) for part in key)
        digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
        self._random = random.Random(int.from_bytes(digest, "big"))

    def unit(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()

    def between(self, low: float, high: float) -> float:
        """A number in [low, high)."""
        return low + (high - low) * self.unit()

    def below(self, limit: int) -> int:
        """A whole number in [0, limit)."""
        return int(self.unit() * limit)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.unit() < probability

    def normal(self, deviation: float) -> float:
        """A normal draw around 0 (Box-Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.unit()))
        return deviation * radius * math.cos(2.0 * math.pi * self.unit())

    def pick(self, items: Sequence[T]) -> T:
        """One of the items; raises IndexError for none."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in another order (Fisher-Yates)."""
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed


def fingerprint(*key: object, length: int = 24) -> str:
    """Hexadecimal characters that depend on the key only; at most 64."""
    text = "\x1f".join(str(part) for part in key)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
