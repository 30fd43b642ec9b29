"""The order in which the candidates are read, which must say nothing about their rank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from evalstab.task.generate.chance import Chance

_LEAST, _MOST = 0.25, 0.75


def reading_order(candidates: int, chance: Chance) -> list[int]:
    """Ranks (from 0) in reading order: random, but neither the ranking nor its reverse.

    At least a quarter of the pairs stand in their order and at least a quarter in the opposite
    one, so that Kendall's tau between reading order and truth lies within -0.5 to 0.5.
    """
    while True:
        order = chance.shuffled(range(candidates))
        if _LEAST <= upset(order) <= _MOST:
            return order


def unlike_alphabet(names: Sequence[str], ranks: Sequence[int], chance: Chance) -> list[int]:
    """An order of the names in which they follow neither the alphabet nor, so sorted, the ranks.

    Returns positions in ``names``, one for each rank.
    """
    while True:
        order = chance.shuffled(range(len(names)))
        dealt = [names[position] for position in order]
        by_name = [rank for _, rank in sorted(zip(dealt, ranks, strict=True))]
        if dealt not in (sorted(dealt), sorted(dealt, reverse=True)) and (
            _LEAST <= upset(by_name) <= _MOST
        ):
            return order


def upset(order: Sequence[int]) -> float:
    """Share of the pairs of a permutation that stand in descending order, 0 to 1."""
    pairs = list(combinations(order, 2))
    return sum(first > second for first, second in pairs) / len(pairs)
