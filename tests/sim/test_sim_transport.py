"""Injected faults of the transport: once, as the truth says, and a repeated request goes well."""

from __future__ import annotations

import http.client
import json
import socket
import urllib.error
from pathlib import Path

import pytest

from tests.sim.agent_loop import Json, frames, hear, post, refused
from tests.sim.fault_server import body_of, faulty_server, first_answer, injections, notes


def _raw(
    url: str, body: Json, headers: dict[str, str] | None = None
) -> tuple[int | None, bytes, bool]:
    """Status, bytes, and whether the answer came to a proper end."""
    try:
        return 200, post(url, body, headers), True
    except http.client.IncompleteRead as error:
        return 200, error.partial, False
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), True


@pytest.mark.parametrize(
    ("kind", "code", "status", "whole"),
    [
        ("drop", "stream.dropped", 200, False),
        ("restart", "server.restarted", 200, False),
        ("error-frame", "server.error_in_stream", 200, True),
        ("bad-frame", "stream.bad_frame", 200, True),
        ("no-done", "stream.no_done", 200, True),
        ("no-finish", "stream.no_finish", 200, True),
        ("parse-error", "server.parse_error", 500, True),
        ("overloaded", "server.overloaded", 429, True),
    ],
)
def test_transport_faults_strike_once(
    kind: str, code: str, status: int, whole: bool, tmp_path: Path
) -> None:
    with faulty_server(tmp_path, kind) as url:
        chat = f"{url}/v1/chat/completions"
        body = body_of(notes(), stream_options={"include_usage": True})
        header = {"X-Evalstab-Trial": "s/1/1"}
        first = _raw(chat, body, header)
        assert (first[0], first[2]) == (status, whole)
        if kind == "restart":
            while _raw(chat, body, header)[0] == 503:
                pass
        second = _raw(chat, body, header)
    assert [i["code"] for i in injections(tmp_path)] == [code]
    heard = hear(second[1])
    assert heard.finish == "tool_calls"
    assert second[1].endswith(b"data: [DONE]\n\n")
    text = first[1].decode()
    assert ("[DONE]" in text) == (kind in {"error-frame", "bad-frame", "no-finish"})
    assert ('"finish_reason": "' in text) == (kind in {"bad-frame", "no-done"})


def test_a_first_step_asked_again_without_a_header_is_the_same_trial(tmp_path: Path) -> None:
    with faulty_server(tmp_path, "drop") as url:
        for _ in range(4):
            _raw(f"{url}/v1/chat/completions", body_of(notes()))
    told = json.loads((tmp_path / "truth.json").read_bytes())
    assert [trial["trial"] for trial in told["trials"]] == [1, 2]


def test_a_persistent_fault_strikes_again(tmp_path: Path) -> None:
    with faulty_server(
        tmp_path, "parse-error", "--dialect", "llamacpp", extra="persist = true"
    ) as url:
        for _ in range(3):
            status, body = refused(f"{url}/v1/chat/completions", body_of(notes()))
            assert status == 500
            assert body["error"]["message"].startswith(
                "Failed to parse input at pos 0: <tool_call>"
            )


def test_a_restart_is_another_process_to_look_at(tmp_path: Path) -> None:
    with faulty_server(tmp_path, "restart") as url:
        before = _metric(url, "process_start_time_seconds")
        _raw(f"{url}/v1/chat/completions", body_of(notes()))
        while (after := _metric(url, "process_start_time_seconds")) is None:
            pass
    assert before is not None
    assert after > before


def _metric(url: str, name: str) -> float | None:
    host = url.removeprefix("http://")
    connection = http.client.HTTPConnection(host)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    if answer.status == 503:
        return None
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith(name)))


def _until_silent(line: socket.socket) -> bytes | None:
    """What comes before the line goes silent; ``None`` where it is closed instead."""
    got = b""
    try:
        while part := line.recv(65536):
            got += part
    except TimeoutError:
        return got
    return None


def test_a_stalled_stream_stays_open_and_silent(tmp_path: Path) -> None:
    with faulty_server(tmp_path, "stall") as url:
        host, port = url.removeprefix("http://").split(":")
        data = json.dumps(body_of(notes())).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}"
        with socket.create_connection((host, int(port)), timeout=1) as line:
            line.sendall(f"{head}\r\n\r\n".encode() + data)
            got = _until_silent(line)
    assert got is not None
    assert b"reasoning" in got
    assert b'finish_reason": "' not in got


def test_doubled_deltas_double_the_reasoning_only(tmp_path: Path) -> None:
    task = notes("none")
    with faulty_server(tmp_path, "doubled-deltas") as url:
        doubled = first_answer(url, task)
    deltas = [
        c["delta"]["reasoning"]
        for event in frames(doubled.raw)
        for c in event["choices"]
        if "reasoning" in c["delta"]
    ]
    assert deltas[::2] == deltas[1::2]
