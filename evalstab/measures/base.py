"""What a measure is: a small value with a name, its facts, and one pure function.

A measure looks at one trial (``TrialView``) or at all trials of a series (``SeriesView``) and
answers with values for ``scores.json`` and with findings. A number that cannot be computed is null
and its neighbour ``<key>_reason`` says why; ``put`` is the one place that writes such pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from evalstab.findings import Finding

if TYPE_CHECKING:
    from evalstab.measures.series_view import SeriesView
    from evalstab.measures.view import TrialView

Direction = Literal["higher is better", "lower is better", "neither"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One number (or list) of ``scores.json``: where it stands and how to read it.

    ``key`` is the dotted path below ``trials[]`` or below the document. ``source`` names where the
    definition comes from; empty: it is this project's own.
    """

    key: str
    meaning: str
    unit: str
    range: str
    direction: Direction = "neither"
    source: str = ""


@dataclass(slots=True)
class Measured:
    """What one measure found: values by key (nested), and findings.

    ``trial_findings`` are those of single trials that only the whole series shows, by index.
    """

    values: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    trial_findings: list[tuple[int, Finding]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TrialMeasure:
    """A measure of one trial. ``codes`` are the finding codes that it can report."""

    name: str
    meaning: str
    facts: tuple[Fact, ...]
    compute: Callable[[TrialView], Measured]
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeriesMeasure:
    """A measure of all trials together. ``codes`` are the finding codes that it can report."""

    name: str
    meaning: str
    facts: tuple[Fact, ...]
    compute: Callable[[SeriesView], Measured]
    codes: tuple[str, ...] = ()


def put(values: dict[str, Any], key: str, value: Any, reason: str) -> None:
    """Set ``key``; a value of None gets ``<key>_reason`` beside it. NaN is a bug."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{key} is {value}: not a number is no value")
    values[key] = value
    if value is None:
        values[f"{key}_reason"] = reason


def put_all(values: dict[str, Any], keys: tuple[str, ...], reason: str) -> None:
    """Set every key to null, all for one reason."""
    for key in keys:
        put(values, key, None, reason)
