"""A recording proxy on loopback: it passes on what comes, as it comes, and writes down what came.

Nothing is buffered, repeated or mended. An upstream that breaks off reaches the client as a reset,
a client that goes away is taken away from the upstream, and the exchange is written in every case.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from evalstab.intake.exchange import Exchange
from evalstab.intake.relay import Relay
from evalstab.intake.scribe import Scribe

HOST = "127.0.0.1"
CONNECT = 30.0
BACKLOG = 512


@dataclass(slots=True)
class Proxy:
    """``headers`` are added to the requests of a session, by its name (for our own endpoints).

    ``tls`` is how a server with https is spoken to; None trusts what the system trusts. ``tell``
    hears, once each, why the upstream cannot be reached.
    """

    upstream: str
    scribe: Scribe
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    tell: Callable[[str], None] = lambda _: None
    relays: set[Relay] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    async def call(self, protocol: Callable[[], asyncio.BaseProtocol]) -> object:
        """Connect a protocol with the upstream; OSError where nobody answers there."""
        parts = urlsplit(self.upstream)
        secure = parts.scheme == "https"
        if secure and self.tls is None:
            self.tls = ssl.create_default_context()
        async with asyncio.timeout(CONNECT):
            return await asyncio.get_running_loop().create_connection(
                protocol,
                parts.hostname or "",
                parts.port or (443 if secure else 80),
                ssl=self.tls if secure else None,
            )

    def added(self, exchange: Exchange) -> Mapping[str, str]:
        """Headers that an exchange's request gets beyond the client's own."""
        own = self.headers.get(exchange.session, {})
        user = _user(urlsplit(self.upstream))
        if user is None or "authorization" in exchange.req_headers:
            return own
        return {"Authorization": f"Basic {user}", **own}

    def path(self, path: str) -> str:
        """The upstream's path; what its address ends and a path begins with is not doubled."""
        base = urlsplit(self.upstream).path.rstrip("/") if path.startswith("/") else ""
        names = base.split("/")[1:]
        for number in range(len(names)):
            tail = "/" + "/".join(names[number:])
            if path.startswith(f"{tail}/"):
                return base.removesuffix(tail) + path
        return base + path

    def refused(self, error: OSError) -> str:
        """Say why the upstream cannot be reached, and what to do about it."""
        why = _why(self.upstream, error)
        if why not in self._told:
            self._told.add(why)
            self.tell(why)
        return why


@asynccontextmanager
async def proxying(proxy: Proxy, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback for as long as the context lasts; gives the address.

    OSError where the port is taken, or an exchange could not be written.
    """
    loop = asyncio.get_running_loop()
    async with proxy.scribe.writing():
        server = await loop.create_server(lambda: Relay(proxy), HOST, port, backlog=BACKLOG)
        try:
            yield f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for relay in tuple(proxy.relays):
                relay.stop()
            await server.wait_closed()


def _user(parts: SplitResult) -> str | None:
    """Name and password that stand in an address, as they are sent."""
    if parts.username is None:
        return None
    plain = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return base64.b64encode(plain.encode()).decode("ascii")


def _why(upstream: str, error: OSError) -> str:
    parts = urlsplit(upstream)
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {place} is not trusted ({error.verify_message}): name the file of "
            "its issuer, or of a self-signed certificate itself, with --ca-file (endpoints: "
            "ca_file), or in SSL_CERT_FILE"
        )
    if isinstance(error, ssl.SSLError):
        return f"{place} does not speak TLS as it should ({error.reason or error}): http or https?"
    if isinstance(error, TimeoutError):
        return f"nobody answers at {place} within {CONNECT:g} s: is the server up?"
    return f"nobody answers at {place} ({error.strerror or error}): is the server up?"
