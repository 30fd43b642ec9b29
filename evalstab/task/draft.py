"""``task.toml`` as far as it can be understood, so that all mistakes are found at once."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from evalstab.errors import nearest
from evalstab.task.folder import TaskFolder
from evalstab.task.model import Candidate, Criterion, Deliverable, TaskFile
from evalstab.task.words import mistakes_of

SETTABLE = {
    "task.tools": ("tools",),
    "task.offer": ("offer",),
    "task.language": ("language",),
    "task.allow_scripts": ("allow_scripts",),
    "task.limits.max_steps": ("limits", "max_steps"),
    "task.limits.max_seconds": ("limits", "max_seconds"),
    "task.limits.max_tokens": ("limits", "max_tokens"),
}
_LISTS = frozenset({"task.offer", "task.allow_scripts"})
Part = TypeVar("Part", bound=BaseModel)


@dataclass(slots=True)
class Draft:
    """The parts of a task that are valid by themselves, lists by their position from 0.

    ``spec`` is the whole, ``None`` where some part is not valid.
    """

    spec: TaskFile | None
    raw: dict[str, Any]
    candidates: dict[int, Candidate] = field(default_factory=dict)
    criteria: dict[int, Criterion] = field(default_factory=dict)
    deliverables: dict[int, Deliverable] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """Where a top-level value was written: in task.toml, or on the command line."""
        given = self.overrides.get(f"task.{key}")
        if given is None:
            return "task.toml"
        return f"--language {given}" if key == "language" else f"--set task.{key}={given}"

    def broken(self, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Tables of a list that are not valid as a whole, as they stand in task.toml."""
        listed = self.raw.get(key)
        for index, entry in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(entry, dict) and index not in getattr(self, key):
                yield index, entry

    def value(self, key: str) -> Any:
        """The valid value of a simple top-level key or its default, ``None`` where invalid."""
        if self.spec is not None:
            return getattr(self.spec, key)
        about = TaskFile.model_fields[key]
        if key not in self.raw:
            return None if about.is_required() else about.get_default()
        try:
            return TypeAdapter(about.rebuild_annotation()).validate_python(self.raw[key])
        except ValidationError:
            return None


def read_draft(folder: TaskFolder, overrides: Mapping[str, str]) -> Draft | None:
    """Read ``task.toml``; mistakes go to the folder, ``None`` where it is no TOML at all."""
    path = folder.root / "task.toml"
    text = None
    if not path.exists():
        mend = "Write one, or make a task with: evalstab task new FOLDER"
        folder.complain("task.toml", "", f"there is no task.toml in {folder.root}", mend)
    else:
        text = folder.text("task.toml", "")
    if text is None:
        return None
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        folder.complain("task.toml", "", f"this is no TOML: {error}", "Correct that line")
        return None
    file = _override(raw, overrides, folder)
    try:
        spec = TaskFile.model_validate(raw)
    except ValidationError as error:
        folder.mistakes += mistakes_of(error, file, TaskFile)
        spec = None
    return Draft(
        spec,
        raw,
        _valid(Candidate, raw.get("candidates")),
        _valid(Criterion, raw.get("criteria")),
        _valid(Deliverable, raw.get("deliverables")),
        overrides,
    )


def _override(raw: dict[str, Any], overrides: Mapping[str, str], folder: TaskFolder) -> str:
    for key, value in overrides.items():
        if key not in SETTABLE:
            folder.complain(f"--set {key}", "", "unknown key", nearest(key, SETTABLE))
            continue
        *tables, last = SETTABLE[key]
        target = raw
        for table in tables:
            target = target.setdefault(table, {})
            if not isinstance(target, dict):
                target = {}
        listed = [part.strip() for part in value.split(",") if part.strip()]
        target[last] = listed if key in _LISTS else value
    if not overrides:
        return "task.toml"
    return f"task.toml with {' '.join(f'--set {key}={value}' for key, value in overrides.items())}"


def _valid(part: type[Part], raw: Any) -> dict[int, Part]:
    valid = {}
    for index, entry in enumerate(raw if isinstance(raw, list) else []):
        try:
            valid[index] = part.model_validate(entry)
        except ValidationError:
            continue
    return valid
