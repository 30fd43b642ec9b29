"""What somebody asks for with ``evalstab run``, before anything is looked up."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from evalstab.errors import UsageError, nearest
from evalstab.series.ladder import CONTROL

MOST_AT_ONCE = 1_000

_SIZE = re.compile(r"^(\d+(?:\.\d+)?)([kK]?)$")


class SimOpener(Protocol):
    """Starts a simulated endpoint: a context manager that yields its base URL."""

    def __call__(
        self,
        persona: str,
        *,
        seed: int | None,
        truth: Path | None,
        task_truth: Path | None,
    ) -> AbstractContextManager[str]:
        """Open it; ``truth`` is where its truth file goes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One request; ``flags`` are dotted settings, ``task_overrides`` maps task keys such as
    ``task.tools`` to text. ``contexts`` are sizes in tokens, ``levels`` trials at once: more than
    one of either asks for a series each (``several``). ``own_seed`` is that of the tool alone,
    where ``seed``, which a simulated endpoint takes over, is not given. ``agent`` is the command of
    a program that carries the trials out in place of our own loop."""

    task: str
    endpoint: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    task_overrides: Mapping[str, str] = field(default_factory=dict)
    repeats: int | None = None
    contexts: tuple[int, ...] = ()
    levels: tuple[int, ...] = (1,)
    seed: int | None = None
    own_seed: int | None = None
    shuffle: bool = False
    cache: Literal["warm", "cold"] = "warm"
    groups: int = 1
    gate: str | None = None
    early_stop: bool = True
    against: Path | None = None
    agent: str | None = None
    out: Path | None = None

    @property
    def concurrency(self) -> int:
        """Trials at once in one series: the first level."""
        return self.levels[0]

    @property
    def rungs(self) -> tuple[int, ...]:
        """The sizes with a control rung in front, empty without ``contexts``."""
        if not self.contexts or self.contexts[0] <= CONTROL:
            return self.contexts
        return (CONTROL, *self.contexts)

    @property
    def several(self) -> bool:
        """Whether this asks for more than one series: a ladder of sizes, or levels of load."""
        return len(self.rungs) > 1 or len(self.levels) > 1


def rung_name(size: int | None, level: int, *, many: bool, sized: bool) -> str:
    """What the folder of a rung is called, in a ladder of ``many`` levels or ``sized`` contexts."""
    parts = []
    if sized:
        parts.append(
            "natural" if size is None else f"{size / 1000:g}k" if size % 100 == 0 else str(size)
        )
    if many or not sized:
        parts.append(f"c{level}")
    return "-".join(parts)


Announce = Callable[[str], None]
"""Takes one line of prose for people (stderr); never part of the answer."""


def once(announce: Announce) -> Announce:
    """Says each line once: every rung would say the same about the endpoint."""
    said: set[str] = set()

    def say(line: str) -> None:
        if line not in said:
            said.add(line)
            announce(line)

    return say


def parse_size(text: str) -> int:
    """``60k`` → 60,000 tokens; UsageError for anything that is no size."""
    match = _SIZE.match(text.strip())
    if not match:
        raise UsageError(f"--context {text!r} is no size: write for example 60k or 80000")
    size = float(match[1]) * (1000 if match[2] else 1)
    if not 1_000 <= size <= 10_000_000:
        raise UsageError(f"--context {text!r}: from 1k to 10000k tokens can be asked for")
    return int(size)


def parse_sizes(texts: Sequence[str]) -> tuple[int, ...]:
    """``60k,80k`` (or the option several times) as sizes in tokens, ascending, each once."""
    parts = [part for text in texts for part in text.split(",") if part.strip()]
    if texts and not parts:
        raise UsageError("--context: write a size, for example 60k or 16k,60k,100k")
    return tuple(sorted({parse_size(part) for part in parts}))


def parse_levels(text: str) -> tuple[int, ...]:
    """``--concurrency``: trials at once, ``1,4,8`` for several levels; each once, ascending."""
    parts = [part.strip() for part in text.split(",")]
    if any(not part.isdecimal() or not 1 <= int(part) <= MOST_AT_ONCE for part in parts):
        raise UsageError(
            f"--concurrency {text!r}: write how many trials run at once, such as 4 or 1,4,8"
        )
    return tuple(sorted({int(part) for part in parts}))


def parse_cache(text: str) -> Literal["warm", "cold"]:
    """``--cache``: UsageError for anything but warm and cold."""
    if text not in ("warm", "cold"):
        raise UsageError(f"--cache {text!r}. {nearest(text, ('warm', 'cold'))}")
    return "cold" if text == "cold" else "warm"


def parse_groups(number: int) -> int:
    """``--groups``: 1 (not split), 2 or 3."""
    if number not in (1, 2, 3):
        raise UsageError(f"--groups {number}: 2 or 3 groups can be asked for")
    return number
