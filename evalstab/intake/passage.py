"""One request on its way through the proxy, and what is kept of it and of its answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import count
from urllib.parse import SplitResult

import h11

from evalstab.intake.exchange import End, Exchange
from evalstab.intake.grouping import Route
from evalstab.intake.handover import Answered, Asked, Came, Over
from evalstab.intake.scribe import Scribe
from evalstab.redact import is_secret_name, remember_headers

RECORDED = ("/chat/completions", "/responses", "/messages", "/completions")
MOST_KEPT = 64 << 20
"""Bytes of a body that are kept; what goes on beyond is passed on all the same."""

PARCEL = 64 << 10
PARCEL_SECONDS = 0.1
"""Pieces of an answer are handed over when they are so large together, or so old."""

_OURS = frozenset({b"host", b"accept-encoding", b"proxy-connection", b"proxy-authorization"})
_numbers = count(1)


class Passage:
    """What is known of one exchange so far; ``scribe`` None where it is only passed on."""

    def __init__(self, exchange: Exchange, scribe: Scribe | None) -> None:
        self.began = time.monotonic()
        self.exchange = exchange
        self.asked_whole = self.answered_whole = False
        self.problem: str | None = None
        self._id = next(_numbers)
        self._scribe = scribe
        self._body = bytearray()
        self._body_kept = True
        self._told_asked = False
        self._answer: Answered | None = None
        self._pieces: list[tuple[float, bytes]] = []
        self._waiting = self._kept = self._omitted = 0
        self._sent_off = 0.0

    def asks(self, data: bytes) -> None:
        """A piece of the request's body."""
        if self._scribe is None or not self._body_kept:
            return
        if len(self._body) + len(data) > MOST_KEPT or self._scribe.behind:
            self._body_kept = False
            self._body.clear()
        else:
            self._body += data

    def asked(self) -> None:
        """The request is whole."""
        self.asked_whole = True
        if self._scribe is not None and not self._told_asked:
            self._told_asked = True
            raw = bytes(self._body) if self._body_kept else None
            self._scribe.hand_over(Asked(self._id, self.exchange, raw), self.exchange.session)
            if self._answer is not None:
                self._scribe.hand_over(self._answer)

    def answers(self, response: h11.Response, moment: float) -> None:
        """Status and headers have come."""
        if self._scribe is None:
            return
        headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in response.headers}
        at = moment - self.began
        self._answer = Answered(self._id, response.status_code, at, headers)
        if self._told_asked:
            self._scribe.hand_over(self._answer)

    def came(self, data: bytes, moment: float) -> None:
        """A piece of the answer's body."""
        if self._scribe is None:
            return
        if self._kept + len(data) > MOST_KEPT or self._omitted or self._scribe.behind:
            self._omitted += len(data)
            return
        self._kept += len(data)
        self._waiting += len(data)
        self._pieces.append((moment - self.began, data))
        if self._waiting >= PARCEL or moment - self._sent_off >= PARCEL_SECONDS:
            self._send_off(moment)

    def ended(self, end: End, problem: str | None = None) -> None:
        """Nothing more will come."""
        if self._scribe is None:
            return
        moment = time.monotonic()
        self.asked()
        self._send_off(moment)
        over = Over(self._id, end, moment - self.began, self._omitted, problem or self.problem)
        self._scribe.hand_over(over)

    def _send_off(self, moment: float) -> None:
        if self._scribe is not None and self._told_asked and self._pieces:
            self._scribe.hand_over(Came(self._id, self._pieces))
            self._pieces = []
            self._waiting = 0
            self._sent_off = moment


def exchange_of(request: h11.Request, where: Route, query: str, upstream: str) -> Exchange:
    """The exchange that begins with a request; secrets in its headers are remembered."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    remember_headers({name: value for name, value in headers.items() if is_secret_name(name)})
    return Exchange(
        t_req=time.time(),
        method=request.method.decode("latin-1"),
        path=where.path,
        query=query,
        upstream=upstream,
        session=where.session or "",
        req_headers=headers,
    )


def sent_headers(
    request: h11.Request, upstream: SplitResult, added: Mapping[str, str]
) -> list[tuple[bytes, bytes]]:
    """The headers that the upstream gets: the client's, but for its address and encodings."""
    own = {name.lower().encode(): value.encode("latin-1") for name, value in added.items()}
    headers = [(b"Host", upstream.netloc.rpartition("@")[2].encode())]
    headers += [
        (name, value)
        for name, value in request.headers.raw_items()
        if name.lower() not in _OURS and name.lower() not in own
    ]
    return [*headers, (b"Accept-Encoding", b"identity"), *own.items()]
