"""``night.json``: what a night has to do and how far it is, written before and after each series.

reports/nightly/<stamp>/night.json junit.xml summary.md evalstab.prom   one night
reports/nightly/junit.xml …                                             copies of the latest
reports/nightly/state.json                                              what was last notified of
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from evalstab.chat import Json
from evalstab.errors import EndpointUnusable
from evalstab.nightly.config import Entry, NightlySettings
from evalstab.series.files import disk_error, make_folder, sweep, write_json

SCHEMA_VERSION = 1
NIGHT_FILE = "night.json"
FOLDER = Path("reports") / "nightly"
GO_ON_WITHIN = timedelta(hours=20)
"""A night that did not come to its end is gone on with by whoever starts one within this time."""

Status = Literal["planned", "running", "done", "stopped", "cut", "left_out"]
EXIT_ORDER = (3, 4, 5, 6)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A series of the night: its folder, how it stands, and drift against both of its bases.

    ``tau`` is the mean Kendall tau with its 95 % interval, None where it cannot be computed.
    """

    folder: str
    id: str
    context: int | None
    verdict: str
    reason: str | None
    judged: int
    planned: int
    tau: float | None = None
    tau_low: float | None = None
    tau_high: float | None = None
    drift: dict[str, Json | None]
    reading: str
    provisional: bool = False

    @property
    def partial(self) -> bool:
        """Whether trials are missing and no verdict made them needless."""
        return self.judged < self.planned and self.verdict not in ("pass", "fail")

    @property
    def soft(self) -> bool:
        """Whether the gate passed it provisionally: for few trials."""
        return self.verdict == "pass" and self.provisional

    @property
    def state(self) -> str:
        """The word for people: the verdict, or why there is none."""
        if self.partial:
            return f"{self.judged} of {self.planned} valid, no verdict"
        if self.soft:
            trials = "trial" if self.judged == 1 else "trials"
            return f"pass (provisional, {self.judged} {trials})"
        return "done, no gate asked" if self.verdict == "none" else self.verdict


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the night. ``problem`` says why it stopped, was cut, or was left out."""

    entry: Json
    name: str
    folder: str
    status: Status = "planned"
    exit_code: int = 0
    problem: str | None = None
    expected_seconds: float | None = None
    expected_from: str | None = None
    last_tested: str | None = None
    seconds: float = 0.0
    results: tuple[Result, ...] = ()

    @property
    def settings(self) -> Entry:
        """The entry as it stands in the configuration."""
        return Entry.model_validate(self.entry)

    @property
    def open(self) -> bool:
        """Whether there is still something to do."""
        return self.status in ("planned", "running", "stopped")


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """A night. ``spent`` is the wall-clock time worked on it, in seconds; ``ended`` is when."""

    schema_version: int = SCHEMA_VERSION
    id: str
    started: str
    digest: str
    budget: float
    spent: float = 0.0
    ended: str | None = None
    items: tuple[Item, ...] = ()

    @property
    def root(self) -> Path:
        """The folder of this night."""
        return FOLDER / self.id

    @property
    def exit_code(self) -> int:
        """One code for all: a bad configuration, then the rig, then failed, then undecided."""
        codes = {item.exit_code for item in self.items if item.status != "left_out"}
        if self.items and all(item.status == "left_out" for item in self.items):
            return EndpointUnusable.exit_code
        return next((code for code in EXIT_ORDER if code in codes), 0)

    def write(self) -> None:
        """Write ``night.json`` whole."""
        write_json(self.root / NIGHT_FILE, self)

    def with_item(self, number: int, item: Item) -> Night:
        """The same night with one item replaced."""
        items = (*self.items[:number], item, *self.items[number + 1 :])
        return msgspec.structs.replace(self, items=items)


def digest_of(settings: NightlySettings) -> str:
    """Changes with whatever the night is asked to do."""
    asked = msgspec.json.encode([entry.model_dump(mode="json") for entry in settings.series])
    return hashlib.sha256(asked).hexdigest()[:16]


def new_night(settings: NightlySettings) -> Night:
    """A night that begins now."""
    now = datetime.now(UTC)
    stamp = now.astimezone().strftime("%Y%m%d-%H%M%S")
    number, name = 2, stamp
    while (FOLDER / name).exists():
        name, number = f"{stamp}-{number}", number + 1
    return Night(
        id=name,
        started=now.isoformat(timespec="seconds"),
        digest=digest_of(settings),
        budget=settings.seconds,
    )


def unfinished(settings: NightlySettings) -> Night | None:
    """The latest night, where it asks for the same, is young, and has something left to do."""
    nights = sorted(FOLDER.glob(f"*/{NIGHT_FILE}"), reverse=True)
    night = read_night(nights[0]) if nights else None
    if night is None or night.digest != digest_of(settings) or night.spent >= night.budget:
        return None
    age = datetime.now(UTC) - datetime.fromisoformat(night.started)
    left = any(item.open for item in night.items) or night.ended is None
    return night if left and age < GO_ON_WITHIN else None


def read_night(path: Path) -> Night | None:
    """A night from its file; None where it cannot be read (a new one is begun then)."""
    try:
        night = msgspec.json.decode(path.read_bytes(), type=Night)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
    return night if night.schema_version <= SCHEMA_VERSION else None


@contextmanager
def alone(settings: NightlySettings) -> Iterator[None]:
    """One night at a time: EndpointUnusable, since the rig is taken, where another one runs."""
    make_folder(FOLDER)
    handles: list[int] = []
    try:
        for place in filter(None, (str(FOLDER / ".lock"), settings.lock)):
            try:
                handles.append(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))
            except OSError as error:
                raise disk_error(Path(place), error) from error
            try:
                fcntl.flock(handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise EndpointUnusable(
                    f"another night holds {place}: nothing was started"
                ) from error
        for folder in (FOLDER, *FOLDER.glob("*")):
            sweep(folder)
        yield
    finally:
        for handle in handles:
            os.close(handle)


def folder_for(entry: Entry, taken: set[str]) -> str:
    """A place for a series in reports/, named as ``evalstab run`` names it."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    sizes = "-".join(entry.context) or "natural"
    task = Path(entry.task).name or "task"
    plain = f"{stamp}-{task}-{entry.endpoint}-{sizes}"
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in plain)[:180]
    number, place = 2, name
    while place in taken or (Path("reports") / place).exists():
        place, number = f"{name}-{number}", number + 1
    taken.add(place)
    return str(Path("reports") / place)
