"""An upstream that speaks TLS: with a trusted certificate, and with one that nobody trusts."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from evalstab.intake.proxy import Proxy
from evalstab.intake.scribe import Scribe
from tests.intake.proxy_making import exchanges, recording_for
from tests.intake.test_proxy_transparency import OK, heard, post

pytestmark = [
    pytest.mark.system("openssl"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]


def certificate(folder: Path) -> Path:
    """A self-signed certificate for the loopback, with its key in the same file."""
    file = folder / "own.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
         "-keyout", file, "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_bytes(file.read_bytes() + (folder / "cert.pem").read_bytes())
    return file


def test_a_self_signed_certificate_names_its_mend_and_is_trusted_when_named(tmp_path: Path) -> None:
    file = certificate(tmp_path)
    told: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async def go() -> list[tuple[bytes, str]]:
        there = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        there.load_cert_chain(file)
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=there)
        upstream = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        got = []
        async with recording_for(
            Proxy(upstream, Scribe(tmp_path / "a", "t"), tell=told.append)
        ) as url:
            got.append(await heard(url, post()))
        tls = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        async with recording_for(Proxy(upstream, Scribe(tmp_path / "b", "t"), tls=tls)) as url:
            got.append(await heard(url, post()))
        server.close()
        await server.wait_closed()
        return got

    refused, served = asyncio.run(go())
    assert refused == (b"", "reset")
    assert served[0].endswith(b"\r\n\r\nhi")
    (line,) = told
    assert "is not trusted (self" in line
    assert "--ca-file" in line
    assert exchanges(tmp_path / "a")[0].end == "upstream_refused"
    assert exchanges(tmp_path / "b")[0].end == "done"
