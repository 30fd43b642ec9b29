"""Who is how good, and which statements will say so: the truth, before any document is written.

Nothing here depends on the size or the language of the task, so that the same seed asks the same
question at every context.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from evalstab.task.generate.chance import Chance
from evalstab.task.generate.lexicon import Measured, Origin

Role = Literal["counts", "overruled", "aside", "decoy"]
Zone = Literal["early", "late", "any"]


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What makes a task hard.

    ``gaps``: fewest and most points between neighbours; ``ties``: share of neighbours that are
    equal; ``contradicted``: share of criteria about which a document says two things; ``asides``
    and ``decoys``: figures that do not count and impressive irrelevant facts, a candidate;
    ``shuffled_dates``: sections do not stand in the order of their dates.
    """

    gaps: tuple[int, int]
    ties: float
    contradicted: float
    asides: int
    decoys: int
    shuffled_dates: bool


DIFFICULTIES = {
    "easy": Difficulty((4, 8), 0.0, 0.0, 0, 1, shuffled_dates=False),
    "medium": Difficulty((1, 4), 0.12, 0.15, 1, 2, shuffled_dates=False),
    "hard": Difficulty((1, 2), 0.25, 0.4, 3, 3, shuffled_dates=True),
}
_REACH = 0.74
_LOWEST, _HIGHEST = 0.12, 0.92


@dataclass(frozen=True, slots=True)
class Statement:
    """Something a document will say about a candidate.

    ``value`` is a number or the index of a word; ``criterion`` and ``value`` are ``None`` for a
    decoy. ``partner`` numbers the two sides of a contradiction; ``newer`` says which of two of
    the same origin must have the later date.
    """

    role: Role
    origin: Origin
    criterion: str | None = None
    value: float | None = None
    points: int | None = None
    zone: Zone = "any"
    partner: int | None = None
    newer: bool | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A candidate's truth: points by criterion, and the statements of the document."""

    points: dict[str, int]
    statements: tuple[Statement, ...]

    @property
    def total(self) -> int:
        """Sum of the points."""
        return sum(self.points.values())


def standings(
    measured: tuple[Measured, ...], candidates: int, difficulty: Difficulty, chance: Chance
) -> list[Standing]:
    """One standing a candidate, best first; totals follow the difficulty's gaps."""
    return [
        _standing(measured, levels, difficulty, chance, low=place >= candidates / 2)
        for place, levels in enumerate(
            _levels(measured, total, chance)
            for total in _totals(measured, candidates, difficulty, chance)
        )
    ]


def _totals(
    measured: tuple[Measured, ...], candidates: int, difficulty: Difficulty, chance: Chance
) -> list[int]:
    """Wanted totals, best first; the first is never tied."""
    most = sum(m.points[-1] for m in measured)
    gaps = [chance.number(*difficulty.gaps) for _ in range(candidates - 1)]
    while sum(gaps) > _REACH * most:
        gaps[gaps.index(max(gaps))] -= 1
    tied = max(1, round(difficulty.ties * (candidates - 1))) if difficulty.ties else 0
    for place in chance.shuffled(range(1, candidates - 1))[: tied if candidates > 3 else 0]:
        gaps[place] = 0
    lowest = max(round(_LOWEST * most) + sum(gaps), round(0.5 * most))
    total = chance.number(lowest, max(lowest, round(_HIGHEST * most)))
    totals = [total]
    for gap in gaps:
        totals.append(totals[-1] - gap)
    return totals


def _levels(measured: tuple[Measured, ...], total: int, chance: Chance) -> dict[str, int]:
    """Random levels whose points add up to the total."""
    share = total / sum(m.points[-1] for m in measured)
    levels = {m.id: min(5, max(0, round(share * 5) + chance.number(-2, 2))) for m in measured}

    def reached() -> int:
        return sum(m.points[levels[m.id]] for m in measured)

    while (distance := abs(reached() - total)) > 0:
        chosen = chance.pick(measured)
        before = levels[chosen.id]
        levels[chosen.id] = chance.number(0, 5)
        if abs(reached() - total) > distance and not chance.chance(0.02):
            levels[chosen.id] = before
    return levels


def _standing(
    measured: tuple[Measured, ...],
    levels: dict[str, int],
    difficulty: Difficulty,
    chance: Chance,
    *,
    low: bool,
) -> Standing:
    said: list[Statement] = []
    for m in measured:
        if levels[m.id] == 0 and chance.chance(0.5):
            continue
        if chance.chance(difficulty.contradicted):
            said += _contradiction(m, levels[m.id], len(said), chance)
        else:
            said.append(_statement(m, levels[m.id], "counts", chance))
    for m in chance.shuffled(measured)[: difficulty.asides]:
        said.append(_statement(m, chance.number(3, 5), "aside", chance))
    decoys = difficulty.decoys + (2 if low and difficulty.shuffled_dates else 0)
    said += [Statement("decoy", _origin(chance)) for _ in range(decoys)]
    points = {m.id: m.points[levels[m.id]] for m in measured}
    return Standing(points, tuple(chance.shuffled(said)))


def _contradiction(m: Measured, level: int, number: int, chance: Chance) -> list[Statement]:
    """Two statements in far-apart places; the rubric's rules say which counts."""
    others = [n for n in range(6) if n > level or (n < level and chance.chance(0.5))]
    other = chance.pick(others or [level - 1])
    zones: tuple[Zone, Zone] = ("early", "late") if chance.chance(0.5) else ("late", "early")
    true = replace(_statement(m, level, "counts", chance), zone=zones[0], partner=number)
    wrong = replace(_statement(m, other, "overruled", chance), zone=zones[1], partner=number)
    if chance.chance(0.5):
        return [replace(true, newer=True), replace(wrong, origin=true.origin, newer=False)]
    return [replace(true, origin="third"), replace(wrong, origin="own")]


def _statement(m: Measured, level: int, role: Role, chance: Chance) -> Statement:
    value = float(level)
    if m.bands:
        low, high = m.bands[level]
        steps = round((high - low) / m.step)
        value = round(low + m.step * chance.number(0, steps), m.decimals) * m.scale
    return Statement(role, _origin(chance), m.id, value, m.points[level])


def _origin(chance: Chance) -> Origin:
    return "own" if chance.chance(0.5) else "third"
