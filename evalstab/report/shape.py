"""The shape of scores.json, checked once where it is read: what readers go through is there.

A report is made of files that somebody else may have written. Keys that are not known are kept and
do no harm; a known key holds what its readers expect, or the file is refused with its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError

MOST_BYTES = 256 << 20
MOST_TRIALS = 1_000_000
Number = float | None
_Text = str | None
_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_TRIALS)] | None


class _Finding(msgspec.Struct):
    code: _Text = None
    side: _Text = None
    channel: _Text = None
    excerpt: _Text = None
    step: Number = None
    start: Number = None
    end: Number = None
    context_tokens: Number = None


class _Deliverables(msgspec.Struct):
    expected: Number = None
    complete: Number = None
    missing: list[str] | None = None


class _Speed(msgspec.Struct):
    by_context: list[Json] | None = None
    sources: list[Json] | None = None
    cold_first: Json | None = None


class _Trial(msgspec.Struct):
    index: _Count = None
    attempt: _Count = None
    outcome: _Text = None
    reason: _Text = None
    seconds: Number = None
    tokens_source: _Text = None
    ranking: list[list[str]] | None = None
    totals: dict[str, Number] | None = None
    winners: list[str] | None = None
    winner: _Text = None
    deliverables: _Deliverables | None = None
    findings: list[_Finding] | None = None
    finding_counts: dict[str, _Count] | None = None
    speed: _Speed | None = None
    accuracy: Json | None = None


class _Candidate(msgspec.Struct):
    places: list[Number] | None = None


class _Winner(msgspec.Struct):
    counts: dict[str, _Count] | None = None
    sequence: list[Any] | None = None


class _Consensus(msgspec.Struct):
    orders: list[list[str]] | None = None


class _Stability(msgspec.Struct):
    candidates: dict[str, _Candidate] | None = None
    winner: _Winner | None = None
    consensus: _Consensus | None = None
    kendall_tau: Json | None = None
    scale: Json | None = None


class _Series(msgspec.Struct):
    repeats_planned: _Count = None
    repeats_done: _Count = None
    attempts: _Count = None
    invalid: _Count = None
    context_target: Number = None
    attrition: dict[str, _Count] | None = None


class _Verdict(msgspec.Struct):
    rules: list[Json] | None = None
    next: list[str] | None = None
    notes: list[str] | None = None


class _Scores(msgspec.Struct):
    schema_version: int
    series: _Series
    trials: list[_Trial]
    findings: list[_Finding]
    stability: _Stability
    verdict: _Verdict
    speed: _Speed | None = None


class Glance(msgspec.Struct):
    """What a list of series tells of one, read without the rest of the file."""

    class Trial(msgspec.Struct):
        """How one trial ended."""

        index: _Count = None
        outcome: _Text = None

    class Verdict(msgspec.Struct):
        """The gate's answer."""

        status: _Text = None

    class Stability(msgspec.Struct):
        """The two numbers that are listed."""

        class Tau(msgspec.Struct):
            """Mean Kendall tau."""

            mean: Number = None

        class Winner(msgspec.Struct):
            """How many different first places."""

            distinct: Number = None

        kendall_tau: Tau | None = None
        winner: Winner | None = None

    class Series(msgspec.Struct):
        """How many trials were planned."""

        repeats_planned: _Count = None

    series: Series
    trials: list[Trial]
    verdict: Verdict
    stability: Stability


def glance(path: Path) -> Glance:
    """The few values of a scores.json that a list tells; FolderError as of ``read_shaped``."""
    found: Glance = _decoded(_bytes(path), path, Glance)
    return found


def read_shaped(path: Path) -> Json:
    """A scores.json whose known keys hold what readers expect; FolderError says what is wrong."""
    data = _bytes(path)
    _decoded(data, path, _Scores)
    scores: Json = _decoded(data, path, dict)
    return scores


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FolderError(f"{path} cannot be read: it is larger than {MOST_BYTES >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise FolderError(f"{path} cannot be read: {error.strerror}") from error


def _decoded(data: bytes, path: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FolderError(f"{path} cannot be read: {error}") from error
