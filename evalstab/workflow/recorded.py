"""What a series was begun with, read back from its folder; a changed configuration is refused."""

from __future__ import annotations

from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.series.folder import RESTORE, SERIES_FILE, SeriesFolder
from evalstab.settings import EndpointSettings, read_config
from evalstab.task.load import load_task
from evalstab.workflow.prepare import Prepared, configured, work_of
from evalstab.workflow.request import RunRequest
from evalstab.workflow.secrets import as_written, remember_secrets, with_secrets


def recorded(folder: SeriesFolder, repeats: int | None = None) -> Prepared:
    """The prepared request of an existing series; FolderError names what has changed since."""
    try:
        return _recorded(folder, repeats)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        where = folder.root / SERIES_FILE
        raise FolderError(f"{where} does not say what it must ({said}); {RESTORE}") from error


def _recorded(folder: SeriesFolder, repeats: int | None) -> Prepared:
    file = folder.file
    overrides = file.task.get("overrides", {})
    task = load_task(folder.task_folder, overrides)
    name = str(file.endpoint["name"])
    settings = EndpointSettings.model_validate(file.settings)
    _require_same(folder.root, "work", file.work, work_of(task, settings))
    _require_unchanged_task(folder.root, Path(file.task["folder"]), overrides, task.digest)
    own = read_config().endpoints.get(name, EndpointSettings())
    remember_secrets(own)
    now = as_written(configured(name))
    _require_same(folder.root, f"[endpoints.{name}]", file.endpoint.get("configured") or {}, now)
    settings = with_secrets(settings, own)
    remember_secrets(settings)
    request = RunRequest(
        task=str(folder.task_folder),
        endpoint=name,
        task_overrides=overrides,
        repeats=repeats,
        contexts=tuple(file.conditions.get("context") or ()),
        levels=(int(file.conditions.get("concurrency", 1)),),
        seed=file.endpoint.get("simulator_seed"),
        shuffle=bool(file.conditions.get("shuffle")),
        cache="cold" if file.conditions.get("cache") == "cold" else "warm",
        groups=int(file.conditions.get("groups") or 1),
        out=folder.root,
    )
    return Prepared(
        request=request,
        task=task,
        endpoint=name,
        settings=settings,
        seed=file.seed,
        repeats=repeats or folder.planned,
    )


def _require_unchanged_task(root: Path, source: Path, overrides: Json, digest: str) -> None:
    if source.is_dir() and load_task(source, overrides).digest != digest:
        raise FolderError(
            f"{root}: the task in {source} has changed since this series began; "
            "put it back as it was, or start a new series"
        )


def _require_same(root: Path, what: str, then: Json, now: Json) -> None:
    differing = [key for key in sorted(then.keys() | now.keys()) if then.get(key) != now.get(key)]
    if differing:
        told = "; ".join(f"{key} was {then.get(key)!r}, is {now.get(key)!r}" for key in differing)
        raise FolderError(
            f"{root}: {what} has changed since this series began: {told}. "
            "Put it back as it was, or start a new series"
        )
