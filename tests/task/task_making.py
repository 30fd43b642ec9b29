"""Tasks on disk for tests: small, valid, changed by keyword."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalstab.task.load import load_task
from evalstab.task.model import Task, TaskFile

CANDIDATES = [
    {"id": "person_01", "name": "Anna Berg", "file": "p/person_01.md"},
    {"id": "person_02", "name": "Ben Ott", "file": "p/person_02.md"},
    {"id": "person_11", "name": "Cora Lind", "file": "p/person_11.md"},
]
CRITERIA = [{"id": "c1", "title": "Klarheit"}, {"id": "c2", "title": "Mut", "min": 1, "max": 5}]
RANKING = {"path": "ranking.json", "kind": "ranking", "format": "json"}


def spec(**changes: Any) -> TaskFile:
    """A task file in memory."""
    content: dict[str, Any] = {
        "schema_version": 1,
        "name": "small",
        "language": "de",
        "prompt": "prompt.md",
        "candidates": CANDIDATES,
        "deliverables": [RANKING],
    }
    return TaskFile.model_validate(content | changes)


def write_task(folder: Path, toml: str, files: dict[str, str | bytes] | None = None) -> Path:
    """Write a task folder: task.toml, a prompt, an input for each candidate, further files."""
    contents: dict[str, str | bytes] = {"prompt.md": "Rank them.\n"}
    contents |= {f"inputs/p/{c['id']}.md": f"About {c['name']}.\n" for c in CANDIDATES}
    for path, content in {**contents, "task.toml": toml, **(files or {})}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def toml_of(head: str = "", tail: str = "", deliverables: str | None = None) -> str:
    """A task.toml with the three candidates; ``head`` is before them, ``tail`` after."""
    candidates = "".join(
        f'[[candidates]]\nid = "{c["id"]}"\nname = "{c["name"]}"\nfile = "{c["file"]}"\n'
        for c in CANDIDATES
    )
    ranking = '[[deliverables]]\npath = "ranking.json"\nkind = "ranking"\nformat = "json"\n'
    return (
        'schema_version = 1\nname = "small"\nlanguage = "de"\nprompt = "prompt.md"\n'
        f"{head}\n{candidates}\n{ranking if deliverables is None else deliverables}\n{tail}"
    )


def small_task(folder: Path, head: str = "", tail: str = "") -> Task:
    """A loaded task."""
    return load_task(write_task(folder, toml_of(head, tail)))
