"""What somebody asks for with ``evalstab run``, before anything is looked up."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from evalstab.errors import UsageError

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
    """One request for a series; ``flags`` are dotted settings, ``task_overrides`` maps
    task keys such as ``task.tools`` to text."""

    task: str
    endpoint: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    task_overrides: Mapping[str, str] = field(default_factory=dict)
    repeats: int | None = None
    contexts: tuple[int, ...] = ()
    concurrency: int = 1
    seed: int | None = None
    shuffle: bool = False
    cache: Literal["warm", "cold"] = "warm"
    gate: str | None = None
    early_stop: bool = True
    against: Path | None = None
    out: Path | None = None


Announce = Callable[[str], None]
"""Takes one line of prose for people (stderr); never part of the answer."""


def parse_size(text: str) -> int:
    """``60k`` → 60,000 tokens; UsageError for anything that is no size."""
    match = _SIZE.match(text.strip())
    if not match:
        raise UsageError(f"--context {text!r} is no size: write for example 60k or 80000")
    size = float(match[1]) * (1000 if match[2] else 1)
    if not 1_000 <= size <= 10_000_000:
        raise UsageError(f"--context {text!r}: from 1k to 10000k tokens can be asked for")
    return int(size)


def parse_levels(text: str) -> int:
    """``--concurrency``: how many trials at once; UsageError for anything below one."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise UsageError(f"--concurrency {text!r}: write how many trials run at once, such as 4")
    return int(text)
