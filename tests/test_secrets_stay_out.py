"""Secrets seeded everywhere, against a server and a model that echo them: none reaches a file."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import evalstab

KEY = "rig-key-7f3a9c51e2"
HEADER = "Team-Secret-Header-55aa"
PROXYPASS = "proxypass-8842"
BODY = "body-secret-1199"
HF = "hf_ABCDEFGHIJKLMNOPQRSTUVWXYZ123456"
CONTAINER = "container-pass-331"
ARGV = "argv-key-90210"
ALL = (KEY, HEADER, PROXYPASS, BODY, HF, CONTAINER, ARGV)

ECHO = f"I was sent {KEY} and {HEADER}. Your other keys: {HF} {BODY} {CONTAINER} {ARGV}"
HIDDEN = "".join(f"\\u{ord(c):04x}" for c in KEY)
RANKING = json.dumps(
    {"ranking": [{"id": "note_a", "total": 3}, {"id": "note_b", "total": 2}], "why": ECHO}
)


class _Echo(BaseHTTPRequestHandler):
    """Answers like a chat server that gives back whatever it was sent."""

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._send(200, {"data": [{"id": "m", "owned_by": KEY}]})
        else:
            self._send(500, {"error": {"message": f"no such page for {KEY} {HEADER}"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = sum(m["role"] == "assistant" for m in body["messages"])
        if asked == 0 and not getattr(self.server, "refused", False):
            self.server.refused = True  # type: ignore[attr-defined]
            self._send(500, {"error": {"message": f"bad key {KEY}, header {HEADER}"}})
            return
        message: dict[str, Any] = {"role": "assistant", "content": ECHO, "reasoning_content": ECHO}
        if asked == 0:
            message["tool_calls"] = [
                _call("1", {"path": "ranking.json", "content": RANKING}),
                {
                    "id": "2",
                    "type": "function",
                    "function": {
                        "name": "write_file",
                        "arguments": f'{{"path": "hidden.txt", "content": "{HIDDEN}"}}',
                    },
                },
            ]
        finish = "tool_calls" if asked == 0 else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 900, "completion_tokens": 50}
        self._send(200, {"id": "x", "choices": [choice], "model": KEY, "usage": usage})

    def _send(self, status: int, value: object) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


def _call(number: str, arguments: dict[str, str]) -> dict[str, Any]:
    function = {"name": "write_file", "arguments": json.dumps(arguments)}
    return {"id": number, "type": "function", "function": function}


@contextmanager
def _echoing() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


_DOCKER = """#!/bin/sh
case "$1 $2" in
  "inspect box") cat <<'END'
[{{"Id": "ab", "Name": "/box", "Path": "vllm",
   "Args": ["serve", "m", "--api-key", "{argv}"],
   "State": {{"StartedAt": "2026-11-28T20:14:04Z"}}, "Image": "sha256:1", "RestartCount": 0,
   "Config": {{"Image": "v", "Env": ["DB_PASS={container}", "HF_TOKEN={hf}"], "Labels":
     {{"com.docker.compose.project.config_files": "{folder}/compose.yml"}}}},
   "HostConfig": {{}}, "NetworkSettings": {{"Ports": {{}}}}, "Mounts": []}}]
END
  ;;
  "logs "*) echo "vLLM API server version 0.1 started with {argv} and {container}" ;;
  *) exit 1 ;;
esac
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    docker = bin_folder / "docker"
    compose = tmp_path / "compose.yml"
    compose.write_text(f"services:\n  v:\n    environment:\n      HF_TOKEN: {HF}\n")
    docker.write_text(_DOCKER.format(argv=ARGV, container=CONTAINER, hf=HF, folder=tmp_path))
    docker.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    return work


def _config(url: str) -> str:
    return (
        "[endpoints.box]\n"
        f'base_url = "{url}"\nmodel = "m"\napi_key_env = "RIG"\n'
        f'headers = {{ "X-Team-Token" = "{HEADER}" }}\nstream = false\nretries = 1\n'
        f'extra_body = {{ access_token = "{BODY}" }}\n'
        'launch = { container = "box" }\n'
    )


def _env(place: Path) -> dict[str, str]:
    return {
        "RIG": KEY,
        "HF_TOKEN": HF,
        "XDG_CONFIG_HOME": str(place.parent / "config"),
        "PATH": f"{place.parent / 'bin'}:/usr/bin:/bin",
        "HOME": str(place.parent),
    }


def _leaks(folder: Path, *texts: str) -> list[str]:
    found = [f"{secret} in the output" for secret in ALL for text in texts if secret in text]
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "evalstab.toml":
            data = path.read_bytes()
            found += [f"{secret} in {path}" for secret in ALL if secret.encode() in data]
    return found


def test_no_secret_reaches_any_file_or_the_terminal(place: Path) -> None:
    env = _env(place)
    with _echoing() as url:
        (place / "evalstab.toml").write_text(_config(url))
        ran = evalstab(
            "run", "three-notes", "--endpoint", "box", "--repeats", "2", "--out", "s", "--json",
            cwd=place, env=env,
        )  # fmt: skip
        assert ran.returncode in (0, 4), ran.stderr
        again = evalstab("resume", "s", "--repeats", "3", cwd=place, env=env)
        assert again.returncode == ran.returncode, again.stderr
        shown = evalstab("launch", "show", "--endpoint", "box", cwd=place, env=env)
    assert shown.returncode == 0, shown.stderr
    told = [text for done in (ran, again, shown) for text in (done.stdout, done.stderr)]
    assert not _leaks(place, *told)
    record = (place / "s" / "trials" / "001" / "events.jsonl").read_text()
    assert record.count("<redacted hmac:") > 6
    hidden = (place / "s" / "trials" / "001" / "workspace" / "hidden.txt").read_text()
    assert hidden.startswith("<redacted hmac:")
    assert "hidden.txt" in record
    launch = json.loads((place / "s" / "launch.json").read_text())
    assert launch["captured"]
    assert "<redacted hmac:" in launch["command"]


def test_a_refusal_that_echoes_the_key_is_told_without_it(place: Path) -> None:
    with _echoing() as url:
        done = evalstab(
            "run", "three-notes", "--base-url", url.removesuffix("/v1") + "/other",
            "--model", "m", "--api-key-env", "RIG",
            cwd=place, env=_env(place),
        )  # fmt: skip
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize("url", ["http://u:{}@h/v1", "http://{}@h/v1", "http://h/v1?api_key={}"])
def test_an_address_with_a_secret_is_refused(place: Path, url: str) -> None:
    done = evalstab(
        "run", "three-notes", "--base-url", url.format("hunter22"), "--model", "m", "--out", "s",
        cwd=place, env=_env(place),
    )  # fmt: skip
    assert done.returncode == 3
    assert "base_url holds a secret" in done.stderr
    assert "hunter22" not in done.stderr
    assert not (place / "s").exists()


def test_a_crash_is_written_without_secrets(place: Path) -> None:
    (place / "crash.py").write_text(
        "from evalstab import cli, redact\n"
        "from evalstab.cli import app\n"
        f"redact.remember({KEY!r})\n"
        "def broken(**_ignored):\n"
        f"    raise RuntimeError('no answer for {KEY} at http://u:{PROXYPASS}@h')\n"
        "app.app = broken\n"
        "cli.main()\n"
    )

    done = subprocess.run(
        [sys.executable, "crash.py"], cwd=place, capture_output=True, text=True, check=False
    )
    (place / "crash.py").unlink()
    assert done.returncode == 1
    assert "RuntimeError: no answer for <redacted" in done.stderr.replace("\n", " ")
    assert not [secret for secret in ALL if secret in done.stderr]
