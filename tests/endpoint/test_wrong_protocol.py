"""TLS and plain HTTP on each other's port: the message says which scheme to write."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.preflight import preflight
from evalstab.errors import ConfigError, EndpointUnusable
from evalstab.settings import EndpointSettings

TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"
PLAIN = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@asynccontextmanager
async def speaking(answer: bytes) -> AsyncIterator[int]:
    """Answers the first bytes of everybody with these, and closes; yields the port."""

    async def give(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await reader.read(65536)
            writer.write(answer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(give, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def told(scheme: str, answer: bytes) -> str:
    """What the preflight says of such a server."""
    async with speaking(answer) as port:
        settings = EndpointSettings(base_url=f"{scheme}://127.0.0.1:{port}/v1", model="m")
        client = OpenAIChat(settings, None)
        try:
            with pytest.raises(EndpointUnusable) as refused:
                await preflight(client, settings)
        finally:
            await client.close()
    return str(refused.value)


def test_tls_on_a_plain_port() -> None:
    assert "write http:// for https://" in asyncio.run(told("https", PLAIN))


@pytest.mark.parametrize("answer", [TLS_ALERT, b""])
def test_plain_http_on_a_tls_port(answer: bytes) -> None:
    assert "write https:// for http://" in asyncio.run(told("http", answer))


@pytest.mark.parametrize("key", ["ca_file", "client_cert"])
def test_a_certificate_that_is_none_is_named(tmp_path: Path, key: str) -> None:
    for place in (tmp_path / "none.pem", tmp_path / "broken.pem"):
        (tmp_path / "broken.pem").write_text("no certificate", encoding="utf-8")
        settings = EndpointSettings.model_validate({key: str(place)})
        with pytest.raises(ConfigError, match=f"{key} '.*{place.name}' cannot be used"):
            OpenAIChat(settings, None)
