"""Disk: finished records compressed, old ones pruned; scores, reports and baselines stay."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import EvalstabError, FolderError
from evalstab.history.rows import Row, series_below, stamp_of
from evalstab.history.store import open_store
from evalstab.history.tracks import key_of
from evalstab.series.files import disk_error, write_json
from evalstab.series.folder import locked, open_series
from evalstab.series.pruned import PRUNED
from evalstab.settings import read_config
from evalstab.trial.record import COMPRESSED, RECORD_NAME, TrialEnded, read_events

LEFT = "left alone"
WOULD = ("prune", "compress")
"""What a dry run says of a series that would change."""

CHANGED = ("pruned", "compressed", *WOULD)
LEVEL = 9
RAW = ("trials", "hardware.jsonl", "truth.json", "calibration", "exchanges")
"""What is raw in a series folder: everything that scores and reports were made from."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """What shall go: raw records older than so many days, and beyond so many series a track.

    With neither, records are only compressed.
    """

    older_than: float | None = None
    keep: int | None = None
    dry_run: bool = False


def prune(reports: Path, wanted: Pruning) -> Json:
    """Compress finished records and take raw ones away, as asked; returns what was done, in bytes.

    A series that is not finished or is being written to is left alone, as is one that a
    configuration names as a baseline.
    """
    with open_store(reports) as store:
        rows = store.sync()
    doomed = {row.folder for row in _doomed(rows, wanted)} - _named_baselines(reports, rows)
    done: list[Json] = []
    for row in rows:
        root = reports / row.folder
        size = size_of(root)
        action = _treated(root, row, prune=row.folder in doomed, dry_run=wanted.dry_run)
        after = size - _spared(root, action) if action in WOULD else size_of(root)
        done.append({"folder": str(root), "action": action, "bytes": size, "bytes_after": after})
    for root in series_below(reports, scored=False):
        size, action = size_of(root), f"{LEFT}: it was not scored yet"
        done.append({"folder": str(root), "action": action, "bytes": size, "bytes_after": size})
    return {
        "schema_version": 1,
        "dry_run": wanted.dry_run,
        "series": done,
        "bytes": sum(one["bytes"] for one in done),
        "bytes_after": sum(one["bytes_after"] for one in done),
    }


def compress_finished(reports: Path, rows: Sequence[Row], but: Collection[Path]) -> None:
    """Compress the records of all finished series but these."""
    for row in rows:
        if reports / row.folder not in but:
            _treated(reports / row.folder, row, prune=False, dry_run=False)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(_sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if not path.is_symlink() and path.is_file():
                yield path.stat().st_size


def _raw_size(root: Path) -> int:
    paths = [root / name for name in RAW]
    return sum(size_of(p) if p.is_dir() else p.stat().st_size for p in paths if p.exists())


def _doomed(rows: Sequence[Row], wanted: Pruning) -> Iterator[Row]:
    """Rows whose raw records go; with both limits a series must be beyond both.

    Unfinished ones stay, and take no place of those that are kept.
    """
    if wanted.older_than is None and wanted.keep is None:
        return
    seen: dict[object, int] = {}
    for row in sorted(rows, key=lambda row: row.created, reverse=True):
        if not row.complete:
            continue
        place = seen[key_of(row)] = seen.get(key_of(row), 0) + 1
        age = datetime.now(UTC) - datetime.fromisoformat(row.created)
        old = wanted.older_than is None or age.total_seconds() > wanted.older_than * 86400
        beyond = wanted.keep is None or place > wanted.keep
        if old and beyond:
            yield row


def _named_baselines(reports: Path, rows: Sequence[Row]) -> set[str]:
    """Series that the night compares with, or whose ladder it names, by their folders."""
    entries = read_config().nightly.get("series") or []
    named = [e.get("baseline") for e in entries if isinstance(e, dict)]
    places = [Path(p).resolve() for p in named if isinstance(p, str)]
    return {
        row.folder
        for row in rows
        if any((reports / row.folder).resolve().is_relative_to(place) for place in places)
    }


def _treated(root: Path, row: Row, *, prune: bool, dry_run: bool) -> str:
    """What was done with a series, or would be, in words; nothing while another process has it."""
    if (root / PRUNED).exists() and not _raw_size(root):
        return "pruned before"
    if not row.complete:
        return (
            f"{LEFT}: {row.judged} of {row.planned} trials are judged; finish it with evalstab "
            "resume, or remove its folder"
        )
    prune = prune or (root / PRUNED).exists()
    try:
        with locked(root):
            if stamp_of(root) != row.stamp:
                raise FolderError("it changed a moment ago")
            if dry_run:
                return "prune" if prune else "compress" if _ended_records(root) else _still(root)
            return _pruned(root) if prune else _compressed(root)
    except EvalstabError as error:
        return f"{LEFT}: {error}"
    except OSError as error:
        return f"{LEFT}: {disk_error(root, error)}"


def _compressed(root: Path) -> str:
    """Compress the records of ended trials, one whole file after the other."""
    open_series(root)
    records = _ended_records(root)
    for record in records:
        _compress(record)
    return "compressed" if records else _still(root)


def _ended_records(root: Path) -> list[Path]:
    return [r for r in sorted((root / "trials").rglob(RECORD_NAME)) if _ended(r)]


def _still(root: Path) -> str:
    packed = any((root / "trials").rglob(f"{RECORD_NAME}{COMPRESSED}"))
    return "compressed before" if packed else "nothing to compress"


def _spared(root: Path, action: str) -> int:
    """Bytes that a dry run would free: what is raw, or what compression takes off the records."""
    if action == "prune":
        return _raw_size(root)
    plain = (record.read_bytes() for record in _ended_records(root))
    return sum(len(data) - len(_archive(data)) for data in plain)


def _archive(data: bytes) -> bytes:
    import zstandard  # noqa: PLC0415

    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(data)


def _ended(record: Path) -> bool:
    last = None
    try:
        for event in read_events(record):
            last = event
    except FolderError:
        return False
    return isinstance(last, TrialEnded) and last.outcome != "aborted"


def _compress(record: Path) -> None:
    """Write the archive beside the record, read it back, and only then let the record go."""
    import zstandard  # noqa: PLC0415

    data = record.read_bytes()
    target = record.with_name(f"{RECORD_NAME}{COMPRESSED}")
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(_archive(data))
            file.flush()
            os.fsync(file.fileno())
        if zstandard.ZstdDecompressor().decompress(temporary.read_bytes()) != data:
            raise FolderError(f"{record}: its archive does not read back; it was left as it is")
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise disk_error(target, error) from error
    record.unlink()


def _pruned(root: Path) -> str:
    """Take the raw files away; a mark that says so stands there first."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(root / PRUNED, {"schema_version": 1, "at": at, "removed": list(RAW)})
    for name in RAW:
        path = root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return "pruned"
