"""Events to one reply and its findings: the only place where a server's dialect is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evalstab.endpoint.base import Asked, Reply
from evalstab.endpoint.frames import Delta, Frame
from evalstab.endpoint.wire import Done, Event
from evalstab.findings import Finding

EndKind = Literal[
    "closed", "reset", "stalled", "grace", "bound", "redirect", "connect", "stale", "time_limit"
]


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """How the transport ended, as the client saw it.

    ``closed`` in good order; ``reset`` by the peer or cut short; ``stalled`` by our idle limit;
    ``grace`` closed by us after ``ReplyReader.settled``; ``bound`` closed by us after a Bound
    event; ``redirect`` refused to follow; ``connect`` no connection; ``stale`` a pooled
    connection that the server had closed before it read the request; ``time_limit`` ours.
    ``detail`` is plain text for the record.
    """

    kind: EndKind
    detail: str | None = None


@dataclass(slots=True)
class ReplyReader:
    """Collects the events of one answer; ``finish`` judges them.

    ``done`` is true after [DONE], ``settled`` once a finish reason or an error was seen: from then
    on only usage or the end mark can follow, and a short grace is enough.
    """

    asked: Asked
    done: bool = False
    settled: bool = False
    _content: list[str] = field(default_factory=list)
    _finish: str | None = None

    def feed(self, event: Event) -> bool:
        """Take one event; true when it carried text, reasoning or a piece of a call."""
        if isinstance(event, Frame):
            return self._frame(event)
        if isinstance(event, Done):
            self.done = True
        return False

    def _frame(self, frame: Frame) -> bool:
        progress = False
        for choice in frame.choices or ():
            if choice.finish_reason:
                self._finish = choice.finish_reason
                self.settled = True
            delta = choice.delta or choice.message
            if delta is not None:
                progress = self._take(delta) or progress
        return progress

    def _take(self, delta: Delta) -> bool:
        if isinstance(delta.content, str) and delta.content:
            self._content.append(delta.content)
        return delta.texts()

    def finish(self, end: StreamEnd) -> tuple[Reply | None, tuple[Finding, ...]]:
        """The reply, ``None`` where nothing of one arrived, and every finding about it."""
        return Reply(content="".join(self._content) or None, finish=self._finish), ()
