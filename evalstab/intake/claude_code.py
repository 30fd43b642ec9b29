"""Transcripts of Claude Code as records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.errors import InputError
from evalstab.intake.chat_forms import encoded, finish_word, text_of, usage_of_messages
from evalstab.intake.jsonl import objects
from evalstab.intake.outcome import ended
from evalstab.intake.session import Draft, Session, seconds_of
from evalstab.intake.stored import Stored, dictionary, refused
from evalstab.intake.tool_answers import BAD_ARGUMENTS, UNKNOWN_TOOL

SOURCE = "claude-code"
UNKNOWN = {
    "times": "a transcript holds when pieces were complete, not when their tokens came",
    "arguments": "a transcript holds calls as they were parsed: broken ones do not show",
    "reasoning_tokens": "the counts do not tell reasoning from the rest of an answer",
    "sampling": "a transcript does not hold the sampling parameters",
    "tools": "a transcript does not hold which tools were offered",
    "retries": "retries that succeed leave no trace",
}
_OWN_WORDS = re.compile(r"tool call could not be parsed")
"""What Claude Code itself says, in the form of an error of the API, where it gives up."""
_LINKS = ("parentUuid", "logicalParentUuid")
_TOLD = ("user", "assistant", "system")
"""The kinds of lines that tell of the conversation; others stand between them in its chain."""


def sessions(path: Path) -> Iterator[Session]:
    """The sessions of a transcript, or of all below a folder; InputError where there is none.

    Subagents are sessions of their own that name the one that started them.
    """
    found = [path] if path.is_file() else sorted(path.rglob("*.jsonl"))
    if not found:
        raise InputError(
            f"{path} holds no transcript of Claude Code: name a .jsonl file, or a folder such as "
            "~/.claude/projects"
        )
    for one in found:
        try:
            made = session_of(list(objects(one)), one)
        except OSError as error:
            raise InputError(f"{one} cannot be read: {error.strerror}") from error
        if made is not None and made.steps:
            yield made


def session_of(lines: list[Json], path: Path) -> Session | None:
    """The session of a transcript, along the branch that was gone on with to its end."""
    told = [line for line in lines if line.get("type") in _TOLD]
    if not any(line.get("type") == "assistant" for line in told):
        return None
    first = told[0]
    own = str(first.get("sessionId") or path.stem)
    aside = path.stem.startswith("agent-")
    draft = Draft(
        source=SOURCE,
        id=path.stem if aside else own,
        title=_title(lines),
        directory=str(first.get("cwd") or ""),
        version=first.get("version"),
        parent=own if aside else None,
        unknown=UNKNOWN,
    )
    reading = _Reading(draft)
    for line in _branch(lines, aside=aside):
        if line.get("type") in _TOLD:
            reading.line(line)
    reading.flush()
    return ended(draft)


def _title(lines: list[Json]) -> str:
    for line in reversed(lines):
        title = line.get("aiTitle") or line.get("customTitle") or line.get("summary")
        if isinstance(title, str):
            return title
    return ""


def _branch(lines: list[Json], *, aside: bool) -> list[Json]:
    """The lines that lead to the last one, with all answers of tools to calls among them."""
    own = _once([line for line in lines if aside or not line.get("isSidechain")])
    known = {name: line for line in own if (name := _name(line))}
    at = next((name for line in reversed(own) if (name := _name(line))), "")
    chain: set[str] = set()
    while at in known and at not in chain:
        chain.add(at)
        at = str(next((known[at][key] for key in _LINKS if known[at].get(key)), ""))
    ids = {_answer_id(line) for line in own if _name(line) in chain} - {""}
    kept = {id(line) for line in own if _name(line) in chain or _answer_id(line) in ids}
    calls = {
        str(block.get("id"))
        for line in own
        if id(line) in kept
        for block in _blocks(line)
        if _is(block, "tool_use")
    }
    return [line for line in own if id(line) in kept or _answers(line, calls)]


def _name(line: Json) -> str:
    return str(line.get("uuid") or "")


def _answer_id(line: Json) -> str:
    return str(_message(line).get("id") or "")


def _answers(line: Json, calls: set[str]) -> bool:
    """Whether a line holds what tools answered to one of these calls."""
    results = (block for block in _blocks(line) if _is(block, "tool_result"))
    return any(str(block.get("tool_use_id")) in calls for block in results)


def _once(lines: list[Json]) -> list[Json]:
    """Each line once: what is kept when a conversation is shortened is written again."""
    seen: set[str] = set()
    made = []
    for line in lines:
        name = _name(line)
        if not name or name not in seen:
            made.append(line)
        seen.add(name)
    return made


@dataclass(slots=True)
class _Reading:
    """Goes through the lines; one answer is written as several of them."""

    draft: Draft
    stored: Stored = field(default_factory=Stored)
    key: tuple[Any, Any] | None = None
    asked: float | None = None
    begin: float | None = None
    until: float | None = None
    results: list[tuple[str, str, bool]] = field(default_factory=list)

    def line(self, line: Json) -> None:
        at = seconds_of(line.get("timestamp"))
        self.draft.seen(at)
        kind = line.get("type")
        if kind == "system":
            if line.get("subtype") == "compact_boundary":
                self.flush()
                self.draft.compacted()
        elif kind == "assistant":
            self._answer(line, at)
        else:
            self._heard(line, at)

    def _answer(self, line: Json, at: float | None) -> None:
        message = _message(line)
        if line.get("isApiErrorMessage"):
            self._failed(text_of(message.get("content")), at)
            return
        key = (message.get("id"), line.get("requestId"))
        if key != self.key:
            self.flush()
            self.key, self.begin = key, self.asked
        self.until = at
        self.draft.model = self.draft.model or message.get("model")
        self.stored.model = message.get("model")
        self.stored.finish = finish_word(message.get("stop_reason")) or self.stored.finish
        self.stored.usage = usage_of_messages(message.get("usage")) or self.stored.usage
        for block in _blocks(line):
            if _is(block, "text"):
                self.stored.content.append(str(block.get("text") or ""))
            elif _is(block, "thinking"):
                self.stored.reasoning.append(str(block.get("thinking") or ""))
            elif _is(block, "tool_use"):
                given = encoded(block.get("input"))
                call = (str(block.get("id") or ""), str(block.get("name") or ""), given)
                self.stored.calls.append(call)

    def _failed(self, said: str, at: float | None) -> None:
        """The API failed, before an answer or in the middle of one."""
        if _OWN_WORDS.search(said):
            return
        attempt = refused(None, said, None, at)
        if self.stored.finish is None and not self.results and not self.stored.nothing:
            partial, self.stored, self.key = self.stored, Stored(), None
            attempt = msgspec.structs.replace(attempt, reply=partial.attempt(at).reply)
        self.flush()
        self.draft.step([attempt], at=self.asked, until=at)

    def _heard(self, line: Json, at: float | None) -> None:
        results = [b for b in _blocks(line) if _is(b, "tool_result")]
        for block in results:
            text = text_of(block.get("content"))
            call = str(block.get("tool_use_id") or "")
            if UNKNOWN_TOOL.search(text[:300]):
                self.stored.unknown |= {n for id_, n, _ in self.stored.calls if id_ == call}
            if BAD_ARGUMENTS.search(text[:300]):
                self.stored.calls = [
                    (i, n, "{" if i == call else arguments) for i, n, arguments in self.stored.calls
                ]
            self.results.append((call, text, bool(block.get("is_error"))))
        if not results:
            self.flush()
            if line.get("isCompactSummary"):
                self.draft.compacted()
            if text := text_of(_message(line).get("content")):
                self.draft.message({"role": "user", "content": text})
        self.asked = at

    def flush(self) -> None:
        """The answer is complete."""
        stored, results, begin = self.stored, self.results, self.begin
        self.stored, self.results, self.key = Stored(), [], None
        if stored.nothing:
            return
        if stored.finish is None:
            stored.finish = "tool_calls" if stored.calls else "stop"
        self.draft.step([stored.attempt(begin)], at=begin, until=self.until)
        for call, text, failed in results:
            self.draft.result(call, text, error=(text or "the tool failed") if failed else None)


def _message(line: Json) -> Json:
    return dictionary(line.get("message"))


def _blocks(line: Json) -> list[Json]:
    content = _message(line).get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _is(block: Json, kind: str) -> bool:
    return block.get("type") == kind
