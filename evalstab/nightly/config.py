"""``[nightly]`` of evalstab.toml, read strictly: unknown keys are refused with the nearest one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from evalstab.errors import ConfigError, UsageError
from evalstab.settings import NO_FILE, ConfigFile, validated
from evalstab.workflow.request import RunRequest, parse_sizes

_DURATION = re.compile(r"^(?:(\d{1,4}(?:\.\d+)?)h)?\s*(?:(\d{1,5})m(?:in)?)?\s*(?:(\d{1,7})s)?$")
_LONGEST = 7 * 24 * 3600


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_Part):
    """One line of ``series``: a task on an endpoint, at contexts, judged by a gate.

    ``baseline`` is a series folder or a frozen copy of scores.
    """

    task: str = Field(min_length=1)
    endpoint: str = Field(min_length=1)
    context: tuple[str, ...] = ()
    repeats: int | None = Field(default=None, ge=1)
    gate: str | None = None
    baseline: str | None = None

    @field_validator("context", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        parts = [value] if isinstance(value, str | int) else value
        return tuple(str(part) for part in parts) if isinstance(parts, list | tuple) else parts

    @property
    def name(self) -> str:
        """The entry in words, as all outputs call it."""
        size = f", {' '.join(self.context)}" if self.context else ""
        return f"{self.task} on {self.endpoint}{size}"

    def request(self, out: Path | None = None) -> RunRequest:
        """What ``evalstab run`` would be asked for."""
        return RunRequest(
            task=self.task,
            endpoint=self.endpoint,
            contexts=parse_sizes(self.context),
            repeats=self.repeats,
            gate=self.gate,
            out=out,
        )


class NightlySettings(_Part):
    """The whole table. ``budget`` is the wall-clock time of a night, such as 6h or 90m.

    ``webhook_env`` names the variable that holds the address notifications go to; ``junit`` and
    ``prometheus`` are files written beside the night's own; ``lock`` a file that other users of the
    rig lock too.
    """

    budget: str = "8h"
    series: tuple[Entry, ...] = ()
    webhook_env: str = "EVALSTAB_WEBHOOK"
    junit: str | None = None
    prometheus: str | None = None
    lock: str | None = None

    @field_validator("budget")
    @classmethod
    def _is_duration(cls, value: str) -> str:
        seconds_of(value)
        return value

    @property
    def seconds(self) -> float:
        """The budget in seconds."""
        return seconds_of(self.budget)


def nightly_settings(config: ConfigFile, where: str) -> NightlySettings:
    """The night that a configuration asks for; ConfigError where it names no series."""
    found = validated(NightlySettings, config.nightly, f"{where}: [nightly]")
    if not found.series and not Path(where).is_file():
        raise ConfigError(NO_FILE)
    if not found.series:
        raise ConfigError(
            f"{where}: [nightly] names no series. Write for example\n"
            '[nightly]\nbudget = "6h"\nseries = [ { task = "eleven-profiles", endpoint = "NAME" } ]'
        )
    for entry in found.series:
        try:
            parse_sizes(entry.context)
        except UsageError as error:
            raise ConfigError(f"{where}: [nightly] {entry.name}: {error}") from error
    names = [entry.name for entry in found.series]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(
            f"{where}: [nightly] names {', '.join(twice)} twice: one of them is right"
        )
    return found


def seconds_of(text: str) -> float:
    """``6h``, ``90m``, ``6h30m``, ``45s`` as seconds; ValueError for anything else."""
    match = _DURATION.match(text.strip())
    if not match or not any(match.groups()):
        raise ValueError(f"{text!r} is no time: write for example 6h, 90m or 6h30m")
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total = hours * 3600 + minutes * 60 + seconds
    if not 0 < total <= _LONGEST:
        raise ValueError(f"{text!r}: between 1 second and 7 days")
    return total
