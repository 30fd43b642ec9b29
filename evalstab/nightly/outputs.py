"""What a night leaves for people and machines: summary, JUnit, Prometheus, one notification."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from evalstab.errors import EvalstabError
from evalstab.history.rows import Row
from evalstab.nightly.config import NightlySettings
from evalstab.nightly.junit import night_junit
from evalstab.nightly.night import FOLDER, Night
from evalstab.nightly.notify import notify
from evalstab.nightly.prometheus import night_metrics
from evalstab.nightly.summary import summary_page
from evalstab.redact import scrub_text
from evalstab.series.files import disk_error, draft_of, write_whole
from evalstab.workflow.request import Announce

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
STEP_LIMIT = 1024 * 1024
READABLE, ENTERED = 0o644, 0o755
"""The collector of Prometheus, and a CI runner, are other users than the one that ran the night."""


def write(
    night: Night,
    settings: NightlySettings,
    rows: Sequence[Row],
    complain: Announce,
    *,
    ended: bool = True,
) -> None:
    """Write all files of a night; a place that cannot be written is said, and ends nothing.

    ``ended`` False, after an interruption, leaves out what speaks of a finished night.
    """
    page = summary_page(night)
    files = {
        "junit.xml": night_junit(night),
        "summary.md": page.encode(),
        "evalstab.prom": night_metrics(night, rows),
    }
    for name, data in files.items():
        for folder in (night.root, FOLDER):
            _try(complain, write_whole, folder / name, data)
    for path, name in ((settings.junit, "junit.xml"), (settings.prometheus, "evalstab.prom")):
        if path:
            _try(complain, _open_file, Path(path), files[name])
    if place := os.environ.get(STEP_SUMMARY):
        _try(complain, _append, Path(place), page)
    if ended:
        try:
            notify(night, os.environ.get(settings.webhook_env), complain)
        except EvalstabError as error:
            complain(f"the state of the night was not kept: {error}")


def _try(complain: Announce, do: Callable[..., None], path: Path, data: bytes | str) -> None:
    try:
        do(path, data)
    except (EvalstabError, OSError) as error:
        complain(f"{path} was not written: {error}")


def _open_file(path: Path, data: bytes) -> None:
    """Replace a file that others read, in one step, in its own folder."""
    temporary = draft_of(path)
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True)
            path.parent.chmod(ENTERED)
        temporary.write_bytes(data)
        temporary.chmod(READABLE)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise disk_error(path, error) from error


def _append(path: Path, page: str) -> None:
    """Append to the step's summary, of which GitHub takes 1 MiB; a longer page is cut."""
    there = path.stat().st_size if path.exists() else 0
    raw = scrub_text(page).encode()
    room = STEP_LIMIT - there - 1
    note = b"\n\n(cut: the step summary holds 1 MiB)\n"
    if len(raw) > room:
        if room < len(note):
            return
        raw = raw[: room - len(note)].decode("utf-8", "ignore").encode() + note
    with path.open("ab") as file:
        file.write(raw)
