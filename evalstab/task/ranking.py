"""What a ranking says, in whatever form it was written: order, totals, points, and its faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from evalstab.task.aliases import aliases_of
from evalstab.task.model import TaskFile

TOLERANCE = 0.051
"""Totals and sums may differ by a rounding to one decimal."""

_SHOWN = 20


class Unreadable(Exception):
    """A text holds no ranking, or more than one reading of it; the text says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ranking as written; ``rank`` is its position in the text, from 0."""

    label: str
    rank: int
    place: int | None = None
    total: float | None = None
    criteria: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Slip:
    """Points that are wrong in themselves.

    ``sum``: the criteria add up to ``expected``, but ``stated`` stands as the total. ``points`` or
    ``total``: ``stated`` lies outside the range, whose nearer end is ``expected``.
    """

    kind: Literal["sum", "points", "total"]
    candidate: str
    criterion: str | None
    stated: float
    expected: float


@dataclass(frozen=True, slots=True)
class StatedRanking:
    """A ranking as a deliverable states it.

    ``groups`` are tie groups of known candidates, best first. ``basis`` says what gave the order:
    stated places, the order of the lines, or (a mapping of candidates to totals, which has no
    order) the totals, more being better. ``unknown`` are labels that name no candidate,
    ``missing`` candidates that are not named, ``duplicates`` those named again (the first mention
    counts). ``against_totals`` are pairs whose order the totals contradict: the higher placed
    one, or one of a tie, first.
    """

    groups: tuple[tuple[str, ...], ...]
    totals: dict[str, float]
    criteria: dict[str, dict[str, float]]
    basis: Literal["places", "order", "totals"]
    unknown: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    against_totals: tuple[tuple[str, str], ...] = ()
    arithmetic: tuple[Slip, ...] = ()

    @property
    def places(self) -> dict[str, int]:
        """Place of each candidate, from 1; tied candidates share the best place of their group."""
        places, next_place = {}, 1
        for group in self.groups:
            places.update(dict.fromkeys(group, next_place))
            next_place += len(group)
        return places


def assembled(entries: Sequence[Entry], spec: TaskFile, *, ordered: bool = True) -> StatedRanking:
    """The ranking that the entries state; ``ordered`` is false where the text has no order.

    Raises Unreadable where no candidate is named or the order cannot be told.
    """
    aliases = aliases_of(spec.candidates)
    known: dict[str, Entry] = {}
    unknown: list[str] = []
    duplicates: list[str] = []
    for entry in entries:
        candidate = aliases.find(entry.label)
        if candidate is None:
            unknown.append(" ".join(entry.label.split())[:80])
        elif candidate in known:
            duplicates.append(candidate)
        else:
            known[candidate] = entry
    if not known:
        raise Unreadable("it names none of the candidates")
    groups, basis = _ordered(known, ordered)
    totals = {c: e.total for c, e in known.items() if e.total is not None}
    criteria = {c: e.criteria for c, e in known.items() if e.criteria}
    return StatedRanking(
        groups=groups,
        totals=totals,
        criteria=criteria,
        basis=basis,
        unknown=tuple(dict.fromkeys(unknown))[:_SHOWN],
        missing=tuple(c.id for c in spec.candidates if c.id not in known),
        duplicates=tuple(dict.fromkeys(duplicates)),
        against_totals=_against_totals(groups, totals),
        arithmetic=_arithmetic(spec, totals, criteria),
    )


def _ordered(
    known: dict[str, Entry], ordered: bool
) -> tuple[tuple[tuple[str, ...], ...], Literal["places", "order", "totals"]]:
    stated = [entry.place for entry in known.values() if entry.place is not None]
    if len(stated) == len(known):
        return _grouped(known, [float(place) for place in stated]), "places"
    if stated:
        raise Unreadable("some of its entries state a place and others do not")
    totals = [entry.total for entry in known.values() if entry.total is not None]
    if not ordered:
        if len(totals) < len(known):
            raise Unreadable("it states neither places nor a total for every candidate")
        return _grouped(known, [-total for total in totals]), "totals"
    keys: list[float] = []
    before: Entry | None = None
    for entry in known.values():
        tied = before is not None and (
            entry.rank == before.rank or (entry.total is not None and entry.total == before.total)
        )
        keys.append(keys[-1] if tied else len(keys))
        before = entry
    return _grouped(known, keys), "order"


def _grouped(candidates: Iterable[str], keys: Sequence[float]) -> tuple[tuple[str, ...], ...]:
    groups: dict[float, list[str]] = {}
    for candidate, key in zip(candidates, keys, strict=True):
        groups.setdefault(key, []).append(candidate)
    return tuple(tuple(groups[key]) for key in sorted(groups))


def _against_totals(
    groups: Sequence[Sequence[str]], totals: dict[str, float]
) -> tuple[tuple[str, str], ...]:
    pairs = []
    rated = [[c for c in group if c in totals] for group in groups]
    for group in rated:
        if (
            group
            and totals[max(group, key=totals.__getitem__)]
            > totals[min(group, key=totals.__getitem__)]
        ):
            pairs.append((min(group, key=totals.__getitem__), max(group, key=totals.__getitem__)))
    for above, below in pairwise([group for group in rated if group]):
        low = min(above, key=totals.__getitem__)
        high = max(below, key=totals.__getitem__)
        if totals[low] < totals[high]:
            pairs.append((low, high))
    return tuple(pairs)


def _arithmetic(
    spec: TaskFile, totals: dict[str, float], criteria: dict[str, dict[str, float]]
) -> tuple[Slip, ...]:
    slips = []
    rubric = {criterion.id: criterion for criterion in spec.criteria}
    for candidate, points in criteria.items():
        for name, value in points.items():
            low, high = rubric[name].min, rubric[name].max
            if not low <= value <= high:
                slips.append(Slip("points", candidate, name, value, min(max(value, low), high)))
        total = totals.get(candidate)
        added = sum(points.values())
        if total is not None and len(points) == len(rubric) and abs(total - added) > TOLERANCE:
            slips.append(Slip("sum", candidate, None, total, added))
    if spec.total_range is not None:
        low, high = spec.total_range
        for candidate, total in totals.items():
            if not low <= total <= high:
                slips.append(Slip("total", candidate, None, total, min(max(total, low), high)))
    return tuple(slips)
