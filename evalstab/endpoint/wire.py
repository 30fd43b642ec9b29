"""Bytes to events: server-sent events, bare JSON lines, whole bodies, and what is none of these.

Follows the event stream format of the HTML standard (comments, CR, LF and CRLF, several ``data``
lines, no space after the colon, a byte order mark, characters cut anywhere) and is lenient where
servers are not strict: a data line that is JSON by itself is an event at once, and a line that
begins with a brace is JSON without any ``data:``. Serves C4 to C6, C8, C15 and C16.

Everything is bounded; the bound that was hit is an event of its own, and after it nothing is
read any more. Time and the socket are the client's business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evalstab.endpoint.frames import Frame, TooDeep, decode

MAX_LINE_BYTES = 32 * 1024 * 1024
LINE_COST = 48
"""Bytes that a held line takes beside its own; many short lines are bounded by it."""
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
MAX_BAD_FRAMES = 1000
MAX_BODY_TRIES = 8
EXCERPT_BYTES = 200

BoundName = Literal["line_bytes", "total_bytes", "bad_frames", "text_chars", "tool_calls"]


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment line: the connection lives, but nothing came forward (C15)."""


@dataclass(frozen=True, slots=True)
class Done:
    """The end mark ``[DONE]``."""


@dataclass(frozen=True, slots=True)
class BadFrame:
    """Bytes that are neither an event nor JSON; ``excerpt`` is their beginning.

    ``too_deep`` says that they were JSON nested beyond what the decoders follow.
    """

    excerpt: str
    too_deep: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of this reader was passed; ``limit`` in bytes, characters or pieces, as named."""

    name: BoundName
    limit: int


Event = Frame | Comment | Done | BadFrame | Bound

_COMMENT = Comment()
_DONE = Done()
_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"event", b"id", b"retry")


@dataclass(slots=True)
class SseReader:
    """Turns the bytes of one answer into events, fed in pieces of any size.

    Works for streams and for whole bodies alike; ``finish`` gives what the last line held.
    """

    max_line: int = MAX_LINE_BYTES
    max_total: int = MAX_TOTAL_BYTES
    total: int = 0
    closed: bool = False
    _tail: bytearray = field(default_factory=bytearray)
    _pending: list[bytes] = field(default_factory=list)
    _pending_size: int = 0
    _bare: bool = False
    _skip_lf: bool = False
    _first: bool = True
    _event: bytes = b""
    _junk: bool = False
    _bad: int = 0
    _tries: int = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete, in order; empty once a bound was hit."""
        events: list[Event] = []
        if self.closed or not data:
            return events
        self.total += len(data)
        if self.total > self.max_total:
            return self._bound(events, "total_bytes", self.max_total)
        if b"\r" in data or self._skip_lf:
            data = self._normalise(data)
        if b"\n" not in data:
            self._tail += data
            if len(self._tail) > self.max_line:
                return self._bound(events, "line_bytes", self.max_line)
            return events
        if self._tail:
            data = bytes(self._tail) + data
            self._tail.clear()
        lines = data.split(b"\n")
        self._tail += lines.pop()
        self._take(lines, events)
        return events

    def finish(self) -> list[Event]:
        """The events in what is left when the body has ended, complete or not."""
        events: list[Event] = []
        if self.closed:
            return events
        rest = bytes(self._tail)
        self._tail.clear()
        self._take([rest, b""] if rest else [b""], events)
        if self._pending and not self.closed:
            self._flush(events)
        self.closed = True
        return events

    def _normalise(self, data: bytes) -> bytes:
        if self._skip_lf and data.startswith(b"\n"):
            data = data[1:]
        self._skip_lf = data.endswith(b"\r") if data else False
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, lines: list[bytes], events: list[Event]) -> None:
        if self._first and lines:
            self._first = False
            if lines[0].startswith(_BOM):
                lines[0] = lines[0][3:]
        for line in lines:
            try:
                if line[:5] == b"data:" and not self._pending:
                    payload = line[6:] if line[5:6] == b" " else line[5:]
                    frame = decode(payload)
                    if frame is not None and not self._event:
                        events.append(frame)
                        continue
                    self._odd_data(payload, frame, events)
                elif line or self._pending or self._event:
                    self._other(line, events)
            except TooDeep:
                self._pending.clear()
                self._reject(line, events, too_deep=True)
            if self.closed:
                return

    def _odd_data(self, payload: bytes, frame: Frame | None, events: list[Event]) -> None:
        if frame is not None:
            if self._event == b"error" and frame.choices is None and frame.error is None:
                frame.error = {"message": payload[:EXCERPT_BYTES].decode("utf-8", "replace")}
            events.append(frame)
            self._event = b""
        elif payload.strip() == b"[DONE]":
            events.append(_DONE)
        elif payload.strip():
            self._hold(payload, events)

    def _hold(self, payload: bytes, events: list[Event]) -> None:
        self._pending.append(payload)
        self._pending_size += len(payload) + LINE_COST
        if self._pending_size > self.max_line:
            self._bound(events, "line_bytes", self.max_line)

    def _other(self, line: bytes, events: list[Event]) -> None:
        """Any line that is not a single-line event: see the class of line it belongs to."""
        if not line:
            if not self._bare:
                self._flush(events)
            self._event = b""
            return
        if self._bare and not self._ends_bare(line):
            self._hold(line, events)
            self._close_bare(line, events)
            return
        name, colon, value = line.partition(b":")
        if name == b"data":
            if self._bare:
                self._flush(events)
                self._take([line], events)
            else:
                self._hold(value.removeprefix(b" "), events)
        elif not name:
            events.append(_COMMENT)
        elif name in _FIELDS and (colon or name == line):
            if name == b"event":
                self._event = value.strip()
        else:
            self._unmarked(line, events)

    def _ends_bare(self, line: bytes) -> bool:
        """Whether a line cannot belong to a body that is spread over several lines."""
        if line.startswith((b"data:", b"event:", b":")):
            return True
        return line.startswith(b'{"') and decode(line) is not None

    def _close_bare(self, line: bytes, events: list[Event]) -> None:
        """End a body of several lines at a bracket on a line of its own, if it is whole there."""
        if line.rstrip() in (b"}", b"]") and self._tries < MAX_BODY_TRIES:
            self._tries += 1
            frame = decode(b"\n".join(self._pending))
            if frame is not None:
                self._pending, self._pending_size, self._bare = [], 0, False
                events.append(frame)

    def _unmarked(self, line: bytes, events: list[Event]) -> None:
        if self._pending:
            self._flush(events)
        text = line.strip()
        if not text:
            return
        if text[:1] in (b"{", b"["):
            frame = decode(text)
            if frame is not None:
                events.append(frame)
            else:
                self._bare = True
                self._hold(line, events)
        elif text == b"[DONE]":
            events.append(_DONE)
        elif not self._junk:
            self._junk = True
            self._reject(line, events)

    def _flush(self, events: list[Event]) -> None:
        """End an event of several lines: one JSON text, or each line by itself, or a bad frame."""
        pending, self._pending, self._pending_size = self._pending, [], 0
        bare, self._bare = self._bare, False
        if not pending:
            return
        frame = decode(b"\n".join(pending)) if len(pending) > 1 or bare else None
        if frame is not None:
            events.append(frame)
            return
        if bare:
            if pending[0].strip() == b"[DONE]":
                events.append(_DONE)
            else:
                self._reject(pending[0], events)
            return
        for payload in pending:
            self._single(payload, events)
            if self.closed:
                return

    def _single(self, payload: bytes, events: list[Event]) -> None:
        frame = decode(payload)
        if frame is not None:
            events.append(frame)
        elif payload.strip() == b"[DONE]":
            events.append(_DONE)
        elif self._event == b"error":
            events.append(Frame(error=payload.decode("utf-8", "replace")))
        elif payload.strip():
            self._reject(payload, events)

    def _reject(self, data: bytes, events: list[Event], too_deep: bool = False) -> None:
        self._bad += 1
        excerpt = data[:EXCERPT_BYTES].decode("utf-8", "replace")
        events.append(BadFrame(excerpt, too_deep))
        if self._bad >= MAX_BAD_FRAMES:
            self._bound(events, "bad_frames", MAX_BAD_FRAMES)

    def _bound(self, events: list[Event], name: BoundName, limit: int) -> list[Event]:
        self.closed = True
        self._tail.clear()
        self._pending.clear()
        events.append(Bound(name, limit))
        return events
