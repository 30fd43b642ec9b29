"""One line a series: what its folder says, in the numbers that are followed over time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.errors import EvalstabError
from evalstab.findings import UNFINISHED
from evalstab.gate.keys import find_number
from evalstab.series.folder import SERIES_FILE, SeriesFolder, open_series

SCORES = "scores.json"
UNKNOWN = "unknown"
JUDGED = ("completed", "failed")
DEPTH = 3
"""How deep below the reports folder series are looked for: a ladder's rungs stand one deeper."""

SKIPPED = frozenset({"calibration", "baselines", "nightly", "checks", "history"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A series; what could not be measured is None. Rates are shares of judged trials.

    ``folder`` is relative to the reports folder. ``reasoning`` is the median of reasoning tokens a
    trial, ``decode`` the median decode rate in tokens a second, ``seconds`` the median of a trial.
    """

    id: str
    folder: str
    stamp: str
    created: str
    task: str
    digest: str
    endpoint: str
    model: str
    quant: str
    engine: str
    launch: str
    hardware: str
    context: int | None
    concurrency: int
    variation: str
    simulated: bool
    planned: int
    judged: int
    verdict: str
    gate: str | None
    tau: float | None
    tau_low: float | None
    tau_high: float | None
    winner: float | None
    scale: float | None
    leaks: float | None
    unfinished: float | None
    reasoning: float | None
    decode: float | None
    seconds: float | None

    @property
    def complete(self) -> bool:
        """Whether all planned trials were judged, or the gate had decided before the last."""
        return self.judged >= self.planned or self.verdict in ("pass", "fail")


def series_below(reports: Path, *, scored: bool = True) -> list[Path]:
    """All series below a reports folder, rungs of ladders included, in order of name.

    ``scored`` False are those that have no scores yet.
    """
    found: list[Path] = []
    folders = [(reports, 0)]
    while folders:
        folder, depth = folders.pop()
        if (folder / SERIES_FILE).is_file():
            found += [folder] if (folder / SCORES).is_file() == scored else []
        elif depth < DEPTH and folder.is_dir():
            folders += [
                (entry, depth + 1)
                for entry in folder.iterdir()
                if entry.is_dir() and entry.name not in SKIPPED and not entry.is_symlink()
            ]
    return sorted(found)


def stamp_of(root: Path) -> str:
    """Changes whenever the scores of a series were written again."""
    stat = (root / SCORES).stat()
    return f"{stat.st_mtime_ns}-{stat.st_size}"


def row_of(root: Path, reports: Path) -> Row | None:
    """The line of a series; None where its files cannot be read."""
    try:
        folder = open_series(root)
        scores = msgspec.json.decode((root / SCORES).read_bytes(), type=dict)
        return _row(folder, scores, str(root.relative_to(reports)), stamp_of(root))
    except (
        EvalstabError,
        OSError,
        msgspec.MsgspecError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ):
        return None


def _row(folder: SeriesFolder, scores: Json, place: str, stamp: str) -> Row:
    file = folder.file
    trials = [t for t in scores["trials"] if t["outcome"] in JUDGED]
    conditions = file.conditions
    verdict = scores.get("verdict") or {}
    return Row(
        id=file.id,
        folder=place,
        stamp=stamp,
        created=_created(file.created),
        task=_word(file.task, "name"),
        digest=_word(file.work, "task_digest"),
        endpoint=_word(file.endpoint, "name"),
        model=_word(conditions, "model"),
        quant=_word(conditions, "quant"),
        engine=_word(conditions, "engine"),
        launch=_word(conditions, "launch"),
        hardware=_word(conditions, "hardware"),
        context=_context(conditions),
        concurrency=_whole(conditions.get("concurrency") or 1),
        variation=variation_of(conditions),
        simulated=bool(file.endpoint.get("simulated")),
        planned=_whole(scores["series"].get("repeats_planned") or file.repeats),
        judged=len(trials),
        verdict=_word(verdict, "status", "none"),
        gate=_word(verdict, "gate", "") or None,
        **_numbers(scores, trials),
    )


def _numbers(scores: Json, trials: list[Json]) -> dict[str, Any]:
    seconds = [float(t["seconds"]) for t in trials if t.get("seconds") is not None]
    return {
        "tau": find_number(scores, "stability.kendall_tau.mean"),
        "tau_low": find_number(scores, "stability.kendall_tau.ci_low"),
        "tau_high": find_number(scores, "stability.kendall_tau.ci_high"),
        "winner": find_number(scores, "stability.winner.pair_agreement"),
        "scale": find_number(scores, "stability.scale.cv"),
        "leaks": find_number(scores, "language.leak_rate.value"),
        "unfinished": _share(trials),
        "reasoning": find_number(scores, "reasoning.tokens.p50"),
        "decode": find_number(scores, "speed.decode_tok_s.p50"),
        "seconds": median(seconds) if seconds else None,
    }


def _share(trials: list[Json]) -> float | None:
    """Share of judged trials with a call that never was one."""
    if not trials:
        return None
    hit = [t for t in trials if any(code in UNFINISHED for code in t.get("finding_counts") or ())]
    return len(hit) / len(trials)


def _word(facts: Json, key: str, without: str = UNKNOWN) -> str:
    """A text of a server or a file, as a database can hold it; ``without`` where there is none."""
    value = facts.get(key)
    return value.replace("\0", "\ufffd") if isinstance(value, str) and value else without


def _whole(value: object) -> int:
    """A count; ValueError for what no database column of 64 bits can hold."""
    number = int(str(value))
    if not 0 <= number < 2**63:
        raise ValueError(f"{number} is no count")
    return number


def _context(conditions: Json) -> int | None:
    sizes = conditions.get("context") or [None]
    return _whole(sizes[0]) if isinstance(sizes[0], int) else None


def _created(text: str) -> str:
    """The beginning in UTC, so that it sorts as text; ValueError for what is no time."""
    when = datetime.fromisoformat(text)
    known = when if when.tzinfo else when.replace(tzinfo=UTC)
    return known.astimezone(UTC).isoformat(timespec="seconds")


def variation_of(conditions: Json) -> str:
    """What was declared to differ from the plain task, in words; empty for nothing."""
    parts = []
    if (conditions.get("groups") or 1) != 1:
        parts.append(f"{conditions['groups']} groups")
    if conditions.get("shuffle"):
        parts.append("shuffled")
    if conditions.get("cache") == "cold":
        parts.append("cold cache")
    return ", ".join(parts)
