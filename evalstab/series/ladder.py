"""Several series under one parent: a ladder of sizes, or levels of load.

ladder.json            what was asked, the rungs and how far they are, what was expected, the result
calibration/           one trial that showed what the model adds of its own
16k/ 60k/ 60k-c4/ c8/  one series folder a rung
report.md plots/       derived
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.series.files import make_folder, read_json, write_json
from evalstab.series.folder import SERIES_FILE

SCHEMA_VERSION = 1
LADDER_FILE = "ladder.json"
CONTROL = 16_000
"""Size of the control rung where no smaller one is asked for."""

Status = Literal["planned", "done", "stopped"]


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """One series of a ladder; ``context_target`` None is the task's natural size.

    ``control`` marks the one that the others are compared with. ``problem`` says why it stopped.
    """

    name: str
    context_target: int | None
    concurrency: int
    control: bool = False
    status: Status = "planned"
    exit_code: int = 0
    problem: str | None = None


class LadderFile(msgspec.Struct, frozen=True, kw_only=True):
    """``ladder.json``: ``request`` is enough to go on; ``result`` is rebuilt when scoring."""

    schema_version: int = SCHEMA_VERSION
    id: str
    created: str
    task: str
    endpoint: str
    simulated: bool
    repeats: int
    seed: int
    request: Json
    rungs: tuple[Rung, ...] = ()
    expected: Json = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    result: Json | None = None


def is_ladder(root: Path) -> bool:
    """Whether this folder holds a ladder."""
    return (root / LADDER_FILE).is_file()


def require_series(root: Path) -> None:
    """FolderError, naming the rungs, where a single series is asked for and this is a ladder."""
    if is_ladder(root):
        rungs = [root / rung.name for rung in open_ladder(root).rungs]
        there = ", ".join(str(rung) for rung in rungs if (rung / SERIES_FILE).is_file())
        raise FolderError(f"{root} is a ladder: name one of its rungs: {there or 'none has begun'}")


def ladder_above(root: Path) -> LadderFile | None:
    """The ladder that this series folder is a rung of, None where it stands alone."""
    above = root.absolute().parent
    try:
        file = open_ladder(above) if is_ladder(above) else None
    except FolderError:
        return None
    known = file is not None and any(rung.name == root.name for rung in file.rungs)
    return file if known else None


def create_ladder(root: Path, file: LadderFile) -> None:
    """Start a ladder in an empty or not yet existing folder; FolderError where it is taken."""
    if is_ladder(root) or (root / SERIES_FILE).exists():
        raise FolderError(
            f"{root} already holds a series: go on with `evalstab resume {root}`, or choose "
            "another place with --out"
        )
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise FolderError(f"{root} is not empty and holds no series: choose another with --out")
    make_folder(root)
    write_ladder(root, file)


def write_ladder(root: Path, file: LadderFile) -> None:
    """Write ``ladder.json`` whole."""
    write_json(root / LADDER_FILE, file)


def open_ladder(root: Path) -> LadderFile:
    """Read ``ladder.json``; FolderError says what is wrong with it."""
    path = root / LADDER_FILE
    file = read_json(path, LadderFile, "restore it from a copy, or name the folder of a rung")
    if file.schema_version > SCHEMA_VERSION:
        raise FolderError(f"{path} was written by a newer evalstab: upgrade to read it")
    for rung in file.rungs:
        if "/" in rung.name or rung.name.startswith("."):
            raise FolderError(f"{path}: {rung.name!r} is no folder of a rung")
    return file
