"""Sessions that other agents recorded as series: read once, judged like our own."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import FolderError, InputError, UsageError, nearest
from evalstab.intake.session import Session
from evalstab.intake.sources import SOURCES, Source
from evalstab.series.files import make_folder, write_json, write_whole
from evalstab.series.folder import SERIES_FILE, SeriesFile, SeriesFolder, create_series
from evalstab.task.brief import opening_messages
from evalstab.task.load import find_task, load_task
from evalstab.task.model import ANSWER_FILE, Task
from evalstab.task.paths import Refused, inside
from evalstab.task.unasked import UNASKED
from evalstab.trial.record import Record
from evalstab.workflow.belonging import of_task
from evalstab.workflow.prepare import UNKNOWN, digest_of, versions
from evalstab.workflow.request import Announce
from evalstab.workflow.scan import main_language
from evalstab.workflow.score import score

DEEPEST = 8
LATEST = 120.0
"""Seconds after a session's end up to which a file in its folder may still be its own."""

_COUNTER = re.compile(r"[\s_#(-]*\d{1,6}\)?\s*$")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is to be imported. ``group_by`` is None, task-title, directory, or a regular expression
    whose first group (else whole match) in a session's title, prompt or folder names its series;
    sessions without a match are left out."""

    source: str
    path: Path
    out: Path
    task: str | None = None
    group_by: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """One series made of sessions; without a task its scores hold all that needs none."""

    folder: Path
    sessions: int
    scores: Json


def import_sessions(request: ImportRequest, announce: Announce) -> list[Imported]:
    """Read a store and write one series a group; the store itself is never written to or copied.

    Raises UsageError for an unknown format or a broken expression, InputError where nothing is
    found, FolderError where a place is taken, TaskError for a broken task.
    """
    if request.source not in SOURCES:
        raise UsageError(
            f"there is no format {request.source!r}. {nearest(request.source, SOURCES)}"
        )
    source = SOURCES[request.source]
    task = load_task(find_task(request.task)) if request.task else None
    asked = task if request.group_by is None else None
    own = of_task(_own(source, request.path, announce), asked, announce)
    groups = _grouped(own, _key(request.group_by))
    if not groups:
        raise InputError(f"{request.path}: no session is left; widen --group-by, or drop it")
    made: list[Imported] = []
    for folder, sessions in zip(_folder_names(groups), groups.values(), strict=True):
        root = request.out if len(groups) == 1 else request.out / folder
        made.append(_series(root, source, sessions, task, announce))
    if task is None:
        announce("no ranking is judged: name the task that these sessions worked on with --task")
    return made


def _own(source: Source, path: Path, announce: Announce) -> list[Session]:
    """The sessions themselves; those of subagents belong to another's work."""
    if not path.exists():
        raise InputError(f"{path} does not exist: name {source.what}")
    found = list(source.sessions(path))
    own = [session for session in found if session.parent is None]
    if len(own) < len(found):
        announce(f"{len(found) - len(own)} sessions of subagents were left out")
    if not own:
        raise InputError(f"{path} holds no session with an answer")
    return sorted(own, key=lambda session: session.started.at)


def _key(group_by: str | None) -> Callable[[Session], str | None]:
    if group_by is None:
        return lambda _: ""
    if group_by == "task-title":
        return _title
    if group_by == "directory":
        return lambda session: session.directory or "unknown"
    try:
        pattern = re.compile(group_by)
    except re.error as error:
        raise UsageError(
            f"--group-by {group_by!r}: write task-title, directory, or a regular expression "
            f"({error})"
        ) from error

    def matched(session: Session) -> str | None:
        for text in (session.title, session.prompt[:4000], session.directory):
            if found := pattern.search(text):
                return found[1] if pattern.groups and found[1] else found[0]
        return None

    return matched


def _title(session: Session) -> str:
    """A title without the number that tells repeats apart; the prompt's first line without one."""
    title = session.title or session.prompt.strip().split("\n", 1)[0][:80]
    return _COUNTER.sub("", title) or title or "untitled"


def _grouped(
    sessions: Sequence[Session], key: Callable[[Session], str | None]
) -> dict[str, list[Session]]:
    groups: dict[str, list[Session]] = {}
    for session in sessions:
        if (name := key(session)) is not None:
            groups.setdefault(name, []).append(session)
    return groups


def _folder_names(groups: Iterable[str]) -> list[str]:
    """A folder for each group, also where only odd characters or letter case tell two apart."""
    taken: Counter[str] = Counter()
    names = []
    for group in groups:
        name = _UNSAFE.sub("-", group).strip(".-")[:80] or "unnamed"
        taken[name.casefold()] += 1
        number = taken[name.casefold()]
        names.append(name if number == 1 else f"{name}~{number}")
    return names


def _series(
    root: Path, source: Source, sessions: list[Session], task: Task | None, announce: Announce
) -> Imported:
    overrides: dict[str, str] = {}
    if task is not None and _answers_only(sessions, task):
        overrides = {"task.tools": "none"}
        task = load_task(task.folder, overrides)
        announce("no session wrote the task's files: rankings are read from the last answers")
    file = _series_file(source, sessions, task, overrides)
    if task is not None:
        folder = create_series(root, file, task.folder)
    elif (root / SERIES_FILE).exists() or (root.is_dir() and any(root.iterdir())):
        raise FolderError(f"{root} is not empty: choose another place with --out")
    else:
        make_folder(root)
        write_json(root / SERIES_FILE, file)
        folder = SeriesFolder(root, file)
    shared = _shared(sessions)
    for index, session in enumerate(sessions, 1):
        _trial(folder, index, session, task, alone=session.directory not in shared)
    announce(f"series {root}: {len(sessions)} sessions of {source.name}")
    return Imported(root, len(sessions), score(root))


def _answers_only(sessions: Sequence[Session], task: Task) -> bool:
    """Whether only the last answers can hold rankings: none of the files was left anywhere."""
    if task.spec.tools == "none":
        return False
    paths = {deliverable.path for deliverable in task.spec.asked}
    left = any(paths & session.files.keys() or _found(session, paths) for session in sessions)
    return not left and any(session.answer for session in sessions)


def _shared(sessions: Sequence[Session]) -> set[str]:
    """Folders in which more than one session worked: their files may be anybody's."""
    seen: set[str] = set()
    twice = {""}
    for session in sessions:
        (twice if session.directory in seen else seen).add(session.directory)
    return twice


def _trial(
    folder: SeriesFolder, index: int, session: Session, task: Task | None, *, alone: bool
) -> None:
    """One session as a trial: its record, and the files that it left as far as it tells."""
    trial = folder.trial(index)
    files = dict(session.files)
    if task is not None and alone:
        paths = {deliverable.path for deliverable in task.spec.asked}
        files = _found(session, paths) | files
    if task is not None and task.spec.tools == "none" and session.answer:
        files = {ANSWER_FILE: session.answer.encode("utf-8", "replace")}
    make_folder(trial.workspace)
    for path, data in files.items():
        try:
            names = inside(path, DEEPEST)
        except Refused:
            continue
        write_whole(trial.workspace.joinpath(*names), data)
    record = Record(trial.record)
    try:
        session.write(record, folder.file.id, index)
    finally:
        record.close()


def _found(session: Session, paths: set[str]) -> dict[str, bytes]:
    """Files of the task that stand in the session's folder and were last changed in its time."""
    found: dict[str, bytes] = {}
    if not session.directory or not session.started.at or not session.ended.at:
        return found
    begin = datetime.fromisoformat(session.started.at).timestamp()
    end = datetime.fromisoformat(session.ended.at).timestamp() + LATEST
    for path in paths:
        place = Path(session.directory) / path
        try:
            regular = place.is_file() and not place.is_symlink()
            if regular and begin <= place.stat().st_mtime <= end:
                found[path] = place.read_bytes()
        except OSError:
            continue
    return found


def _series_file(
    source: Source, sessions: Sequence[Session], task: Task | None, overrides: dict[str, str]
) -> SeriesFile:
    created = datetime.now(UTC)
    # Without a task, the user's own words say in which language the answers were to be.
    language = main_language(session.prompt for session in sessions) if task is None else ""
    models = sorted(
        {str(s.started.fields["model"]) for s in sessions if "model" in s.started.fields}
    )
    versions_seen = sorted({s.version for s in sessions if s.version})
    model = ", ".join(models) or None
    name = task.name if task else UNASKED
    return SeriesFile(
        id=f"{created:%Y%m%d-%H%M%S}-{name}-{source.name}-{secrets.token_hex(3)}",
        created=created.isoformat(timespec="seconds"),
        task=_task(task, overrides, language),
        endpoint={
            "name": source.name,
            "base_url": None,
            "model": model,
            "simulated": False,
            "imported": {
                "source": source.name,
                "versions": versions_seen,
                "unknown": dict(source.unknown),
                "sessions": [session.id for session in sessions],
            },
        },
        work=_work(task, source),
        conditions=dict.fromkeys(("quant", "engine", "launch", "hardware", "cache"), UNKNOWN)
        | {"model": model or UNKNOWN, "agent": source.name, "agent_versions": versions_seen}
        | {"context": None, "groups": 1, "concurrency": 1, "shuffle": False},
        repeats=len(sessions),
        seed=0,
        settings={},
        versions=versions(),
    )


def _task(task: Task | None, overrides: dict[str, str], language: str) -> Json:
    if task is None:
        unasked: Json = {"name": UNASKED, "folder": "", "language": language}
        return unasked | {"candidates": [], "overrides": {}}
    return {
        "name": task.name,
        "title": task.spec.title,
        "language": task.spec.language,
        "candidates": list(task.candidates),
        "digest": task.digest,
        "folder": str(task.folder.resolve()),
        "overrides": overrides,
    }


def _work(task: Task | None, source: Source) -> Json:
    if task is None:
        return {"agent": source.name}
    return {
        "task_digest": task.digest,
        "prompt": digest_of(opening_messages(task)),
        "tools": f"those of {source.name}",
        "loop_version": source.name,
    }
