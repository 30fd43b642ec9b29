"""What lies on the simulated model's desk: files listed, read and written so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from evalstab.sim.conversation import Conversation, Done
from evalstab.sim.prose import Subject, facts
from evalstab.sim.summary import Progress, progress_in
from evalstab.task.brief_reading import Brief

_LISTED = re.compile(r"(.+) \(\d+ bytes\)")
_MORE = re.compile(r"\n\[lines \d+ to \d+ of \d+; read on with offset (\d{1,9})\]$")
_READ_TRIES = 2
_WRITE_TRIES = 3
_MOST_SOURCES = 400


@dataclass(slots=True)
class Desk:
    """Files by path: ``texts`` as read so far, ``following`` where a file has further pages."""

    listed: bool = False
    sources: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    following: dict[str, int] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    attempts: dict[str, int] = field(default_factory=dict)

    def unread(self) -> list[str]:
        """Sources that were not read yet and did not refuse twice."""
        return [
            p for p in self.sources if p not in self.texts and self.tries.get(p, 0) < _READ_TRIES
        ]

    def progress(self) -> Progress:
        """What was done so far, as a summary tells it."""
        read = tuple(path for path in self.sources if path in self.texts)
        return Progress(tuple(self.unread()), read, tuple(sorted(self.written)))

    def unwritten(self, brief: Brief, *, submitted: bool) -> list[str]:
        """Deliverables that still have to be written, as far as trying again makes sense.

        ``submitted``: the ranking is handed in by a tool of its own.
        """
        return [
            d.path
            for d in brief.deliverables
            if d.path not in self.written
            and self.attempts.get(d.path, 0) < _WRITE_TRIES
            and not (submitted and d.kind == "ranking")
        ]


def look(conversation: Conversation) -> Desk:
    """The desk as the conversation left it."""
    desk = Desk()
    brief = conversation.brief
    if brief is None:
        return desk
    desk.texts.update(brief.files)
    if (progress := progress_in(conversation.prompt)) is not None:
        desk.listed = True
        desk.sources = [*progress.unread, *progress.read]
        desk.texts.update(dict.fromkeys(progress.read, ""))
        desk.written.update(progress.written)
        desk.attempts.update(dict.fromkeys(progress.written, 1))
    for call in conversation.done:
        _enter(desk, call)
    if not desk.sources:
        desk.sources = _named_sources(conversation, brief)
    own = {deliverable.path for deliverable in brief.deliverables}
    desk.sources = [path for path in desk.sources if path not in own][:_MOST_SOURCES]
    return desk


def _enter(desk: Desk, call: Done) -> None:
    path = call.arguments.get("path")
    if call.name == "list_files":
        desk.listed = True
        if not call.failed and call.answer and not desk.sources:
            desk.sources = list(_listing(call.answer))
    elif not isinstance(path, str):
        return
    elif call.name == "read_file":
        desk.tries[path] = desk.tries.get(path, 0) + 1
        if not call.failed and call.answer is not None:
            _page(desk, path, call.answer)
    elif call.name == "write_file":
        desk.attempts[path] = desk.attempts.get(path, 0) + 1
        if not call.failed:
            desk.written.add(path)


def _page(desk: Desk, path: str, answer: str) -> None:
    desk.following.pop(path, None)
    if found := _MORE.search(answer[-200:]):
        desk.following[path] = int(found[1])
        answer = answer[: len(answer) - len(found[0])]
    desk.texts[path] = desk.texts.get(path, "") + answer


def _listing(answer: str) -> Iterator[str]:
    """Paths of a listing: one a line, with or without the size behind it."""
    for line in answer.splitlines()[:2000]:
        found = _LISTED.fullmatch(line.strip())
        path = found[1] if found else line.strip()
        if path and not path.startswith("["):
            yield path


def _named_sources(conversation: Conversation, brief: Brief) -> list[str]:
    """Sources where nothing was listed: an enumeration in the tool, else the brief's files."""
    schema = conversation.offer.schemas.get("read_file", {})
    properties = schema.get("properties") if isinstance(schema, dict) else None
    path = properties.get("path") if isinstance(properties, dict) else None
    values = path.get("enum") if isinstance(path, dict) else None
    if isinstance(values, list):
        return [value for value in values if isinstance(value, str)]
    return [c.file for c in brief.candidates if c.file]


def subjects(brief: Brief, texts: dict[str, str]) -> tuple[Subject, ...]:
    """The candidates with the passages that were read about them."""
    return tuple(
        Subject(c.id, c.name or c.id, _passages(c.id, c.name, c.file, texts))
        for c in brief.candidates
    )


def _passages(
    id_: str, name: str | None, file: str | None, texts: dict[str, str]
) -> tuple[str, ...]:
    for path, text in texts.items():
        if file and (path == file or path.endswith("/" + file) or file.endswith("/" + path)):
            return facts(text)
    names = {id_, *((name,) if name else ())}
    return facts("\n".join(_mentions(names, texts.values())))


def _mentions(names: Iterable[str], texts: Iterable[str]) -> Iterator[str]:
    pattern = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names)))
    for text in texts:
        yield from (line for line in text.splitlines()[:20_000] if pattern.search(line))
