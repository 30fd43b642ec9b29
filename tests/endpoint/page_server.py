"""A server on loopback whose pages are given: by path, or one answer for everything."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Page:
    """One answer; ``trickle`` is the pause in seconds after every byte of it."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    trickle: float = 0.0


@contextmanager
def serving(
    pages: Mapping[str, Page | bytes], otherwise: Page | None = None
) -> Iterator[tuple[str, list[str]]]:
    """The server's address and the list of what was asked, as ``GET /path?query``."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"GET {self.path}")
            found = pages.get(self.path.partition("?")[0], otherwise or Page(b"{}", 404))
            page = Page(found) if isinstance(found, bytes) else found
            self.send_response(page.status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(page.body)))
            self.end_headers()
            self._write(page)

        def _write(self, page: Page) -> None:
            try:
                if not page.trickle:
                    self.wfile.write(page.body)
                    return
                for byte in page.body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(page.trickle)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
