"""Baselines: frozen copies of the scores of a series, made by an explicit act and never else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError, UsageError
from evalstab.history.rows import JUDGED, variation_of
from evalstab.series.files import write_json
from evalstab.series.folder import SERIES_FILE, open_series
from evalstab.series.ladder import is_ladder, open_ladder

SCORES = "scores.json"
ABOUT = "baseline.json"
LEAST = 3
GOOD = 10
"""Judged trials from which a baseline can tell changes apart with some power."""

_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$")


@dataclass(frozen=True, slots=True)
class Baseline:
    """A frozen copy: where it stands, when it was set, and its scores with work and conditions."""

    path: Path
    set_at: str
    scores: Json

    @property
    def judged(self) -> int:
        """Judged trials."""
        return sum(t.get("outcome") in JUDGED for t in self.scores["trials"])


def freeze(root: Path, reports: Path, name: str | None = None) -> list[Path]:
    """Make a series, or every rung of a ladder, the baseline of this name; returns its folders.

    An older baseline of the same name is replaced. FolderError where too few trials were judged.
    """
    made: list[Path] = []
    if is_ladder(root):
        for rung in open_ladder(root).rungs:
            if (root / rung.name / SERIES_FILE).is_file():
                made += _freeze(root / rung.name, _place(reports, root, name) / rung.name)
        return made
    return _freeze(root, _place(reports, root, name))


def baselines(reports: Path) -> list[Baseline]:
    """All frozen copies below ``reports/baselines``, the newest first; broken ones are left out."""
    return sorted(_read(reports / "baselines"), key=lambda one: one.set_at, reverse=True)


def _read(folder: Path) -> Iterator[Baseline]:
    for place in sorted([*folder.glob(f"*/{ABOUT}"), *folder.glob(f"*/*/{ABOUT}")]):
        try:
            about = msgspec.json.decode(place.read_bytes(), type=dict)
            scores = msgspec.json.decode(place.with_name(SCORES).read_bytes(), type=dict)
            if isinstance(scores["trials"], list) and isinstance(scores["series"], dict):
                yield Baseline(place.parent, str(about.get("set_at")), scores)
        except (OSError, msgspec.MsgspecError, KeyError, RecursionError):
            continue


def _place(reports: Path, root: Path, name: str | None) -> Path:
    wanted = name
    if wanted is None:
        file = open_ladder(root) if is_ladder(root) else open_series(root).file
        task, endpoint = file.task, file.endpoint
        plain = [x if isinstance(x, str) else str(x.get("name")) for x in (task, endpoint)]
        size = "" if is_ladder(root) else f"-{_condition(root)}"
        wanted = re.sub(r"[^A-Za-z0-9._-]", "-", f"{plain[0]}-{plain[1]}{size}")[:120]
    if not _NAME.match(wanted):
        raise UsageError(f"--name {wanted!r}: letters, digits, dots, dashes and underscores")
    return reports / "baselines" / wanted


def _condition(root: Path) -> str:
    """Context, and what was declared to differ: each has a baseline of its own."""
    conditions = open_series(root).file.conditions
    context = (conditions.get("context") or [None])[0]
    at_once = int(conditions.get("concurrency") or 1)
    parts = [f"{context / 1000:g}k" if context else "natural"]
    parts += [f"{at_once} at once"] if at_once != 1 else []
    parts += [varied] if (varied := variation_of(conditions)) else []
    return re.sub(r"[ ,]+", "-", "-".join(parts))


def _freeze(root: Path, target: Path) -> list[Path]:
    folder = open_series(root)
    try:
        scores = msgspec.json.decode((root / SCORES).read_bytes(), type=dict)
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise FolderError(f"{root} has no scores: run `evalstab score {root}`") from error
    judged = sum(t.get("outcome") in JUDGED for t in scores["trials"])
    if judged < LEAST:
        raise FolderError(
            f"{root}: {judged} judged trials are no baseline, {LEAST} are the least: "
            f"evalstab resume {root} --repeats {GOOD}"
        )
    frozen = scores | {"work": folder.file.work, "conditions": folder.file.conditions}
    write_json(target / SCORES, frozen)
    about = {
        "schema_version": 1,
        "set_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "series": folder.file.id,
        "folder": str(root),
        "judged": judged,
    }
    write_json(target / ABOUT, about)
    return [target]
