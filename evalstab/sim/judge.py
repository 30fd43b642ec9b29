"""How a simulated judge comes to its totals, points and order in one trial.

The latent quality of a candidate depends on its id alone, so that shuffling the reading order or
splitting the candidates into groups asks the same judge the same question.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalstab.sim.dice import Dice
from evalstab.sim.persona import Judgement
from evalstab.task.model import Criterion, Truth

_FINE = 60


@dataclass(frozen=True, slots=True)
class Scale:
    """The possible totals: from ``low`` to ``high`` in steps of ``grid``."""

    low: float
    high: float
    grid: float

    def snap(self, value: float) -> float:
        """The nearest possible total."""
        steps = round((min(max(value, self.low), self.high) - self.low) / self.grid)
        return round(self.low + steps * self.grid, 6)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one trial's judge thinks: totals, points per criterion, and the order, best first."""

    totals: dict[str, float]
    points: dict[str, dict[str, float]]
    order: tuple[str, ...]

    @property
    def winner(self) -> str:
        """The first of the order."""
        return self.order[0]

    def place(self, candidate: str) -> int:
        """Place of a candidate, from 1."""
        return self.order.index(candidate) + 1


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be judged: candidates in reading order, the rubric, and truth where known."""

    candidates: tuple[str, ...]
    criteria: tuple[Criterion, ...] = ()
    truth: Truth | None = None

    def scale(self) -> Scale:
        """The scale of totals: the rubric's sums, or 0 to 100 without a rubric."""
        if not self.criteria:
            return Scale(0.0, 100.0, 1.0)
        low, high = sum(c.min for c in self.criteria), sum(c.max for c in self.criteria)
        return Scale(low, high, self._grid(high - low))

    def _grid(self, reach: float) -> float:
        """The coarsest step that fits all bounds and can tell the candidates apart."""
        bounds = [bound for c in self.criteria for bound in (c.min, c.max)]
        for grid in (1.0, 0.5, 0.1, 0.05):
            fits = all(math.isclose(round(b / grid) * grid, b, abs_tol=1e-9) for b in bounds)
            if fits and reach / grid >= max(3 * len(self.candidates), _FINE):
                return grid
        return 0.01


def opinion(how: Judgement, question: Question, key: tuple[object, ...]) -> Opinion:
    """The judge's opinion in the trial that the key stands for."""
    shares = _shares(how, question, key)
    scale = question.scale()
    order = sorted(shares, key=lambda c: -shares[c])
    totals = {c: scale.snap(scale.low + shares[c] * (scale.high - scale.low)) for c in order}
    if how.source != "truth":
        _separate(totals, order, scale)
    return settle(question, totals, order)


def settle(question: Question, totals: Mapping[str, float], order: Sequence[str]) -> Opinion:
    """An opinion with points that add up to the totals."""
    known = question.truth.criteria if question.truth else None
    points: dict[str, dict[str, float]] = {}
    for candidate in order if question.criteria else ():
        given = (known or {}).get(candidate)
        if given and math.isclose(sum(given.values()), totals[candidate]):
            points[candidate] = dict(given)
        else:
            points[candidate] = _distribute(question, totals[candidate], candidate)
    return Opinion(dict(totals), points, tuple(order))


def _shares(how: Judgement, question: Question, key: tuple[object, ...]) -> dict[str, float]:
    """Totals as shares of the scale."""
    best = Dice(*key, "mood").between(*how.top)
    truth = question.truth
    if truth and how.source != "reading-order" and set(question.candidates) <= set(truth.totals):
        scale = question.scale()
        base = {
            c: (truth.totals[c] - scale.low) / (scale.high - scale.low) for c in question.candidates
        }
        if how.source == "truth":
            return base
        # The truth knows how good the best is; the mood of the trial is only more or less of it.
        best = min(max(base.values()) * best / (sum(how.top) / 2), 1.0)
        highest = max(base.values())
        base = {c: share / highest for c, share in base.items()} if highest > 0 else base
    else:
        base = _latent(how, question.candidates)
    first = max(base, key=lambda c: base[c])
    reach = how.noise * (max(base.values()) - min(base.values()))
    noisy = {c: base[c] + Dice(*key, "noise", c).normal(reach) for c in question.candidates}
    if how.source == "reading-order":
        noisy = dict(base)
    elif how.keep_winner:
        noisy[first] = max(noisy[first], max(noisy.values()) + how.lead / 3)
    top = max(noisy.values())
    return {c: best * max(value, 0.02) / top for c, value in noisy.items()}


def _latent(how: Judgement, candidates: Sequence[str]) -> dict[str, float]:
    """Quality relative to the best (1.0), unevenly spaced so that some are close."""
    order = list(candidates)
    if how.source != "reading-order":
        order.sort(key=lambda c: Dice("quality", c).unit())
    gaps = [0.0] + [0.35 + 1.3 * Dice("distance", c).unit() for c in order[1:]]
    reach = sum(gaps) or 1.0
    values: dict[str, float] = {}
    behind = 0.0
    for candidate, gap in zip(order, gaps, strict=True):
        behind += gap
        lead = how.lead if behind else 0.0
        values[candidate] = 1.0 - lead - (how.spread - how.lead) * behind / reach
    return values


def _separate(totals: dict[str, float], order: Sequence[str], scale: Scale) -> None:
    """Move equal totals apart by the smallest step, where the scale has room for it."""
    if (scale.high - scale.low) / scale.grid < len(order):
        return
    for better, worse in itertools.pairwise(order):
        if totals[worse] >= totals[better]:
            totals[worse] = round(totals[better] - scale.grid, 6)
    for worse, better in zip(reversed(order), list(reversed(order))[1:], strict=False):
        totals[worse] = max(totals[worse], scale.low)
        if totals[better] <= totals[worse]:
            totals[better] = round(totals[worse] + scale.grid, 6)


def _distribute(question: Question, total: float, candidate: str) -> dict[str, float]:
    """Points per criterion, inside their ranges, that add up to the total."""
    criteria = question.criteria
    scale = question.scale()
    grid, low, high = scale.grid, scale.low, scale.high
    level = (total - low) / (high - low) if high > low else 0.0
    units: dict[str, int] = {}
    rooms = {c.id: round((c.max - c.min) / grid) for c in criteria}
    for c in criteria:
        bias = Dice("strength", candidate, c.id).between(-0.22, 0.22)
        units[c.id] = min(max(round((level + bias) * rooms[c.id]), 0), rooms[c.id])
    missing = round((total - low) / grid) - sum(units.values())
    turn = Dice("turn", candidate).shuffled([c.id for c in criteria])
    while missing:
        move = 1 if missing > 0 else -1
        open_ids = [i for i in turn if 0 <= units[i] + move <= rooms[i]]
        if not open_ids:
            break
        for i in open_ids[: abs(missing)]:
            units[i] += move
            missing -= move
    return {c.id: round(c.min + units[c.id] * grid, 6) for c in criteria}
