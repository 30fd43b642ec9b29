"""A trial as a reader walks through it: every step with its texts, cut where findings stand.

What comes out is plain data for the page's script. All texts are hostile: they are freed of unseen
characters here and put into the page as text only.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import msgspec

from evalstab.chat import Json, ToolCall
from evalstab.endpoint.base import Attempt, Reply, usage_total
from evalstab.errors import FolderError
from evalstab.measures.texts import call_arguments, message_text, reply_pieces
from evalstab.report import labels
from evalstab.report.facts import number
from evalstab.report.marks import Mark, cut, lies_in, shown
from evalstab.series.folder import TrialFolder
from evalstab.trial.record import Step, ToolResult, TrialEnded, TrialStarted, read_events

LONGEST_TEXT = 1_000_000
MOST_TEXT = 60_000_000
SHORT = 120
"""Characters that one argument may have to be told in the line of its call alone."""


@dataclass
class Shelf:
    """Texts that were given to the model, each kept once for all trials; and the room left.

    Documents are read again in every trial: kept once, a large series stays a small page.
    """

    texts: list[str] = field(default_factory=list)
    left: int = MOST_TEXT
    _known: dict[str, int] = field(default_factory=dict)

    def put(self, text: str) -> int:
        """The number of a text on the shelf."""
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(shown(self.fitting(text)))
        return self._known[text]

    def fitting(self, text: str) -> str:
        """The text as far as there is room, with a word where the rest is left out."""
        room = max(0, min(LONGEST_TEXT, self.left))
        self.left -= min(len(text), room)
        if len(text) <= room:
            return text
        return f"{text[:room]}\n… {len(text) - room:,} more characters: see the record"


def transcript(folder: TrialFolder, trial: Json, shelf: Shelf) -> Json:
    """One attempt at a trial; ``trial`` holds its scores, empty where it was not scored.

    A damaged record is told as far as it can be read.
    """
    found: dict[int | None, list[Json]] = defaultdict(list)
    for finding in trial.get("findings") or ():
        if isinstance(finding, dict):
            step = number(finding, "step")
            found[None if step is None else int(step)].append(finding)
    data: Json = {"start": [], "steps": [], "end": "", "damage": ""}
    try:
        for event in read_events(folder.record):
            if isinstance(event, TrialStarted) and not data["start"]:
                data["start"] = _messages(event.messages, shelf)
            elif isinstance(event, Step):
                data["steps"].append(_step(event, found.pop(event.number, []), shelf))
            elif isinstance(event, TrialEnded):
                data["end"] = labels.sentence(f"{event.outcome}, {event.ending}: {event.reason}")
    except (FolderError, OSError, RecursionError, UnicodeError) as error:
        name = folder.record.name
        data["damage"] = labels.sentence(str(error).replace(str(folder.record), name))
    data["found"] = [_finding(one) for rest in found.values() for one in rest]
    return data


def _messages(raw: tuple[msgspec.Raw, ...], shelf: Shelf) -> list[Json]:
    told = []
    for message in raw:
        role, text, _ = message_text(message)
        if text:
            told.append({"role": labels.name(role or "message"), "text": shelf.put(text)})
    return told


def _step(step: Step, found: list[Json], shelf: Shelf) -> Json:
    reply = step.reply
    used = (reply.usage or reply.counted) if reply else None
    clock = step.attempts[-1].clock if step.attempts else None
    placed = _placed(step, found)
    return {
        "n": step.number,
        "at": round(step.started, 3),
        "seconds": round(step.seconds, 3),
        "context": usage_total(used) if used else None,
        "counted": "server" if reply and reply.usage else "tokenizer",
        "prompt": used.prompt_tokens if used else None,
        "out": used.completion_tokens if used else None,
        "cached": used.cached_tokens if used else None,
        "thought": used.reasoning_tokens if used else None,
        "ttft": None if clock is None or clock.first is None else round(clock.first, 3),
        "finish": None if reply is None or reply.finish is None else labels.name(reply.finish),
        "tries": [
            _try(attempt, placed, shelf)
            for attempt in step.attempts
            if attempt is not step.attempts[-1] or attempt.error
        ],
        **_reply(step, placed, shelf),
        "found": [_finding(one) for one in found],
    }


def _placed(step: Step, found: list[Json]) -> dict[tuple[int, str], list[Mark]]:
    """Marks by attempt and channel; each finding in the one reply that holds what it says."""
    replies = [(a.number, a.reply) for a in step.attempts if a.reply is not None]
    whole: dict[tuple[int, str], str] = defaultdict(str)
    for attempt, reply in replies:
        for piece in reply_pieces(reply):
            key = attempt, str(piece.channel)
            whole[key] = f"{whole[key]}\n{piece.text}" if key in whole else piece.text
    placed: dict[tuple[int, str], list[Mark]] = defaultdict(list)
    for index, one in enumerate(found):
        keys = [(attempt, str(one.get("channel"))) for attempt, _ in reversed(replies)]
        fitting = next((k for k in keys if k in whole and lies_in(one, whole[k])), None)
        if fitting is not None:
            placed[fitting].append((int(one["start"]), int(one["end"]), index))
    return placed


def _try(attempt: Attempt, placed: dict[tuple[int, str], list[Mark]], shelf: Shelf) -> Json:
    told: Json = {
        "number": attempt.number,
        "at": labels.name(attempt.at),
        "status": attempt.status,
        "error": labels.sentence(attempt.error or ""),
        "action": attempt.action,
        "waited": round(attempt.waited, 1),
        "parts": [],
    }
    if attempt.reply is not None:
        told["parts"] = _texts(attempt.reply, attempt.number, placed, shelf)
    return told


def _reply(step: Step, placed: dict[tuple[int, str], list[Mark]], shelf: Shelf) -> Json:
    """Reasoning and content, the calls with what became of them, and what else was appended."""
    reply, attempt = step.reply, step.attempts[-1].number if step.attempts else 1
    answers: dict[str, str] = {}
    others = []
    for message in step.append:
        role, text, call_id = message_text(message)
        if call_id is not None:
            answers[call_id] = text
        elif role != "assistant" and text:
            others.append({"role": labels.name(role), "text": shelf.put(text)})
    if reply is None:
        return {"parts": [], "calls": [], "after": others}
    results = {result.call_id: result for result in step.results}
    ends = {"arguments": 0, "file": 0}
    calls = []
    for call in reply.tool_calls:
        told = _call(call, results.get(call.id))
        told["parts"] = _call_parts(call, (attempt, ends), placed, shelf)
        if call.id in answers:
            told["answer"] = shelf.put(answers[call.id])
        calls.append(told)
    bare = msgspec.structs.replace(reply, tool_calls=())
    return {"parts": _texts(bare, attempt, placed, shelf), "calls": calls, "after": others}


def _texts(
    reply: Reply, attempt: int, placed: dict[tuple[int, str], list[Mark]], shelf: Shelf
) -> list[Json]:
    return [
        _part(piece.channel, piece.text, piece.offset, placed[attempt, piece.channel], shelf)
        | ({"path": labels.name(piece.path, 80)} if piece.path else {})
        for piece in reply_pieces(reply)
    ]


def _call_parts(
    call: ToolCall,
    at: tuple[int, dict[str, int]],
    placed: dict[tuple[int, str], list[Mark]],
    shelf: Shelf,
) -> list[Json]:
    """Texts of one call; short unmarked arguments stand in the call's own line already."""
    attempt, ends = at
    parts = []
    for piece in reply_pieces(Reply(tool_calls=(call,))):
        marks = placed[attempt, piece.channel]
        offset = ends[piece.channel]
        ends[piece.channel] += len(piece.text) + 1
        marked = any(a < offset + len(piece.text) and b > offset for a, b, _ in marks)
        if marked or piece.raw or piece.channel == "file" or len(piece.text) > SHORT:
            part = _part(piece.channel, piece.text, offset, marks, shelf)
            parts.append(part | ({"path": labels.name(piece.path, 80)} if piece.path else {}))
    return parts


def _part(channel: str, text: str, offset: int, marks: list[Mark], shelf: Shelf) -> Json:
    moved = [(a - offset, b - offset, index) for a, b, index in marks]
    kept = shelf.fitting(text)
    return {"channel": channel, "chars": len(text), "pieces": cut(kept, moved)}


def _call(call: ToolCall, result: ToolResult | None) -> Json:
    state = "executed" if result and result.error is None else "failed"
    if not call.complete:
        state = "unfinished"
    elif result is None:
        state = "not executed"
    elif result.error is None and (result.terminal or result.wrote):
        state = "ended the trial" if result.terminal else "wrote"
    told: Json = {"name": labels.name(call.name), "state": state, "brief": _brief(call)}
    if call.raw_name:
        told["raw_name"] = labels.name(call.raw_name)
    if result is not None and result.error:
        told["error"] = labels.sentence(result.error)
    return told


def _brief(call: ToolCall) -> str:
    arguments = call_arguments(call)
    if arguments is None:
        return f"{len(call.arguments):,} characters that are no JSON object"
    words = []
    for key, value in arguments.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        short = labels.sentence(text, SHORT) if len(text) <= SHORT else f"{len(text):,} characters"
        words.append(f"{labels.name(key)}: {short}")
    return labels.sentence(", ".join(words), 400)


def _finding(finding: Json) -> Json:
    """What is told of a finding: its code, side and place, and its details as JSON."""
    told: Json = {
        key: labels.name(finding.get(key) or "", 60) for key in ("code", "side", "channel")
    }
    told["placed"] = number(finding, "start") is not None
    if excerpt := finding.get("excerpt"):
        told["excerpt"] = labels.sentence(excerpt, 220)
    if detail := finding.get("detail"):
        told["detail"] = labels.sentence(msgspec.json.encode(detail).decode(), 600)
    if (context := number(finding, "context_tokens")) is not None:
        told["context"] = context
    return told
