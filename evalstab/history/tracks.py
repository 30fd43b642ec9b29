"""Tracks: the same work on the same endpoint at the same context, night after night."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalstab.history.rows import UNKNOWN, Row
from evalstab.history.steps import Step, steps_together


@dataclass(frozen=True, slots=True)
class Followed:
    """A number that is followed: its key, its name for people, and which way is better (+1, -1)."""

    key: str
    name: str
    better: int = 0


FOLLOWED = (
    Followed("tau", "Kendall tau", 1),
    Followed("winner", "winner agreement", 1),
    Followed("scale", "scale (CV)", -1),
    Followed("leaks", "trials with leaks", -1),
    Followed("unfinished", "trials with unfinished calls", -1),
    Followed("reasoning", "reasoning tokens"),
    Followed("decode", "decode tok/s", 1),
)


@dataclass(frozen=True, slots=True, order=True)
class TrackKey:
    """What makes two series nights of one track."""

    task: str
    endpoint: str
    context: int
    concurrency: int
    variation: str
    digest: str

    @property
    def name(self) -> str:
        """The track in words."""
        size = f"{self.context / 1000:g}k" if self.context else "natural size"
        more = [f"{self.concurrency} at once"] if self.concurrency != 1 else []
        more += [self.variation] if self.variation else []
        return ", ".join([f"{self.task} on {self.endpoint}", size, *more])


@dataclass(frozen=True, slots=True)
class Mark:
    """Something about the server changed before the night at this position."""

    at: int
    what: str


@dataclass(frozen=True, slots=True)
class Shift:
    """A step of one number, with what changed at the same moment, if anything is known."""

    number: Followed
    step: Step
    at: int
    marks: tuple[str, ...]

    @property
    def word(self) -> str:
        """better, worse, or moved where no direction is good."""
        if not self.number.better:
            return "moved"
        return (
            "better" if (self.step.after - self.step.before) * self.number.better > 0 else "worse"
        )


@dataclass(frozen=True, slots=True)
class Track:
    """A track: its nights in order of time, marks between them, and steps that were found.

    Positions count nights from 0. Nights in which nothing was judged stand in it and have no
    numbers.
    """

    key: TrackKey
    rows: tuple[Row, ...]
    marks: tuple[Mark, ...]
    shifts: tuple[Shift, ...]


def key_of(row: Row) -> TrackKey:
    """The track that a series belongs to."""
    return TrackKey(
        task=row.task,
        endpoint=row.endpoint,
        context=row.context or 0,
        concurrency=row.concurrency,
        variation=row.variation,
        digest=row.digest,
    )


def tracks_of(rows: Iterable[Row]) -> list[Track]:
    """All tracks; the one with the newest night comes first."""
    grouped: dict[TrackKey, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.created, row.folder)):
        grouped.setdefault(key_of(row), []).append(row)
    made = [_track(key, nights) for key, nights in grouped.items()]
    return sorted(made, key=lambda track: track.rows[-1].created, reverse=True)


def before(rows: Sequence[Row], row: Row) -> Row | None:
    """The night before this one in its track that was judged at all."""
    earlier = [
        other
        for other in rows
        if key_of(other) == key_of(row) and other.created < row.created and other.judged > 1
    ]
    return max(earlier, key=lambda other: other.created, default=None)


def _track(key: TrackKey, rows: list[Row]) -> Track:
    marks = tuple(_marks(rows))
    shifts = sorted(_shifts(rows, marks), key=lambda shift: shift.at)
    return Track(key, tuple(rows), marks, tuple(shifts))


def _marks(rows: Sequence[Row]) -> Iterable[Mark]:
    """What is known to differ from the last night that knew it; unknown is no change."""
    facts = ("launch", "engine", "model", "quant", "hardware")
    last: dict[str, str] = {}
    for at, row in enumerate(rows):
        for fact in facts:
            now = str(getattr(row, fact))
            if now == UNKNOWN:
                continue
            if fact in last and last[fact] != now:
                yield Mark(at, f"{fact}: {last[fact][:60]} → {now[:60]}")
            last[fact] = now


def _shifts(rows: Sequence[Row], marks: Sequence[Mark]) -> Iterable[Shift]:
    """The steps of all numbers, judged together: a number more is no false alarm more."""
    known = [
        [
            (at, float(value))
            for at, row in enumerate(rows)
            if (value := getattr(row, number.key)) is not None
        ]
        for number in FOLLOWED
    ]
    found = steps_together([[value for _, value in one] for one in known])
    for number, nights, steps in zip(FOLLOWED, known, found, strict=True):
        for step in steps:
            at, previous = nights[step.at][0], nights[step.at - 1][0]
            near = tuple(mark.what for mark in marks if previous < mark.at <= at)
            yield Shift(number, step, at, near)
