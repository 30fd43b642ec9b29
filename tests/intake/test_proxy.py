"""The proxy is transparent, and what it wrote reads like what our own client read."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import aiohttp
import msgspec
import pytest

from evalstab.endpoint.base import Attempt
from evalstab.endpoint.retry import RetryPolicy, ask
from evalstab.intake.exchange import LOG_NAME
from evalstab.intake.exchange_reply import attempt_of
from evalstab.intake.proxy import Proxy
from evalstab.intake.scribe import NotWritten, Scribe
from evalstab.sim.open import open_sim
from tests.cli.program import environment
from tests.endpoint.case_server import case_server
from tests.endpoint.cases import Case, Response, singles
from tests.endpoint.test_cases_socket import client, request_for
from tests.intake.proxy_making import exchanges, recording, recording_for

SEEN = [case for case in singles() if all(r.end in ("close", "reset") for r in case.responses)]
KEY = "sk-planted-0123456789abcdef"
FRAME = b'data: {"choices":[{"index":0,"delta":{"content":"well"}}]}\n\n'


async def _through(case: Case, proxy: Proxy, url: str) -> Attempt:
    async with case_server(case.responses) as server:
        proxy.upstream = server.base_url
        endpoint = client(f"{url}/s/{case.id}/v1")
        try:
            return (await ask(endpoint, request_for(case), RetryPolicy(retries=0)))[-1]
        finally:
            await endpoint.close()


def _plain(attempt: Attempt) -> object:
    """What two readings must share; ids that are made up differ."""
    reply = msgspec.to_builtins(attempt.reply)
    for call in (reply or {}).get("tool_calls", ()):
        call.pop("id")
    return reply, sorted(found.code for found in attempt.findings), attempt.status


@pytest.mark.parametrize("part", range(4))
def test_recorded_cases_read_as_they_were_read(part: int, tmp_path: Path) -> None:
    cases = SEEN[part::4]
    proxy = Proxy("", Scribe(tmp_path, "test"))

    async def all_of_them() -> list[Attempt]:
        async with recording_for(proxy) as url:
            return [await _through(case, proxy, url) for case in cases]

    wrong = []
    for case, live in zip(cases, asyncio.run(all_of_them()), strict=True):
        again = attempt_of(exchanges(tmp_path / case.id)[-1], case.asked)
        if _plain(live) != _plain(again):
            wrong.append(f"{case.id}: {_plain(live)} but {_plain(again)}")
    assert len(SEEN) > 100
    assert wrong == []


def _answers(end: str, *chunks: bytes, status: int = 200) -> list[Response]:
    return [Response(status, {"X-Server": "odd"}, chunks, (0, 30), end)]


def test_a_reset_is_passed_on_as_a_reset_and_written_down(tmp_path: Path) -> None:
    async def go() -> tuple[bytes, int]:
        came = b""
        async with (
            case_server(_answers("reset", FRAME, FRAME)) as server,
            recording(server.base_url.removesuffix("/v1"), tmp_path) as url,
            aiohttp.ClientSession() as session,
        ):
            body = {"model": "demo", "messages": [{"role": "user", "content": "well?"}]}
            answer = await session.post(f"{url}/v1/chat/completions", json=body)
            assert answer.headers["X-Server"] == "odd"
            with pytest.raises((aiohttp.ClientPayloadError, ConnectionResetError)):  # noqa: PT012
                async for data in answer.content.iter_any():
                    came += data
            answer.close()
            return came, len(server.requests)

    came, requests = asyncio.run(go())
    assert came == FRAME * 2
    assert requests == 1
    (exchange,) = exchanges(tmp_path)
    assert exchange.end == "upstream_reset"
    assert "".join(text for _, text in exchange.chunks).encode() == came
    assert exchange.chunks[0][0] < exchange.chunks[-1][0]


def test_status_and_body_of_a_refusal_pass_and_secrets_do_not_stay(tmp_path: Path) -> None:
    said = b'{"error": {"message": "no such key: ' + KEY.encode() + b'"}}'

    async def go() -> tuple[int, bytes]:
        async with (
            case_server(_answers("close", said, status=402)) as server,
            recording(server.base_url, tmp_path) as url,
            aiohttp.ClientSession() as session,
        ):
            answer = await session.post(
                f"{url}/s/a%20b/v1/chat/completions",
                json={"messages": [{"role": "user", "content": f"my key is {KEY}"}]},
                headers={"Authorization": f"Bearer {KEY}"},
            )
            got = answer.status, await answer.read()
            answer.release()
            return got

    status, body = asyncio.run(go())
    assert (status, body) == (402, said)
    (log,) = tmp_path.rglob(LOG_NAME)
    assert KEY.encode() not in log.read_bytes()
    assert b"<redacted" in log.read_bytes()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert exchanges(tmp_path)[0].status == 402


def test_a_client_that_leaves_is_taken_away_from_the_server(tmp_path: Path) -> None:
    async def go() -> None:
        async with case_server(_answers("hang", FRAME)) as server:
            async with recording(server.base_url, tmp_path) as url:
                async with aiohttp.ClientSession() as session:
                    body = {"messages": [{"role": "user", "content": "well?"}]}
                    answer = await session.post(f"{url}/v1/chat/completions", json=body)
                    assert await answer.content.readany() == FRAME
                    answer.close()
                for _ in range(200):
                    if exchanges(tmp_path):
                        break
                    await asyncio.sleep(0.02)
            server.release()

    asyncio.run(go())
    (exchange,) = exchanges(tmp_path)
    assert exchange.end == "client_closed"
    assert [text for _, text in exchange.chunks] == [FRAME.decode()]
    assert not attempt_of(exchange).findings


def test_nobody_there_is_a_reset_too(tmp_path: Path) -> None:
    async def go() -> None:
        async with (
            recording("http://127.0.0.1:9", tmp_path) as url,
            aiohttp.ClientSession() as session,
        ):
            with pytest.raises(aiohttp.ClientError):
                await session.post(f"{url}/v1/responses", json={"input": "well?"})

    asyncio.run(go())
    assert [e.end for e in exchanges(tmp_path)] == ["upstream_refused"]
    assert [f.code for f in attempt_of(exchanges(tmp_path)[0]).findings] == ["server.dead"]


def test_the_command_serves_everything_and_ends_on_a_signal(tmp_path: Path) -> None:
    with open_sim("steady") as url:
        command = [sys.executable, "-m", "evalstab", "record", "--upstream", url]
        process = subprocess.Popen(
            [*command, "--out", str(tmp_path / "out")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[0] == "ready"

        async def models() -> bytes:
            async with aiohttp.ClientSession() as session:
                answer = await session.get(f"{ready[1]}/v1/models")
                return await answer.read()

        assert b"sim-steady" in asyncio.run(models())
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "0 exchanges" in said


def test_what_cannot_be_written_is_told_at_once_and_the_rest_is_written(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file stands where a session's folder would")
    told: list[str] = []

    async def go() -> None:
        async with case_server(_answers("close", FRAME)) as server:
            proxy = Proxy(server.base_url, Scribe(tmp_path, "test", told.append))
            async with recording_for(proxy) as url, aiohttp.ClientSession() as session:
                for name in ("taken", "free"):
                    body = {"messages": [{"role": "user", "content": "well?"}]}
                    answer = await session.post(f"{url}/s/{name}/v1/chat/completions", json=body)
                    assert await answer.read() == FRAME

    with pytest.raises(NotWritten, match="taken"):
        asyncio.run(go())
    assert len(told) == 1
    assert [exchange.session for exchange in exchanges(tmp_path)] == ["free"]
