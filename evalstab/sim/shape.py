"""The expected shape of a trial: how many steps of which kind, and how thinking is shared out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalstab.sim.dice import Dice
from evalstab.task.brief_reading import Brief
from evalstab.task.model import Deliverable

SUBMIT = "submit_ranking"
_BATCH, _BATCH_OF_MANY, _MANY = 4, 8, 24
_OTHER_SOURCES = 2
_FIXED = {"open": 90, "start": 40, "close": 60}


def batch(sources: int) -> int:
    """How many files are read in one step."""
    return _BATCH_OF_MANY if sources > _MANY else _BATCH


def next_writes(
    wanted: Mapping[str, Deliverable], waiting: Sequence[str], *, parallel: bool
) -> list[str]:
    """The deliverables that are written in one step: two forms together, all others alone."""
    if not parallel or wanted[waiting[0]].kind != "form":
        return list(waiting[:1])
    return [path for path in waiting if wanted[path].kind == "form"][:2]


@dataclass(frozen=True, slots=True)
class Shape:
    """Numbers of steps in which the model thinks about what it read, and about what it writes."""

    reads: int
    writes: int

    @classmethod
    def of(cls, brief: Brief, tools: set[str], *, parallel: bool) -> Shape:
        """The shape that a brief and its tools let expect."""
        sources = len(brief.candidates) + _OTHER_SOURCES
        reads = -(-sources // (batch(sources) if parallel else 1))
        wanted = {d.path: d for d in brief.deliverables}
        waiting = [p for p, d in wanted.items() if SUBMIT not in tools or d.kind != "ranking"]
        writes = 0
        waiting = waiting[1:] if "write_file" in tools else []
        while waiting:
            done = next_writes(wanted, waiting, parallel=parallel)
            waiting = [path for path in waiting if path not in done]
            writes += 1
        return cls(reads - 1, writes)

    def budget(self, kind: str, tokens: int, dice: Dice) -> int:
        """Tokens of reasoning for a step of this kind out of all that the small steps share."""
        if kind in _FIXED:
            return _FIXED[kind]
        share = (tokens - sum(_FIXED.values())) / max(self.reads + self.writes, 1)
        return max(round(share * dice.between(0.9, 1.1)), 40)
