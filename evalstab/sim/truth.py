"""What really happened in a simulated series, written beside it and never shown to the judge."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.sim.judge import Opinion
from evalstab.sim.turn import Injection

SCHEMA_VERSION = 1


class TruthFile:
    """Latent opinions and injected faults by trial; written whole after each answer.

    An existing file of the same persona and seed is continued. ``path`` may be ``None``: then
    everything is only kept in memory.
    """

    def __init__(self, path: Path | None, head: Json) -> None:
        self._path = path
        self._head = {"schema_version": SCHEMA_VERSION, **head}
        self._trials: dict[tuple[str, int, int], Json] = {}
        self._changed = 0
        self._written = 0
        self._lock = asyncio.Lock()
        if path is not None and path.is_file():
            self._continue(path)

    def _continue(self, path: Path) -> None:
        old = msgspec.json.decode(path.read_bytes())
        if all(old.get(key) == value for key, value in self._head.items()):
            for trial in old["trials"]:
                self._trials[trial["series"], trial["trial"], trial["attempt"]] = trial

    def note(self, key: tuple[str, int, int], step: Json, injections: list[Injection]) -> None:
        """Enter one answer; the same step asked again replaces what stood there."""
        series, number, attempt = key
        trial = self._trials.setdefault(
            key,
            {
                "series": series,
                "trial": number,
                "attempt": attempt,
                "order": None,
                "totals": None,
                "criteria": None,
                "steps": [],
                "injections": [],
            },
        )
        trial["steps"] = [s for s in trial["steps"] if s["step"] != step["step"]] + [step]
        for injection in injections:
            entry = msgspec.to_builtins(injection)
            if entry not in trial["injections"]:
                trial["injections"].append(entry)
        self._changed += 1

    def think(self, key: tuple[str, int, int], opinion: Opinion) -> None:
        """Enter the latent opinion of a trial."""
        trial = self._trials[key]
        trial["order"] = list(opinion.order)
        trial["totals"] = opinion.totals
        trial["criteria"] = opinion.points or None

    async def flush(self) -> None:
        """Bring everything noted so far to the disk; who waits together is served by one write."""
        wanted = self._changed
        async with self._lock:
            if self._path is None or self._written >= wanted:
                return
            state = self._changed
            data = msgspec.json.encode(self.content())
            await asyncio.to_thread(_replace, self._path, data)
            self._written = state

    def content(self) -> dict[str, Any]:
        """The file's content."""
        return {**self._head, "trials": [self._trials[key] for key in sorted(self._trials)]}


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.write_bytes(data)
    os.chmod(draft, 0o600)
    os.replace(draft, path)
