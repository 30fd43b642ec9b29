"""What people do with tasks before they run one: list, show, check, make."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

import msgspec

from evalstab.errors import Mistake, TaskError, UsageError, nearest
from evalstab.task.brief import opening_messages
from evalstab.task.check import mistakes_in
from evalstab.task.load import find_task, known_tasks, load_task, tasks_beside
from evalstab.task.model import RankingFormat, Task, ToolMode
from evalstab.task.new import new_task
from evalstab.tools.toolbox import offered_tools

_EXAMPLE = ("candidate_1", "candidate_2", "candidate_3")


@dataclass(frozen=True, slots=True)
class NewTask:
    """What ``evalstab task new`` was asked for; ``source`` may be missing (see ``make_new``)."""

    folder: Path
    source: Path | None
    prompt: Path | None
    language: str
    ranking: str
    tools: str


def listing() -> str:
    """One line a task: how it is called, language, candidates, title, or that it is broken."""
    lines = []
    for name, folder in (known_tasks() | tasks_beside()).items():
        try:
            spec = load_task(folder).spec
        except TaskError as error:
            many = len(error.mistakes)
            lines.append(f"{name:20} broken: {many} mistakes, see `evalstab task check {name}`")
            continue
        lines.append(
            f"{name:20} {spec.language:4} {len(spec.candidates):3} candidates  {spec.title}"
        )
    return "\n".join(lines)


def shown(ref: str) -> str:
    """The messages and tools of a task as they are sent, and what it expects."""
    task = load_task(find_task(ref))
    messages = (f"--- {m['role']} ---\n{m['content']}" for m in opening_messages(task))
    tools = ", ".join(tool.name for tool in offered_tools(task)) or "none"
    inputs = "\n".join(f"{path} ({len(data):,} bytes)" for path, data in task.inputs.items())
    return "\n\n".join(
        [_facts(task), *messages, f"--- tools ---\n{tools}", f"--- input files ---\n{inputs}"]
    )


def _facts(task: Task) -> str:
    limits = msgspec.json.encode(task.spec.limits.model_dump(exclude_none=True)).decode()
    truth = "known" if task.truth else "not known"
    return f"{task.name}, digest {task.digest[:12]}, truth {truth}, limits {limits}"


def checked(ref: str) -> str:
    """A line that says the task is right, and notes; TaskError with every mistake otherwise."""
    folder = find_task(ref)
    if mistakes := mistakes_in(folder):
        raise TaskError(mistakes)
    task = load_task(folder)
    told = f"no mistakes ({len(task.candidates)} candidates, digest {task.digest[:12]})"
    return "\n".join([f"{task.name}: {told}", *(f"note: {note}" for note in _notes(task))])


def _notes(task: Task) -> Iterator[str]:
    """What is allowed but seldom meant."""
    for path, data in task.inputs.items():
        if not data.strip():
            yield f"{task.spec.inputs}/{path} is empty: the model will read nothing there"
    if task.spec.truth is None and (task.folder / "truth.json").is_file():
        yield 'truth.json is not used: add truth = "truth.json" to task.toml'


def make_new(asked: NewTask) -> Path:
    """Make a task out of somebody's own files; returns its folder.

    ``source``: a folder with one file a candidate, or a text file with one candidate a line.
    Without it, the files in an existing ``folder`` are the candidates and the task is made there;
    a folder that does not exist yet gets an example to be edited. TaskError, UsageError where that
    cannot be; nothing is ever overwritten.
    """
    ranking = _choice("--ranking", asked.ranking, get_args(RankingFormat))
    tools = _choice("--tools", asked.tools, get_args(ToolMode))
    prompt = _prompt(asked.prompt)

    def made(folder: Path, source: Path | Sequence[str]) -> Path:
        return new_task(
            folder,
            candidates_from=source,
            prompt=prompt,
            ranking=cast("RankingFormat", ranking),
            language=asked.language,
            tools=cast("ToolMode", tools),
        )

    if asked.source is not None:
        return made(asked.folder, asked.source)
    if not asked.folder.is_dir() or not any(asked.folder.iterdir()):
        return made(asked.folder, _EXAMPLE)
    with tempfile.TemporaryDirectory(dir=asked.folder.parent, prefix=".new-task-") as place:
        draft = made(Path(place, asked.folder.resolve().name), asked.folder)
        return _move_in(draft, asked.folder)


def _move_in(draft: Path, folder: Path) -> Path:
    parts = sorted(draft.iterdir())
    for part in parts:
        if (folder / part.name).exists():
            problem, mend = "stands there already", "Name another folder, or give --from"
            raise TaskError([Mistake(str(folder / part.name), "", problem, mend)])
    for part in parts:
        part.rename(folder / part.name)
    return folder


def _choice(option: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UsageError(f"{option} {value!r} is not known. {nearest(value, known)}")
    return value


def _prompt(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--prompt {path} cannot be read: {error}") from error
