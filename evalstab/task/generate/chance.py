"""Draws that depend on nothing but their key: same key, same draws, on every platform."""

from __future__ import annotations

import random
from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A sequence of draws determined by a key.

    Only ``random()`` of the standard generator is used: its sequence is guaranteed to stay the
    same in all Python versions, that of ``choice`` or ``shuffle`` is not.
    """

    def __init__(self, *key: object) -> None:
        text = "\x1f".join(str(part) for part in key)
        self._random = random.Random(int.from_bytes(sha256(text.encode()).digest(), "big"))

    def unit(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()

    def number(self, low: int, high: int) -> int:
        """A whole number from low to high, both inclusive."""
        return low + int(self.unit() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.unit() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of the items; raises IndexError for none."""
        return items[int(self.unit() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in another order (Fisher-Yates)."""
        mixed = list(items)
        for last in range(len(mixed) - 1, 0, -1):
            other = int(self.unit() * (last + 1))
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed


class Decks:
    """Deals the items of named collections like cards, so that none comes again too soon."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._decks: dict[str, list[object]] = {}

    def deal(self, name: str, items: Sequence[T]) -> T:
        """The next item of a collection; a new shuffle when all were dealt."""
        deck = self._decks.get(name)
        if not deck:
            deck = self._decks[name] = list(self._chance.shuffled(items))
        return deck.pop()  # type: ignore[return-value]
