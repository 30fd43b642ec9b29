"""What each trial of a series asks: the same task, in the variations that were declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.measures.view import MAX_FILE_BYTES
from evalstab.series.converse import Asking
from evalstab.series.files import read_json
from evalstab.series.folder import RESTORE, SeriesFolder, TrialFolder
from evalstab.task.brief import opening_messages
from evalstab.task.grouping import Split, joined_files, split
from evalstab.task.model import ANSWER_FILE, Task
from evalstab.task.variation import (
    cold_text,
    in_order,
    only,
    shuffled_order,
    with_ballast,
    with_cold_start,
)
from evalstab.workflow.prepare import Prepared, fields_for

BALLAST_FILE = "ballast.json"
"""The earlier turns of a session, as they are sent, beside ``series.json``."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Makes the conversations of a trial; the same trial and attempt always get the same bytes."""

    prepared: Prepared
    series: str
    ballast: tuple[Json, ...] = ()

    @property
    def split(self) -> Split | None:
        """How the candidates are split, None where they are not."""
        groups = self.prepared.request.groups
        if groups == 1:
            return None
        return split(self.prepared.task.candidates, groups, self.prepared.seed)

    def ask(self, folder: TrialFolder) -> tuple[Asking, ...]:
        """One conversation, or one for each group."""
        parted = self.split
        groups = parted.groups if parted else (None,)
        return tuple(self._asking(folder, group) for group in groups)

    def merge(self, asked: Sequence[Asking], parts: Sequence[TrialFolder]) -> dict[str, bytes]:
        """The joined ranking of a trial in groups."""
        parted = self.split
        assert parted is not None
        delivered = [
            (one.task, _delivered(part.workspace, one.task))
            for one, part in zip(asked, parts, strict=True)
        ]
        return joined_files(self.prepared.task, delivered, parted.anchors)

    def _asking(self, folder: TrialFolder, group: tuple[str, ...] | None) -> Asking:
        request, task = self.prepared.request, self.prepared.task
        variation: Json = {}
        if request.shuffle:
            order = shuffled_order(task.candidates, self.prepared.seed, folder.index)
            task = in_order(task, order)
            variation["order"] = list(order)
        if group is not None:
            task = only(task, group)
            variation["group"] = list(task.candidates)
        messages = opening_messages(task)
        if self.ballast:
            messages = with_ballast(messages, self.ballast)
            variation["ballast"] = len(self.ballast)
        if request.cache == "cold":
            key = (self.series, folder.index, folder.attempt, group)
            text = cold_text(task.spec.language, *key)
            messages = with_cold_start(messages, text)
            variation["cold"] = text.strip()
        return Asking(
            task=task,
            fields=fields_for(task, self.prepared.settings, folder.index),
            messages=tuple(messages),
            variation=variation,
        )


class _Ballast(msgspec.Struct):
    """What ``ballast.json`` holds."""

    messages: list[Json]


def stored_ballast(folder: SeriesFolder) -> tuple[Json, ...]:
    """The earlier turns that this series sends; empty where there are none."""
    path = folder.root / BALLAST_FILE
    if not path.is_file():
        return ()
    return tuple(read_json(path, _Ballast, RESTORE).messages)


def _delivered(workspace: Path, task: Task) -> dict[str, bytes]:
    name = ANSWER_FILE if task.spec.tools == "none" else task.ranking.path
    path = workspace / name
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return {}
        return {name: path.read_bytes()}
    except OSError:
        return {}
