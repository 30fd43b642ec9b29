"""What a report is made of: plain text, tables and plot data in reading order.

All strings are plain text without any markup, with nothing escaped yet: some of them come from a
model or a server, so every renderer escapes all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["pass", "fail", "undecided", "invalid", "none"]
Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The first thing a reader sees: a word, one sentence, and the few facts behind it."""

    status: Status
    line: str
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of short lines."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """Something to paste into a shell, one command a line."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as the header.

    ``links`` holds the relative address of a series folder for each row, whose report the first
    cell then leads to; empty: no row leads anywhere.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: tuple[Align, ...]
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of what the model wrote: where it stood, and the text, the span between ⟦ and ⟧."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Quotes:
    """Several quotes."""

    items: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Places of one candidate over the trials; None where it was not ranked.

    ``wins`` counts the trials in which it stood first; ``leader`` marks the one to highlight.
    """

    label: str
    places: tuple[float | None, ...]
    wins: int
    leader: bool


@dataclass(frozen=True, slots=True)
class BumpData:
    """Rank trajectories: one x position a trial, place 1 on top; ``more`` have no line."""

    trials: tuple[str, ...]
    lines: tuple[Trajectory, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class StripData:
    """Totals awarded in each trial, one column a trial; an empty column: no totals."""

    trials: tuple[str, ...]
    columns: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """One line over the rungs: points (x, y), and the interval of each where there is one.

    ``quantity`` names the axis that it is drawn on; curves of one quantity share it.
    """

    label: str
    quantity: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float] | None, ...] = ()


@dataclass(frozen=True, slots=True)
class CurveData:
    """Curves over one x axis, one panel a quantity, in reading order; ``control``: its x."""

    x_label: str
    curves: tuple[Curve, ...]
    control: float | None = None


@dataclass(frozen=True, slots=True)
class PairData:
    """Where each candidate stood in two series: its places, one a trial that ranked it."""

    candidates: tuple[str, ...]
    base: tuple[tuple[float, ...], ...]
    new: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot; ``name`` is that of its file without ending, ``alt`` says what it shows."""

    name: str
    title: str
    alt: str
    data: BumpData | StripData | CurveData | PairData


Block = Paragraph | Bullets | Command | Table | Quotes | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it; ``brief`` sections make up the terminal summary."""

    title: str
    blocks: tuple[Block, ...]
    brief: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report. ``notices`` are warnings that belong on the first screen.

    ``headline`` holds the few numbers that it is known by: what each is, and its value.
    """

    title: str
    question: str
    answer: Answer
    notices: tuple[str, ...]
    sections: tuple[Section, ...]
    headline: tuple[tuple[str, str], ...] = ()

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All plots, in reading order."""
        blocks = (block for section in self.sections for block in section.blocks)
        return tuple(block for block in blocks if isinstance(block, Figure))
