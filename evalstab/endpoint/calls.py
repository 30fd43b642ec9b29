"""Assembled calls judged: whole or cut, usable or not, and which offered tool was meant.

Serves B1, B2, B4 and B5 (cut, decided by arithmetic and parsing), B8, B10, B13, B16, B17, B22,
B23 and B33. A call that is not complete is never executed.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from evalstab.chat import ToolCall, ToolSpec
from evalstab.endpoint.arguments import Read, read_arguments
from evalstab.endpoint.assemble import Slot
from evalstab.endpoint.doubling import join
from evalstab.endpoint.halves import whole_characters
from evalstab.endpoint.names import offered_name
from evalstab.endpoint.schema import violation
from evalstab.endpoint.usage import CutBy
from evalstab.findings import Finding, Side, finding


@dataclass(frozen=True, slots=True)
class Ending:
    """How the response ended, as far as calls are concerned.

    ``cut_by`` says what cut the response, ``None`` where it came to its own end. ``last`` says
    that a call was the last thing that came: only that one was cut.
    """

    cut_by: CutBy | None = None
    last: bool = True


@dataclass(slots=True)
class Calls:
    """The calls of a reply and what was wrong with them."""

    calls: list[ToolCall] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether there is a call that can be used."""
        return any(call.complete for call in self.calls)

    def note(self, code: str, call: str, text: str, **detail: Any) -> None:
        """Add a finding about the call of this name with these arguments."""
        side: dict[str, Side] = {}
        if detail.get("cut_by") == "max_tokens_sent":
            side = {"side": "harness"}
        elif detail.get("cut_by") == "stream":
            side = {"side": "endpoint"}
        excerpt = whole_characters(text[-200:]) or None
        detail = {"call": call[:80]} | detail
        self.findings.append(
            finding(code, channel="arguments", excerpt=excerpt, detail=detail, **side)
        )


def judge_calls(slots: list[Slot], tools: tuple[ToolSpec, ...], ending: Ending) -> Calls:
    """All calls of a response, in the order in which they were opened."""
    made = Calls()
    offered = {tool.name: tool for tool in tools}
    for number, slot in enumerate(slots):
        cut = ending.cut_by if ending.last and number == len(slots) - 1 else None
        name = _name(slot, offered, made)
        text = whole_characters("".join(slot.parts))
        read = read_arguments(text)
        if read.state in ("open", "broken", "glued"):
            read = _undoubled(slot, read, made)
        if read.state == "glued":
            made.note("tool.merged_calls", name, text, pieces=len(read.pieces))
        pieces = read.pieces if read.state == "glued" else (text,)
        for place, piece in enumerate(pieces):
            last = place == len(pieces) - 1
            one = read if read.state != "glued" else read_arguments(piece)
            _judge(slot, name, one, cut if last else None, offered.get(name), made)
    _unique_ids(made)
    return made


def _undoubled(slot: Slot, read: Read, made: Calls) -> Read:
    """Arguments whose deltas each came twice, counted once where they then are an object (A23)."""
    joined = join(slot.parts)
    if joined.doubled is None:
        return read
    single = read_arguments(joined.text)
    if single.state != "object":
        return read
    made.note("reasoning.duplicated_by_transport", slot.name, joined.text, form=joined.doubled)
    return single


def _name(slot: Slot, offered: dict[str, ToolSpec], made: Calls) -> str:
    """The tool's name, normalised where something stuck to it."""
    if not slot.name or slot.name in offered:
        return slot.name
    name = offered_name(slot.name, offered)
    if name is None:
        made.note("tool.unknown_name", slot.name, "", offered=sorted(offered)[:20])
        return slot.name
    made.note("tool.polluted_name", name, "", raw=slot.name[:200])
    return name


def _judge(
    slot: Slot, name: str, read: Read, cut: CutBy | None, tool: ToolSpec | None, made: Calls
) -> None:
    """Add one call with the one verdict on it, and whether it fits its schema."""
    problem = _problem(name, read, cut, tool)
    if problem is not None:
        code, detail = problem
        made.note(code, name, read.text, **detail)
    elif tool is not None and read.values is not None:
        wrong = violation(read.values, tool.parameters)
        if wrong is not None:
            made.note("tool.schema_violation", name, read.text, problem=wrong[:200])
    raw = slot.name if slot.name != name else None
    made.calls.append(
        ToolCall(id=slot.id, name=name, arguments=read.text, complete=not problem, raw_name=raw)
    )


def _problem(
    name: str, read: Read, cut: CutBy | None, tool: ToolSpec | None
) -> tuple[str, dict[str, Any]] | None:
    """Why a call cannot be used, ``None`` where it can."""
    stops = read.state in ("open", "brace_lost")
    lost = read.values == {} and tool is not None and bool(tool.required)
    if cut is not None and (cut != "stream" or read.state != "object" or lost):
        return "tool.truncated", {"cut_by": cut}
    if read.state == "open":
        return "tool.truncated", {"cut_by": "unknown"}
    if not name:
        return "tool.malformed_arguments", {"problem": "no_name"}
    if stops or read.state == "broken":
        return "tool.malformed_arguments", {"problem": read.state}
    if lost:
        return "tool.malformed_arguments", {"problem": "lost"}
    return None


def _unique_ids(made: Calls) -> None:
    """Give calls without an id, and those that repeat one of this reply, an id of our own."""
    seen: set[str] = set()
    for place, call in enumerate(made.calls):
        if not call.id or call.id in seen:
            new = f"call_{uuid.uuid4().hex[:24]}"
            made.calls[place] = ToolCall(
                id=new,
                name=call.name,
                arguments=call.arguments,
                complete=call.complete,
                raw_name=call.raw_name,
            )
        seen.add(made.calls[place].id)
