"""Merging the rankings of groups that were judged apart, without importing their scales.

A judge who is asked about one group after the other does not use the same scale each time: raw
totals of different groups cannot be compared. Candidates that stand in every group (anchors) tie
the scales together; without any, each group is standardised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evalstab.statistics.ranks import FloatArray

Rule = Literal["anchor line", "anchor ratio", "anchor shift", "standardised"]

LEAST_SPREAD = 0.2
"""Share of a group's range that its anchors must span to fix the slope of a line."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Merged:
    """All candidates on one scale, that of the first group: higher is better.

    ``rules`` says, group by group, how its scale was found; the first one keeps its own.
    """

    scores: dict[str, float]
    rules: tuple[Rule | None, ...]

    @property
    def groups(self) -> list[list[str]]:
        """Tie groups, best first; scores within rounding of each other are equal."""
        ordered = sorted(self.scores, key=lambda c: -self.scores[c])
        reach = max(map(abs, self.scores.values()), default=0.0) * _ROUNDING
        tied: list[list[str]] = []
        for candidate in ordered:
            if tied and abs(self.scores[tied[-1][0]] - self.scores[candidate]) <= reach:
                tied[-1].append(candidate)
            else:
                tied.append([candidate])
        return tied


def merge_groups(groups: Sequence[Mapping[str, float]], anchors: Sequence[str]) -> Merged:
    """Bring the scores of several groups onto the scale of the first.

    Each group's scale is a straight line through its anchors where these span at least
    ``LEAST_SPREAD`` of the range in both groups and stand in the same order; else one factor (all
    anchor totals above 0) or one shift. A line always rises, so no group is reordered in itself.
    An anchor gets the mean of its scores. Without anchors every group is z-scored.
    Raises ValueError for an anchor that a group lacks, or a candidate in two groups that is none.
    """
    _check(groups, anchors)
    if not anchors:
        return Merged(_standardised(groups), tuple("standardised" for _ in groups))
    first = groups[0]
    collected: dict[str, list[float]] = {candidate: [score] for candidate, score in first.items()}
    rules: list[Rule | None] = [None]
    for group in groups[1:]:
        slope, shift, rule = _line(group, first, anchors)
        rules.append(rule)
        for candidate, score in group.items():
            collected.setdefault(candidate, []).append(shift + slope * score)
    return Merged({c: float(np.mean(scores)) for c, scores in collected.items()}, tuple(rules))


def _check(groups: Sequence[Mapping[str, float]], anchors: Sequence[str]) -> None:
    if not groups or any(not group for group in groups):
        raise ValueError("every group needs at least one candidate")
    for anchor in anchors:
        if any(anchor not in group for group in groups):
            raise ValueError(f"the anchor {anchor} does not stand in every group")
    rest = [c for group in groups for c in group if c not in anchors]
    if len(set(rest)) < len(rest):
        raise ValueError("a candidate that is no anchor stands in two groups")


def _line(
    group: Mapping[str, float], base: Mapping[str, float], anchors: Sequence[str]
) -> tuple[float, float, Rule]:
    """Slope and shift that carry scores of ``group`` onto the scale of ``base``."""
    own = np.array([group[a] for a in anchors], dtype=np.float64)
    aim = np.array([base[a] for a in anchors], dtype=np.float64)
    if _spans(own, group) and _spans(aim, base):
        centred = own - own.mean()
        slope = float(centred @ (aim - aim.mean()) / (centred @ centred))
        if slope > 0:
            return slope, float(aim.mean() - slope * own.mean()), "anchor line"
    if (own > 0).all() and (aim > 0).all():
        return float(aim.mean() / own.mean()), 0.0, "anchor ratio"
    return 1.0, float(aim.mean() - own.mean()), "anchor shift"


def _spans(anchors: FloatArray, group: Mapping[str, float]) -> bool:
    """Whether the anchors lie far enough apart in their group to fix a slope."""
    reach = max(group.values()) - min(group.values())
    return len(anchors) > 1 and reach > 0 and float(np.ptp(anchors)) >= LEAST_SPREAD * reach


def _standardised(groups: Sequence[Mapping[str, float]]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for group in groups:
        values = np.array(list(group.values()), dtype=np.float64)
        spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        for candidate, value in zip(group, values, strict=True):
            scores[candidate] = float((value - values.mean()) / spread) if spread > 0 else 0.0
    return scores
