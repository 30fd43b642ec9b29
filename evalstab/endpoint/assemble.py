"""Pieces of tool calls to whole calls, whatever a server does with ids, names and indexes.

Nothing is judged before the end: a name may come late, arguments first. Serves B9 (empty ids and
names on continuations), B10 (late names), B11 (repeated and split names), B12 (no index), B13 (all
calls on one index), B14 (the id changes within a call), B15 (the index drifts), B16 (objects
instead of text) and B25 (ids that are not unique). Each decision is a small rule of ``_place``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import msgspec

from evalstab.endpoint.arguments import Scanner
from evalstab.endpoint.frames import CallPart
from evalstab.endpoint.halves import whole_json
from evalstab.endpoint.names import merge_name

MAX_CALLS = 256


@dataclass(slots=True)
class Slot:
    """One call under construction."""

    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    whole_object: str | None = None
    _scanner: Scanner = field(default_factory=Scanner)
    _scanned: int = 0

    @property
    def started(self) -> bool:
        """Whether any argument text has come."""
        return bool(self.parts)

    @property
    def whole(self) -> bool:
        """Whether the arguments so far are closed in themselves."""
        while self._scanned < len(self.parts):
            self._scanner.feed(self.parts[self._scanned])
            self._scanned += 1
        return self._scanner.whole


@dataclass(slots=True)
class Assembler:
    """Collects call pieces in the order in which they come; ``slots`` are the calls so far.

    ``overflowed`` says that more than MAX_CALLS calls came and the rest was not kept.
    """

    offered: Collection[str] = ()
    slots: list[Slot] = field(default_factory=list)
    overflowed: bool = False
    _by_index: dict[int, Slot] = field(default_factory=dict)
    _by_id: dict[str, Slot] = field(default_factory=dict)
    _last: Slot | None = None

    def feed(self, part: CallPart, separate: bool = False) -> int:
        """Take one entry of ``tool_calls``; ``separate`` where each entry is a call of its own.

        Gives the number of characters that were kept of it.
        """
        function = part.function
        name = (function.name if function else None) or ""
        arguments = function.arguments if function else None
        if isinstance(arguments, str) and not name and not part.id and not separate:
            slot = self._last if part.index is None else self._by_index.get(part.index)
            if slot is not None:
                return self._append(slot, arguments)
        is_object = isinstance(arguments, (dict, list))
        text = _encode(arguments) if is_object else arguments
        if not isinstance(text, str):
            text = ""
        if separate:
            slot = self._open(None, part.id or "")
        else:
            slot = self._place(part.index, part.id or "", name, text)
        if slot is None:
            return 0
        slot.name = merge_name(slot.name, name, self.offered, slot.started)
        if is_object and slot.whole_object == text:
            text = ""
        kept = self._append(slot, text)
        if is_object and text:
            slot.whole_object = text
        return kept + len(name)

    def _append(self, slot: Slot, text: str) -> int:
        self._last = slot
        if text:
            slot.parts.append(text)
            slot.whole_object = None
        return len(text)

    def _place(self, index: int | None, id_: str, name: str, text: str) -> Slot | None:
        """The slot that a piece belongs to, a new one where it opens a call."""
        by_index = self._by_index.get(index) if index is not None else self._last
        if by_index is not None:
            same = self._continues(by_index, id_, name, text)
            if same:
                return self._note(by_index, index, id_)
            known = self._by_id.get(id_) if id_ else None
            if known is not None and self._continues(known, id_, name, text):
                return self._note(known, index, id_)
            return self._open(index, id_)
        last = self._last
        if last is not None and self._strays(last, id_, name, text):
            return self._note(last, index, id_)
        return self._open(index, id_)

    def _continues(self, slot: Slot, id_: str, name: str, text: str) -> bool:
        """Whether a piece that points to a slot goes on with its call."""
        begins = bool(name) and text.lstrip().startswith(("{", '"')) and slot.whole
        if not id_ or not slot.id or id_ == slot.id:
            return not begins or (id_ == slot.id != "" and name == slot.name)
        if not name:
            return not (slot.whole and text.strip())
        if slot.started:
            return name == slot.name and not slot.whole
        return name == slot.name

    def _strays(self, last: Slot, id_: str, name: str, text: str) -> bool:
        """Whether a piece under a new index is the rest of the last call (B15)."""
        if not id_ and not name:
            return not last.whole or not text.lstrip().startswith("{")
        if (name and name != last.name) or (id_ and id_ != last.id):
            return False
        return last.started and not last.whole

    def _note(self, slot: Slot, index: int | None, id_: str) -> Slot:
        slot.id = slot.id or id_
        if id_:
            self._by_id.setdefault(id_, slot)
        if index is not None:
            self._by_index[index] = slot
        return slot

    def _open(self, index: int | None, id_: str) -> Slot | None:
        if len(self.slots) >= MAX_CALLS:
            self.overflowed = True
            return None
        slot = Slot()
        self.slots.append(slot)
        return self._note(slot, index, id_)


def _encode(value: Any) -> str:
    """Arguments that came as an object, as text; empty where they cannot be written."""
    try:
        return msgspec.json.encode(whole_json(value)).decode()
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError):
        return ""
