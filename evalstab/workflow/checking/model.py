"""What a check is asked, and what it answers: rows, each ok, warning, failed or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from evalstab.chat import Json
from evalstab.endpoint.server_facts import ServerFacts

Status = Literal["ok", "warning", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One thing that was looked at. ``advice`` says what to do, where anything is to be done."""

    subject: str
    status: Status
    found: str
    advice: str | None = None

    def as_json(self) -> Json:
        """The row as plain data."""
        return {
            "subject": self.subject,
            "status": self.status,
            "found": self.found,
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """What somebody wants checked: an endpoint, and what is to be asked of it.

    ``contexts`` are the sizes in tokens that trials should reach, ``levels`` trials at once.
    ``model_config`` is a model's config.json, ``on`` the ssh name of the server's machine.
    """

    endpoint: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    task: str | None = None
    contexts: tuple[int, ...] = ()
    levels: tuple[int, ...] = (1,)
    model_config: Path | None = None
    on: str | None = None
    save: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """The answer: rows in the order of looking, the server's facts, and the KV arithmetic."""

    endpoint: str
    base_url: str | None
    model: str
    simulated: bool
    rows: tuple[CheckRow, ...]
    facts: ServerFacts
    kv: Json | None = None
    saved: Path | None = None

    @property
    def status(self) -> Status:
        """The worst row: failed, warning, unknown, ok."""
        order: tuple[Status, ...] = ("failed", "warning", "unknown")
        found = {row.status for row in self.rows}
        return next((status for status in order if status in found), "ok")

    @property
    def exit_code(self) -> int:
        """4 where the model cannot be tested as asked, else 0."""
        return 4 if self.status == "failed" else 0
