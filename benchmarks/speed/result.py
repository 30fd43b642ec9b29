"""What a section found: figures, ratios, and goals that are met or not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that shall be at most (or at least) a limit."""

    name: str
    value: float
    limit: float
    least: bool = False

    @property
    def met(self) -> bool:
        """Whether the figure keeps the limit."""
        return bool(self.value >= self.limit if self.least else self.value <= self.limit)

    def terms(self) -> dict[str, Any]:
        """The limit, which way it counts, and whether it is met."""
        return {"limit": self.limit, "least": self.least, "met": self.met}

    def __str__(self) -> str:
        """One line for people."""
        sign = "≥" if self.least else "≤"
        word = "met" if self.met else "NOT MET"
        return f"{self.name}: {self.value:.4g} (goal {sign} {self.limit:g}) {word}"


@dataclass(slots=True)
class Section:
    """The results of one section; ``skipped`` maps what was left out to the reason."""

    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For ``results/``."""
        goals = [
            {
                "name": g.name,
                "value": float(g.value),
                "limit": g.limit,
                "least": g.least,
                "met": g.met,
            }
            for g in self.goals
        ]
        return {"rows": self.rows, "goals": goals, "skipped": self.skipped}


def cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """CPU time of this process for a piece of work: the least of a few calls after a warm-up."""
    work()
    return min(_once(work) for _ in range(repeats))


def cpu_of(work: Callable[[], T]) -> tuple[T, float]:
    """What a piece of work gives, and its CPU time in this process."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def _once(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table; keys of the first row are the heads."""
    if not rows:
        return ""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    lines = [heads, ["---"] * len(heads)]
    lines += [[_cell(row.get(head)) for head in heads] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
