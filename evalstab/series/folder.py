"""A series folder: where everything about N identical trials stands, readable years later.

series.json                     resolved configuration, work, conditions, versions
task/                           a copy of the task, so that scoring needs nothing else
trials/001/events.jsonl         the record of a trial
trials/001/workspace/           the files as the agent left them
trials/003.invalid-1/           an attempt that the rig spoilt; kept, counted, not scored
scores.json report.md plots/    derived
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.series.files import disk_error, make_folder, read_json, sweep, write_json
from evalstab.trial.record import record_in

SCHEMA_VERSION = 1
SERIES_FILE = "series.json"
BEFORE = frozenset({"truth.json", "truth.json.new", "calibration"})
"""What may stand in a folder before its series begins."""

STARTING = ".starting"
"""Stands in a folder that was taken for a series until its series.json is written."""

RESTORE = "restore it from a copy, or start a new series"
"""The mend for a damaged file that nothing can be made from again."""

_TRIAL_NAME = re.compile(r"^(\d{3,6})(?:\.invalid-(\d+))?$")


class SeriesFile(msgspec.Struct, frozen=True, kw_only=True):
    """``series.json``: all that was decided before the first request, or before a resumption.

    ``work`` must be equal for two series to be compared (task digest, prompts, tools, limits, loop
    version); ``conditions`` may differ and are then the question or a warning. ``settings`` are
    the endpoint's resolved settings without secrets; ``gate`` is the policy asked for, or null;
    ``stopped`` says why a series of an agent ended early, null where it did not.
    """

    schema_version: int = SCHEMA_VERSION
    id: str
    created: str
    task: Json
    endpoint: Json
    work: Json
    conditions: Json
    repeats: int
    seed: int
    settings: Json
    gate: Json | None = None
    stopped: str | None = None
    versions: Json = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class TrialFolder:
    """The folder of one attempt at one trial; ``attempt`` counts from 1."""

    index: int
    attempt: int
    path: Path
    spoilt: bool = False

    @property
    def record(self) -> Path:
        """The trial's record, compressed or not."""
        return record_in(self.path)

    @property
    def workspace(self) -> Path:
        """The files as the agent left them."""
        return self.path / "workspace"


@dataclass(frozen=True, slots=True)
class SeriesFolder:
    """An existing series folder."""

    root: Path
    file: SeriesFile

    @property
    def task_folder(self) -> Path:
        """The copy of the task that this series asked."""
        return self.root / "task"

    @property
    def planned(self) -> int:
        """Trials asked for: as many as at the beginning, or more where it was resumed for more."""
        return max([self.file.repeats, *(trial.index for trial in self.trials())])

    def extended(self, repeats: int) -> SeriesFolder:
        """The series with that many trials planned, and series.json says so; never fewer."""
        planned = max(repeats, self.planned)
        if planned == self.file.repeats:
            return self
        file = msgspec.structs.replace(self.file, repeats=planned)
        write_json(self.root / SERIES_FILE, file)
        return SeriesFolder(self.root, file)

    def stopped(self, why: str | None) -> None:
        """Keep in series.json why the series ended early, None where it did not."""
        if why != self.file.stopped:
            write_json(self.root / SERIES_FILE, msgspec.structs.replace(self.file, stopped=why))

    def trial(self, index: int) -> TrialFolder:
        """The folder of a trial's current attempt (existing or not)."""
        attempt = 1 + sum(t.spoilt for t in self.trials() if t.index == index)
        return TrialFolder(index, attempt, self.root / "trials" / f"{index:03d}")

    def trials(self) -> list[TrialFolder]:
        """All attempts with a record, by index, spoilt ones before the current one."""
        found: list[TrialFolder] = []
        current: list[tuple[int, Path]] = []
        spoilt: dict[int, int] = {}
        for path in sorted((self.root / "trials").glob("*")):
            name = _TRIAL_NAME.match(path.name)
            if not name or not record_in(path).is_file():
                continue
            index = int(name[1])
            if name[2]:
                attempt = int(name[2])
                spoilt[index] = max(spoilt.get(index, 0), attempt)
                found.append(TrialFolder(index, attempt, path, spoilt=True))
            else:
                current.append((index, path))
        found += [TrialFolder(index, spoilt.get(index, 0) + 1, path) for index, path in current]
        return sorted(found)

    def set_aside(self, trial: TrialFolder) -> None:
        """Keep a spoilt attempt beside the trial, so that the trial can be repeated."""
        target = trial.path.with_name(f"{trial.index:03d}.invalid-{trial.attempt}")
        try:
            trial.path.rename(target)
        except OSError as error:
            raise disk_error(target, error) from error


def claim(root: Path) -> None:
    """Take a folder for a new series: an empty one, none yet, or one whose start was cut off.

    FolderError where it holds a series or something else.
    """
    if (root / SERIES_FILE).exists():
        raise FolderError(
            f"{root} already holds a series: go on with `evalstab resume {root}`, or choose "
            "another place with --out"
        )
    if root.exists() and not root.is_dir():
        raise FolderError(f"{root} is a file: choose another place with --out")
    begun = (root / STARTING).exists()
    if not begun and root.is_dir() and any(entry.name not in BEFORE for entry in root.iterdir()):
        raise FolderError(f"{root} is not empty and holds no series: choose another with --out")
    make_folder(root)
    try:
        os.close(os.open(root / STARTING, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise disk_error(root, error) from error
    shutil.rmtree(root / "task", ignore_errors=True)


def create_series(root: Path, file: SeriesFile, task_folder: Path) -> SeriesFolder:
    """Start a series in a folder (``claim``); series.json comes last, whole.

    Whatever is killed before that leaves a folder that can be claimed again.
    """
    claim(root)
    try:
        shutil.copytree(task_folder, root / "task", copy_function=_copy, dirs_exist_ok=True)
        for folder, _, _ in os.walk(root / "task"):
            os.chmod(folder, 0o700)
    except OSError as error:
        raise disk_error(root / "task", error) from error
    write_json(root / SERIES_FILE, file)
    (root / STARTING).unlink(missing_ok=True)
    return SeriesFolder(root, file)


def _copy(source: str, target: str) -> None:
    """Copy a file; DiskError at the first that cannot be written, and not after all of them."""
    try:
        shutil.copyfile(source, target)
        os.chmod(target, 0o600)
    except OSError as error:
        raise disk_error(Path(target), error) from error


def open_series(root: Path) -> SeriesFolder:
    """Read an existing series folder; FolderError says what is missing or broken."""
    path = root / SERIES_FILE
    if not path.is_file() and (root / "calibration").is_dir():
        raise FolderError(
            f"{root} holds a calibration only, its series was not begun: give the command that "
            f"began it again, with --out {root}"
        )
    if not path.is_file():
        what = "does not exist" if not root.exists() else f"holds no {SERIES_FILE}"
        raise FolderError(f"{root} {what}: name a series folder, for example reports/<series>")
    file = read_json(path, SeriesFile, RESTORE)
    if file.schema_version > SCHEMA_VERSION:
        raise FolderError(f"{path} was written by a newer evalstab: upgrade to read it")
    return SeriesFolder(root, file)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the series for this process; FolderError where another process writes to it."""
    try:
        handle = os.open(root / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise disk_error(root, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise FolderError(f"{root} is being written by another evalstab: wait for it") from error
    try:
        for folder in (root, root / "plots", *(root / "trials").glob("*")):
            sweep(folder)
        yield
    finally:
        os.close(handle)
