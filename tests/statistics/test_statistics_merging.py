"""Merging groups: the scale of a group must not decide who stands before whom."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.statistics.kendall import tau_b
from evalstab.statistics.merging import Merged, merge_groups
from evalstab.statistics.ranks import places_from_rankings

CANDIDATES = [f"c{number:02d}" for number in range(12)]
TRUE = {candidate: 100.0 - 7 * number for number, candidate in enumerate(CANDIDATES)}


def _tau(groups: list[list[str]]) -> float:
    value = tau_b(places_from_rankings([[[c] for c in CANDIDATES], groups], CANDIDATES)).value
    assert value is not None
    return value


def _split(anchors: list[str], parts: int) -> list[list[str]]:
    rest = [c for c in CANDIDATES if c not in anchors]
    return [anchors + rest[part::parts] for part in range(parts)]


def _raw(groups: list[dict[str, float]]) -> list[list[str]]:
    """What putting the totals of all groups side by side would say; anchors by their mean."""
    found: dict[str, list[float]] = {}
    for candidate, score in itertools.chain.from_iterable(g.items() for g in groups):
        found.setdefault(candidate, []).append(score)
    mean = {c: sum(scores) / len(scores) for c, scores in found.items()}
    return [[c] for c in sorted(mean, key=lambda c: -mean[c])]


def test_perfectly_ordered_groups_with_drifting_scale() -> None:
    raw, merged = [], []
    for draw in range(200):
        rng = random.Random(draw)
        anchors = rng.sample(CANDIDATES, 3)
        groups = []
        for number, part in enumerate(_split(anchors, 3)):
            factor = 1.0 if number == 0 else rng.choice([0.45, 0.5, 2.0, 2.2])
            groups.append({c: factor * TRUE[c] for c in part})
        raw.append(_tau(_raw(groups)))
        merged.append(_tau(merge_groups(groups, anchors).groups))
    assert min(merged) == 1.0
    assert sum(raw) / len(raw) == pytest.approx(0.5, abs=0.15)


@given(
    st.lists(st.tuples(st.floats(0.3, 3), st.floats(-40, 40)), min_size=1, max_size=2),
    st.integers(0, 1000),
)
def test_any_rising_line_is_undone_where_anchors_lie_apart(
    drift: list[tuple[float, float]], seed: int
) -> None:
    anchors = [CANDIDATES[0], random.Random(seed).choice(CANDIDATES[6:])]
    parts = _split(anchors, len(drift) + 1)
    lines = [(1.0, 0.0), *drift]
    groups = [
        {c: shift + slope * TRUE[c] for c in part}
        for part, (slope, shift) in zip(parts, lines, strict=True)
    ]
    merged = merge_groups(groups, anchors)
    assert _tau(merged.groups) == 1.0
    assert merged.scores == pytest.approx(TRUE)


@given(st.lists(st.floats(1, 100), min_size=8, max_size=8), st.floats(1, 100))
def test_no_group_is_reordered_in_itself(scores: list[float], anchor: float) -> None:
    first = dict(zip("abcd", scores[:4], strict=True)) | {"x": anchor, "y": scores[0]}
    second = dict(zip("efgh", scores[4:], strict=True)) | {"x": scores[5], "y": anchor}
    merged = merge_groups([first, second], ["x", "y"]).scores
    for one, other in itertools.combinations("efgh", 2):
        if second[one] > second[other]:
            assert merged[one] >= merged[other]


def test_one_anchor_gives_one_factor_and_close_ones_too() -> None:
    first, second = {"a": 90.0, "b": 60.0}, {"a": 45.0, "c": 40.0}
    merged = merge_groups([first, second], ["a"])
    assert merged.rules == (None, "anchor ratio")
    assert merged.scores == pytest.approx({"a": 90, "b": 60, "c": 80})
    close = merge_groups([first | {"d": 89.0}, second | {"d": 45.5}], ["a", "d"])
    assert close.rules == (None, "anchor ratio")


def test_totals_below_zero_are_shifted() -> None:
    merged = merge_groups([{"a": 0.0, "b": -5.0}, {"a": 10.0, "c": 7.0}], ["a"])
    assert merged.rules == (None, "anchor shift")
    assert merged.scores == pytest.approx({"a": 0, "b": -5, "c": -3})


def test_without_anchors_groups_are_standardised() -> None:
    merged = merge_groups([{"a": 3.0, "b": 1.0}, {"c": 300.0, "d": 100.0}], [])
    assert merged.groups == [["a", "c"], ["b", "d"]]
    assert merged.rules == ("standardised", "standardised")
    assert merge_groups([{"a": 3.0}, {"b": 9.0}], []).scores == {"a": 0.0, "b": 0.0}


def test_ties_are_groups() -> None:
    assert Merged({"a": 1.0, "b": 0.1 + 0.2, "c": 0.3}, ()).groups == [["a"], ["b", "c"]]


@pytest.mark.parametrize(
    ("groups", "anchors", "words"),
    [
        ([{"a": 1.0}, {"b": 1.0}], ["a"], "does not stand"),
        ([{"a": 1.0}, {"a": 1.0}], [], "two groups"),
        ([{"a": 1.0}, {}], [], "at least one"),
    ],
)
def test_what_cannot_be_merged(
    groups: list[dict[str, float]], anchors: list[str], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        merge_groups(groups, anchors)
