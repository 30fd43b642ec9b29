"""The writer's own process: takes frames from its standard input, says what it has written.

    python -m evalstab.intake.scribing FOLDER RUN

When the input ends, exchanges that had not ended are written as the proxy's own end left them.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from evalstab.intake.exchange import digest
from evalstab.intake.exchange_log import ExchangeLog
from evalstab.intake.grouping import Grouping, named_session
from evalstab.intake.handover import Answered, Asked, Came, Known, Over, Written, next_frame
from evalstab.redact import adopt

PRIORITY = 19


@dataclass(slots=True)
class _Pending:
    """An exchange that has not ended."""

    asked: Asked
    began: float
    pieces: list[tuple[float, bytes]] = field(default_factory=list)


@dataclass(slots=True)
class Desk:
    """Exchanges under way, and the log that they go to."""

    log: ExchangeLog
    grouping: Grouping = field(default_factory=Grouping)
    pending: dict[int, _Pending] = field(default_factory=dict)

    def ended(self, over: Over) -> Written:
        """Write an exchange that has ended, in whatever way."""
        taken = self.pending.pop(over.id)
        exchange, raw = taken.asked.exchange, taken.asked.raw
        exchange.end, exchange.t_end, exchange.problem = over.end, over.t_end, over.problem
        exchange.omitted = over.omitted
        if raw is not None:
            exchange.req_body, exchange.req_sha256 = _json(raw), digest(raw)
        if not exchange.session:
            named = named_session(exchange.req_headers, exchange.req_body)
            exchange.session = named or self.grouping.session(exchange.req_body)
        try:
            self.log.write(exchange, taken.pieces)
        except OSError as error:
            place = self.log.folder(exchange.session)
            return Written(over.id, exchange.session, f"{place}: {error.strerror or error}")
        except Exception as error:
            # Whatever a server or an agent may have sent: one exchange must not cost all others.
            why = f"one of session {exchange.session} cannot be read ({type(error).__name__})"
            return Written(over.id, exchange.session, why)
        said = exchange.assembled or {}
        good = exchange.status is not None and exchange.status < 400
        whole = over.end == "done" and good and bool(said.get("finish_reason"))
        self.grouping.ended(exchange.session, failed=not whole, said=said)
        tools = isinstance(exchange.req_body, dict) and bool(exchange.req_body.get("tools"))
        return Written(over.id, exchange.session, answered=whole, tools=tools)

    def left(self) -> list[Over]:
        """The ends of those that have not ended, now that the proxy has."""
        now = time.monotonic()
        return [Over(id_, "proxy_stopped", now - one.began) for id_, one in self.pending.items()]


def work(pipe: BinaryIO, answer: BinaryIO, desk: Desk) -> None:
    """Take frames until there are no more."""

    def tell(written: Written) -> None:
        # Where nobody listens any more, what was written stands none the less.
        with contextlib.suppress(BrokenPipeError):
            answer.write(msgspec.json.encode(written) + b"\n")
            answer.flush()

    while (frame := next_frame(pipe)) is not None:
        match frame:
            case Known(forms):
                adopt(forms)
            case Asked(id_):
                desk.pending[id_] = _Pending(frame, time.monotonic())
            case Answered(id_, status, t_headers, headers):
                exchange = desk.pending[id_].asked.exchange
                exchange.status, exchange.t_headers = status, t_headers
                exchange.resp_headers = headers
            case Came(id_, pieces):
                desk.pending[id_].pieces += pieces
            case Over():
                tell(desk.ended(frame))
    for over in desk.left():
        tell(desk.ended(over))


def _json(raw: bytes) -> object:
    try:
        return msgspec.json.decode(raw) if raw else None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def main(root: str, run: str) -> None:
    """Work at low priority, so that those who stream are not disturbed."""
    with contextlib.suppress(OSError):
        os.nice(PRIORITY)
    work(sys.stdin.buffer, sys.stdout.buffer, Desk(ExchangeLog(Path(root), run)))


if __name__ == "__main__":
    main(*sys.argv[1:])
