"""Declared variations of a task: another reading order, a cold beginning, a part of the candidates.

They change what one trial is asked, are recorded with it, and lie outside the task digest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from evalstab.chat import Json
from evalstab.task.ballast import ballast_language
from evalstab.task.generate.chance import Chance
from evalstab.task.model import Task

COLD_START = re.compile(r"(?:Sitzung|Session) [0-9a-f]{16}\.\n\n")
"""The leading text of a cold trial."""

_TRIES = 200


def shuffled_order(candidates: Sequence[str], seed: int, trial: int) -> tuple[str, ...]:
    """The reading order of a trial: trials 1 and 2, 3 and 4, … share one, other pairs differ.

    Orders come again only where there are fewer of them than pairs.
    """
    pair = (trial - 1) // 2
    possible = math.factorial(min(len(candidates), 12))
    seen: set[tuple[str, ...]] = set()
    order = tuple(candidates)
    for number in range(pair + 1):
        if len(seen) >= possible:
            seen.clear()
        for attempt in range(_TRIES):
            order = tuple(Chance("shuffle", seed, number, attempt).shuffled(candidates))
            if order not in seen:
                break
        seen.add(order)
    return order


def in_order(task: Task, order: Sequence[str]) -> Task:
    """The task with its candidates, and the files about them, in this order."""
    place = {candidate: number for number, candidate in enumerate(order)}
    candidates = tuple(sorted(task.spec.candidates, key=lambda c: place[c.id]))
    about = list(dict.fromkeys(c.file for c in candidates if c.file))
    common = [path for path in task.inputs if path not in about]
    return replace(
        task,
        spec=task.spec.model_copy(update={"candidates": candidates}),
        inputs={path: task.inputs[path] for path in [*common, *about] if path in task.inputs},
    )


def only(task: Task, candidates: Sequence[str]) -> Task:
    """The task about some of its candidates, asking for nothing but their ranking.

    Files about the others are gone; common files stay. The truth is cut to the candidates.
    """
    kept = set(candidates)
    gone = {c.file for c in task.spec.candidates if c.id not in kept}
    gone -= {c.file for c in task.spec.candidates if c.id in kept}
    part = ranking_only(task)
    spec = part.spec.model_copy(
        update={"candidates": tuple(c for c in task.spec.candidates if c.id in kept)}
    )
    inputs = {path: data for path, data in task.inputs.items() if path not in gone}
    return replace(part, spec=spec, inputs=inputs, truth=None)


def ranking_only(task: Task) -> Task:
    """The task as a split one is judged: the ranking is the only deliverable."""
    deliverables = (task.ranking,)
    return replace(task, spec=task.spec.model_copy(update={"deliverables": deliverables}))


def cold_text(language: str, *key: object) -> str:
    """A line that no other conversation begins with, so that no prefix cache knows the prompt."""
    digest = sha256("\x1f".join(map(str, key)).encode()).hexdigest()[:16]
    word = "Sitzung" if ballast_language(language) == "de" else "Session"
    return f"{word} {digest}.\n\n"


def with_cold_start(messages: Sequence[Json], text: str) -> list[Json]:
    """The messages with the text before everything else."""
    first, *rest = messages
    return [{**first, "content": text + str(first["content"])}, *rest]


def with_ballast(messages: Sequence[Json], ballast: Sequence[Json]) -> list[Json]:
    """The messages with earlier turns before the task's own, the last one."""
    *before, last = messages
    return [*before, *ballast, last]
