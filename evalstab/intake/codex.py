"""Rollouts of Codex as records: also packed ones, and such whose last line is torn.

The format is declared to be no contract: everything is read leniently, what is not known is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.errors import InputError
from evalstab.intake.chat_forms import encoded, text_of
from evalstab.intake.jsonl import objects
from evalstab.intake.outcome import AWAY, ended
from evalstab.intake.session import Draft, Session, seconds_of
from evalstab.intake.stored import Stored, counts, dictionary, dropped, gone, overflowed, refused
from evalstab.intake.tool_answers import UNKNOWN_TOOL, error_in

SOURCE = "codex"
UNKNOWN = {
    "times": "a rollout holds when items were complete, not when their tokens came",
    "sampling": "a rollout does not hold the sampling parameters",
    "tools": "a rollout does not hold which tools were offered",
    "finish": "a rollout does not hold finish reasons",
    "endpoint_errors": "Codex replaces what a server says when it fails",
    "retries": "reconnections that succeed leave no trace",
}
_BROKE = re.compile(r"stream (?:disconnected|closed)|connection (?:reset|closed)", re.IGNORECASE)
_FULL = re.compile(r"context.?window|context_length", re.IGNORECASE)
_LACKING = re.compile(r"failed to parse function arguments: missing field `(\w{1,100})`")
_STATUS = re.compile(r"\b([45]\d\d)\b")


def sessions(path: Path) -> Iterator[Session]:
    """The sessions of a rollout, or of all rollouts below a folder; InputError for none."""
    found = [path] if path.is_file() else _rollouts(path)
    if not found:
        raise InputError(
            f"{path} holds no rollout of Codex: name rollout-….jsonl, or a folder such as "
            "~/.codex/sessions"
        )
    for one in found:
        try:
            made = session_of(objects(one), one.name)
        except OSError as error:
            raise InputError(f"{one} cannot be read: {error.strerror}") from error
        if made.steps:
            yield made


def _rollouts(folder: Path) -> list[Path]:
    named = [*folder.rglob("rollout-*.jsonl"), *folder.rglob("rollout-*.jsonl.zst")]
    return sorted(named or [*folder.glob("*.jsonl"), *folder.glob("*.jsonl.zst")])


def session_of(lines: Iterator[Json], name: str) -> Session:
    """The session that a rollout's lines tell."""
    reading = _Reading(Draft(source=SOURCE, id=name.split(".", maxsplit=1)[0], unknown=UNKNOWN))
    for line in lines:
        at = seconds_of(line.get("timestamp"))
        payload = dictionary(line.get("payload"))
        reading.line(str(line.get("type")), payload, at)
    reading.flush()
    if reading.under_way:
        reading.draft.step([gone(reading.draft.last, AWAY)], at=reading.asked)
    return ended(reading.draft)


@dataclass(slots=True)
class _Reading:
    """Goes through the lines; ``stored`` is the answer that is being put together."""

    draft: Draft
    stored: Stored = field(default_factory=Stored)
    results: list[tuple[str, str]] = field(default_factory=list)
    at: float | None = None
    asked: float | None = None
    said: set[str] = field(default_factory=set)
    totals: set[bytes] = field(default_factory=set)
    under_way: bool = False

    def line(self, kind: str, payload: Json, at: float | None) -> None:
        self.draft.seen(at)
        if kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            self.draft.model = self.draft.model or payload.get("model")
        elif kind == "response_item":
            self._item(payload, at)
        elif kind == "event_msg":
            self._event(payload, at)
        elif kind == "token_usage_record":
            usage = payload.get("usage")
            self._usage(usage, payload.get("thread_token_usage") or usage)
        elif kind == "compacted":
            self.flush()
            self.draft.compacted()

    def _meta(self, meta: Json) -> None:
        self.draft.id = str(meta.get("id") or self.draft.id)
        self.draft.directory = str(meta.get("cwd") or "")
        self.draft.version = meta.get("cli_version")

    def _item(self, item: Json, at: float | None) -> None:
        kind = item.get("type")
        if kind == "message" and item.get("role") == "assistant":
            self._content(text_of(item.get("content")), at)
        elif kind == "message":
            self._heard(str(item.get("role") or "user"), text_of(item.get("content")), at)
        elif kind == "reasoning":
            text = text_of(item.get("content")) or text_of(item.get("summary"))
            self._thought(text, at)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._open(at)
            given = item.get("arguments", item.get("input", item.get("action")))
            text = given if isinstance(given, str) else encoded(given)
            if kind == "custom_tool_call" and isinstance(given, str):
                text = encoded({"input": given})
            name = str(item.get("name") or "local_shell")
            call = str(item.get("call_id") or item.get("id") or "")
            self.stored.calls.append((call, name, text))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._output(str(item.get("call_id") or ""), item.get("output"), at)

    def _output(self, call: str, output: Any, at: float | None) -> None:
        text = output if isinstance(output, str) else text_of(output) or encoded(output)
        names = {name for id_, name, _ in self.stored.calls if id_ == call}
        if UNKNOWN_TOOL.search(text[:200]):
            self.stored.unknown |= names
        if lacking := _LACKING.search(text[:300]):
            self.stored.lacking |= {name: [lacking[1]] for name in names}
        self.results.append((call, text))
        self.asked = at

    def _event(self, event: Json, at: float | None) -> None:
        kind = event.get("type")
        if kind == "token_count":
            info = dictionary(event.get("info"))
            self._usage(info.get("last_token_usage"), info.get("total_token_usage"))
        elif kind == "user_message":
            self._heard("user", str(event.get("message") or ""), at)
        elif kind == "agent_message":
            self._content(str(event.get("message") or ""), at)
        elif kind == "agent_reasoning":
            self._thought(str(event.get("text") or ""), at)
        elif kind in ("task_started", "task_complete", "turn_aborted"):
            self._turn(str(kind), event.get("error"), at)

    def _turn(self, kind: str, error: Any, at: float | None) -> None:
        """A turn begins or ends; one that never ends was ended with its program."""
        self.under_way = kind == "task_started"
        if kind == "turn_aborted":
            self.flush()
            self.draft.step([gone(at, AWAY)], at=self.asked, until=at)
        elif kind == "task_complete" and isinstance(error, dict):
            self._failed(error, at)

    def _failed(self, error: Json, at: float | None) -> None:
        partial = None
        if self.stored.usage is None and not self.results and not self.stored.nothing:
            partial, self.stored = self.stored, Stored()
        self.flush()
        said = str(error.get("message") or "")
        kind = error.get("codex_error_info")
        if _FULL.search(said) or kind == "context_window_exceeded":
            attempt = overflowed(said, at)
        elif _BROKE.search(said):
            attempt = dropped(at, said)
        else:
            status = _STATUS.search(said)
            attempt = refused(int(status[1]) if status else None, said, None, at)
        if partial is not None:
            attempt = msgspec.structs.replace(attempt, reply=partial.attempt(at).reply)
        self.draft.step([attempt], at=self.asked, until=at)

    def _heard(self, role: str, text: str, at: float | None) -> None:
        """What was said to the model; events and items may both tell it."""
        if not text or (role == "user" and text in self.said):
            return
        self.flush()
        self.said = {text}
        self.asked = at
        made = "system" if role in ("developer", "system") else "user"
        self.draft.message({"role": made, "content": text})

    def _content(self, text: str, at: float | None) -> None:
        if text and text not in self.said:
            self._open(at)
            self.said.add(text)
            self.stored.content.append(text)

    def _thought(self, text: str, at: float | None) -> None:
        if text and text not in self.said:
            self._open(at)
            self.said.add(text)
            self.stored.reasoning.append(text)

    def _usage(self, usage: Any, total: Any) -> None:
        """Counts of one answer; the same sum again is the same answer told twice."""
        if not isinstance(usage, dict) or not isinstance(total, dict):
            return
        total = {k: v for k, v in total.items() if isinstance(v, int)}
        key = msgspec.json.encode(total, order="sorted")
        if key in self.totals or self.stored.usage is not None:
            return
        self.totals.add(key)
        self.stored.usage = counts(
            usage.get("input_tokens"),
            usage.get("output_tokens"),
            cached=usage.get("cached_input_tokens"),
            reasoning=usage.get("reasoning_output_tokens"),
        )

    def _open(self, at: float | None) -> None:
        """A piece of an answer came: of a new one, once tools have answered the last."""
        if self.results:
            self.flush()
        if self.stored.nothing:
            self.at = self.asked if self.asked is not None else at
        self.draft.seen(at)

    def flush(self) -> None:
        """The answer is complete."""
        stored, results = self.stored, self.results
        self.stored, self.results = Stored(), []
        if not (stored.content or stored.reasoning or stored.calls):
            return
        self.said = set()
        stored.finish = "tool_calls" if stored.calls else "stop"
        stored.model = self.draft.model
        self.draft.step([stored.attempt(self.at)], at=self.at)
        for call, text in results:
            self.draft.result(call, text, error=error_in(text))
