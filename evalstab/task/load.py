"""Finds a task by name or path and loads it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalstab.errors import Mistake, TaskError, nearest
from evalstab.task.brief import opening_messages
from evalstab.task.check import Examined, examine
from evalstab.task.model import Task, TaskFile

_PACKAGE = Path(__file__).resolve().parent.parent
_PLACES = frozenset({"system", "prompt", "inputs", "truth", "title"})


def find_task(ref: str) -> Path:
    """The folder of a task: a name or a path.

    A name is looked for in ``tasks/`` of the current folder, then among the tasks that come with
    the package, then as a folder. Raises TaskError, naming the nearest known task.
    """
    path = Path(ref)
    if os.sep not in ref and ref not in {"", ".", ".."}:
        known = known_tasks()
        if ref in known:
            return known[ref]
    if (path / "task.toml").exists():
        return path
    if path.name == "task.toml" and path.exists():
        return path.parent
    if ref and path.is_dir():
        problem, mend = "this folder holds no task.toml", "Make one with: evalstab task new FOLDER"
    else:
        problem, mend = "there is no such task", nearest(path.name, known_tasks())
    raise TaskError([Mistake(ref or "''", "", problem, mend)])


def known_tasks() -> dict[str, Path]:
    """Tasks that can be called by name from here; those in ``tasks/`` shadow shipped ones."""
    return dict(sorted((shipped_tasks() | _tasks_in(Path("tasks"))).items()))


def tasks_beside() -> dict[str, Path]:
    """Tasks that are folders of the current folder, by the path that calls them."""
    return {f"./{name}": folder for name, folder in _tasks_in(Path()).items()}


def shipped_tasks() -> dict[str, Path]:
    """Tasks that come with the package, by name, sorted."""
    installed = _PACKAGE / "_tasks"
    return _tasks_in(installed if installed.is_dir() else _PACKAGE.parent / "tasks")


def load_task(folder: Path, overrides: Mapping[str, str] | None = None) -> Task:
    """Load and check a task.

    ``overrides`` are settings such as ``{"task.tools": "typed"}`` (see ``draft.SETTABLE``).
    Raises TaskError with all mistakes.
    """
    examined = examine(folder, overrides or {})
    draft = examined.draft
    if examined.mistakes or draft is None or draft.spec is None or examined.prompt is None:
        raise TaskError(examined.mistakes)
    task = _assembled(folder, draft.spec, examined, "")
    return _assembled(folder, draft.spec, examined, _digest(task))


def _assembled(folder: Path, spec: TaskFile, examined: Examined, digest: str) -> Task:
    return Task(
        spec=spec,
        folder=folder,
        system_text=examined.system,
        prompt_text=examined.prompt or "",
        inputs=_reading_order(spec, examined.inputs),
        truth=examined.truth,
        digest=digest,
    )


def _reading_order(spec: TaskFile, inputs: dict[str, bytes]) -> dict[str, bytes]:
    about = list(dict.fromkeys(c.file for c in spec.candidates if c.file))
    common = sorted(path for path in inputs if path not in about)
    return {path: inputs[path] for path in [*common, *about]}


def _digest(task: Task) -> str:
    """Sha256 over what the agent sees and what judges it, in one canonical form.

    Places of files do not enter, their contents do; the opening messages hold the generated
    brief, so that other wording is another task.
    """
    content: dict[str, Any] = {
        "spec": task.spec.model_dump(mode="json", exclude=set(_PLACES), exclude_defaults=True),
        "messages": opening_messages(task),
        "inputs": [[path, hashlib.sha256(data).hexdigest()] for path, data in task.inputs.items()],
        "truth": task.truth.model_dump(mode="json") if task.truth else None,
    }
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _tasks_in(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        return {}
    return {path.name: path for path in sorted(folder.iterdir()) if (path / "task.toml").is_file()}
