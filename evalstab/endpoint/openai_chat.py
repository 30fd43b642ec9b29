"""The chat client: the openai SDK for addresses, keys, headers, time-outs and connections.

The SDK's own retries are off, since a silent retry hides instability. The body is built and
encoded before the clock starts and goes out as bytes; what comes back is read as it arrives and
never turned into SDK objects, which would cost more than a model takes to write
(docs/decisions/client.md). This is the only file that imports openai.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import aiohttp
import httpx2
import openai
from aiohttp.http_exceptions import HttpProcessingError

from evalstab.endpoint.base import (
    ERROR_BODY_LIMIT,
    Attempt,
    ChatRequest,
    Refusal,
    encode_body,
)
from evalstab.endpoint.exchange import Exchange
from evalstab.endpoint.heartbeat import Heartbeat
from evalstab.endpoint.reply import EndKind, read_error_body
from evalstab.errors import ConfigError
from evalstab.redact import remember, remember_headers
from evalstab.settings import EndpointSettings

CHAT_PATH = "/chat/completions"
LONG_BODY_LIMIT = 32 << 20
"""For answers that list every token of a long prompt."""
CAUSE_LIMIT = 200
"""Characters of a transport error that are kept; a server may write into it what it likes."""
PAGE_LIMIT = 8 << 20
"""A broker's list of models has more than one MiB."""


_BROKEN_HTTP = (httpx2.HTTPError, aiohttp.ClientError)
"""An answer that is no HTTP is the transport's own error: the SDK passes it on as it is."""

_RAW = {"X-Stainless-Raw-Response": "stream"}


class OpenAIChat:
    """An endpoint reached over HTTP; use one for a whole series and close it."""

    def __init__(self, settings: EndpointSettings, api_key: str | None) -> None:
        remember(api_key)
        remember_headers(settings.headers)
        self._timeouts = settings.timeouts
        self._answers = 0
        self._heartbeat = Heartbeat()
        self._client = openai.AsyncOpenAI(
            base_url=settings.base_url,
            api_key=api_key or "none",
            max_retries=0,
            default_headers={"Accept-Encoding": "identity", **settings.headers},
            http_client=openai.DefaultAioHttpClient(
                verify=trusted(settings) or True,
                proxy=settings.proxy,
                follow_redirects=False,
                timeout=openai.Timeout(None, connect=settings.timeouts.connect),
                event_hooks={"response": [_refuse]},
            ),
        )

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()

    async def warm(self) -> None:
        """Open a connection before the first clock starts; what comes back does not matter."""
        with contextlib.suppress(Refusal, OSError):
            await self.get("/models")

    async def get(self, path: str, *, seconds: float = 10.0) -> bytes:
        """The body of a GET below the base URL, at most PAGE_LIMIT bytes of it.

        Refusal for another status than 2xx, ConnectionError where nobody answers, TimeoutError
        where the answer takes longer than ``seconds``.
        """
        ask = self._client.get(path, cast_to=object, options={"headers": _RAW})
        return await self._body(ask, seconds, PAGE_LIMIT)

    async def post(self, path: str, body: bytes, *, seconds: float = 60.0) -> bytes:
        """The body of the answer to a JSON body, up to LONG_BODY_LIMIT bytes; errors as ``get``."""
        headers = {"Content-Type": "application/json", **_RAW}
        ask = self._client.post(path, content=body, cast_to=object, options={"headers": headers})
        return await self._body(ask, seconds, LONG_BODY_LIMIT)

    def beside(self, path: str) -> str:
        """The address of a page that stands beside the API, not below ``/v1``."""
        root = str(self._client.base_url).rstrip("/").removesuffix("/v1")
        return f"{root}/{path.lstrip('/')}"

    async def _body(self, ask: Awaitable[Any], seconds: float, limit: int) -> bytes:
        async with asyncio.timeout(seconds):
            http: Any = None
            try:
                http = (await ask).http_response
                return await _bounded(http.stream, limit)
            except (openai.APIConnectionError, *_BROKEN_HTTP) as error:
                raise ConnectionError(_cause(error)) from error
            finally:
                if http is not None:
                    await http.aclose()

    async def attempt(self, request: ChatRequest) -> Attempt:
        """Send one request once and read all of the answer; faults are findings, not errors."""
        exchange = Exchange(request, self._timeouts, self._heartbeat)
        body = encode_body(request.history, request.fields)
        headers = {"Content-Type": "application/json", **_RAW}
        if request.trial_header:
            headers["X-Evalstab-Trial"] = request.trial_header
        http: Any = None
        self._heartbeat.begin()
        try:
            async with asyncio.timeout(None) as limit:
                exchange.begin(limit)
                response: Any = await self._client.post(
                    CHAT_PATH, content=body, cast_to=object, options={"headers": headers}
                )
                http = response.http_response
                exchange.answered(http.status_code)
                self._answers += 1
                return await exchange.read(http.stream, http.headers.get("content-encoding", ""))
        except Refusal as refusal:
            exchange.answered(refusal.status)
            judged = read_error_body(refusal.status, refusal.headers, refusal.body, request.asked)
            return exchange.refused(judged, refusal.headers)
        except TimeoutError:
            return exchange.timed_out()
        except openai.APIConnectionError as error:
            return exchange.ended(self._kind(error, exchange), _cause(error))
        except (*_BROKEN_HTTP, OSError) as error:
            return exchange.ended("reset", _cause(error))
        finally:
            self._heartbeat.end()
            if http is not None:
                await http.aclose()

    def _kind(self, error: openai.APIConnectionError, exchange: Exchange) -> EndKind:
        """A pooled connection that the server had closed is told from one that never was."""
        if exchange.status is not None:
            return "reset"
        said = _cause(error).lower()
        gone = any(word in said for word in ("disconnected", "reset", "closing transport"))
        return "stale" if gone and self._answers else "connect"


async def _refuse(response: httpx2.Response) -> None:
    """Read the body of a refusal up to a bound, before the SDK reads all of it."""
    if not 200 <= response.status_code < 300:
        body = b""
        with contextlib.suppress(httpx2.HTTPError, OSError, TimeoutError):
            async with asyncio.timeout(30):
                body = await _bounded(response.stream)
        raise Refusal(response.status_code, response.headers, body)


async def _bounded(stream: Any, limit: int = ERROR_BODY_LIMIT) -> bytes:
    pieces: AsyncIterator[bytes] = aiter(stream)
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) >= limit:
            break
    return bytes(body[:limit])


def trusted(settings: EndpointSettings) -> ssl.SSLContext | None:
    """How to speak TLS with an endpoint, None where the system's own ways will do.

    ConfigError where its certificates cannot be used.
    """
    if settings.ca_file is None and settings.client_cert is None:
        return None
    named, whole = f"ca_file {settings.ca_file!r}", ""
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.client_cert is not None:
            named, whole = f"client_cert {settings.client_cert!r}", " with certificate and key"
            context.load_cert_chain(settings.client_cert)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{named} cannot be used: {error}. Name a PEM file{whole}") from error
    return context


def _cause(error: BaseException) -> str:
    """The innermost reason in words; the SDK itself only says "Connection error."."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    said = error.message if isinstance(error, HttpProcessingError) else str(error)
    line = "".join(c if c.isprintable() else " " for c in said[:CAUSE_LIMIT])
    return " ".join(line.split()) or type(error).__name__
