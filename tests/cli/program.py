"""Runs the program as its users do, and little servers that answer wrongly."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def evalstab(
    *arguments: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 240,
) -> subprocess.CompletedProcess[str]:
    """Run ``evalstab ARGUMENTS`` in a folder, without any endpoint in the environment."""
    return subprocess.run(
        [sys.executable, "-m", "evalstab", *map(str, arguments)],
        cwd=cwd,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, less what names an endpoint or a CI runner, plus ``extra``."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("EVALSTAB_", "OPENAI_", "GITHUB_"))
        and not key.lower().endswith("_proxy")
    }
    return kept | {"COLUMNS": "100"} | dict(extra or {})


@contextmanager
def answering(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> Iterator[str]:
    """A server on loopback that gives the same answer to everything; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
