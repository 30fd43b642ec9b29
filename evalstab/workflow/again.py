"""How a series was asked for, as options that ask for it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import TaskError
from evalstab.gate.next import Asked
from evalstab.report.conditions import given
from evalstab.series.folder import SeriesFile, SeriesFolder
from evalstab.series.ladder import CONTROL
from evalstab.settings import SIMULATED, read_config
from evalstab.task.load import find_task
from evalstab.workflow.request import rung_name


def asked(folder: SeriesFolder, scores: Json) -> Asked:
    """How this series was asked for, for the commands of its verdict."""
    file = folder.file
    return Asked(
        folder=_shown(folder.root),
        task=_task(folder),
        target=_target(file),
        endpoint=str(file.endpoint.get("name") or "endpoint"),
        conditions=file.conditions,
        candidates=len(scores["stability"].get("candidates") or ()),
        simulated=bool(file.endpoint.get("simulated")),
        gates=read_config().gates,
        options=(*_conditions(file.conditions), *(("--set", said) for said in given(file))),
        rung=_rung(file.conditions),
    )


def _shown(root: Path) -> str:
    """The folder as it was typed, unless that ends in no name that others can be made of."""
    return str(root if root.name not in ("", "..") else root.resolve())


def _task(folder: SeriesFolder) -> str:
    """What ``run`` finds this task by from here: its name, its folder, else the series' copy."""
    name, source = str(folder.file.task.get("name") or ""), str(folder.file.task.get("folder"))
    named, placed = _found(name), _found(source)
    if placed is not None and placed != named:
        return source
    return name if named is not None else str(folder.task_folder)


def _found(ref: str) -> Path | None:
    try:
        return find_task(ref).resolve()
    except TaskError:
        return None


def _target(file: SeriesFile) -> tuple[str, ...]:
    endpoint = str(file.endpoint.get("name") or "endpoint")
    configured = endpoint.startswith(SIMULATED) or bool(file.endpoint.get("configured"))
    if configured or not file.endpoint.get("base_url"):
        return ("--endpoint", endpoint)
    target: tuple[str, ...] = ("--base-url", str(file.endpoint["base_url"]))
    if file.endpoint.get("model"):
        target += ("--model", str(file.endpoint["model"]))
    return target


def _size(known: Json) -> int | None:
    sizes = known.get("context")
    return sizes[0] if isinstance(sizes, list) and len(sizes) == 1 else None


def _rung(known: Json) -> str:
    size = _size(known)
    level = int(known.get("concurrency") or 1)
    large = size is not None and size > CONTROL
    return rung_name(size, level, many=False, sized=True) if large else ""


def _conditions(known: Json) -> Iterator[tuple[str, ...]]:
    if (size := _size(known)) is not None:
        yield "--context", str(size)
    if known.get("shuffle"):
        yield ("--shuffle",)
    if known.get("cache") == "cold":
        yield "--cache", "cold"
    for name in ("groups", "concurrency"):
        if known.get(name) not in (None, 1):
            yield f"--{name}", str(known[name])
