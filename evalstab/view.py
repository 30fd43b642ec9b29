"""Shows reports in a browser: a small server of finished pages, on loopback and for reading only.

An address is looked up in a table of what was found under the folder; it is never made into a
path. Requests under another host name are refused, so that no page elsewhere can read through a
name of its own that points here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from evalstab.errors import EvalstabError, UsageError
from evalstab.report.html import is_current, policy, render_index
from evalstab.report.index import address, folders, lines
from evalstab.report.labels import visible
from evalstab.series.ladder import LADDER_FILE, is_ladder

HOST = "127.0.0.1"
PAGE = "report.html"
MakePage = Callable[[Path], bytes]


@dataclass(frozen=True, slots=True)
class Pages:
    """What can be shown: pages of series and ladders under ``root``, and the list of them.

    ``make`` builds the page of a scored series that has none, or one older than its scores or of
    another version, whose script would not be let run.
    """

    root: Path
    make: MakePage

    def get(self, path: str) -> bytes | None:
        """The page at an address, None where there is none; FolderError for a broken series."""
        found = folders(self.root)
        if path in ("/", "/index.html"):
            if found == [self.root]:
                return self._page(self.root)
            return render_index(lines(self.root, found), visible(self.root.name)).encode()
        known = {f"/{unquote(address(self.root, folder))}": folder for folder in found}
        folder = known.get(path)
        return None if folder is None else self._page(folder)

    def _page(self, folder: Path) -> bytes:
        page = folder / PAGE
        known = folder / LADDER_FILE if is_ladder(folder) else folder / "scores.json"
        if page.is_file() and known.is_file() and _written(known) <= _written(page):
            found = page.read_bytes()
            if is_current(found):
                return found
        return self.make(folder)


def _written(path: Path) -> int:
    return path.stat().st_mtime_ns


class Server(ThreadingHTTPServer):
    """The server, bound to loopback; ``serve_forever`` shows the pages until ``shutdown``."""

    daemon_threads = True

    def __init__(self, root: Path, make: MakePage, port: int = 0) -> None:
        """UsageError where the folder does not exist or the port is taken."""
        if not root.is_dir():
            raise UsageError(f"{root} is no folder: name a series, or the folder of several")
        self.pages = Pages(root.resolve(), make)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UsageError(f"port {port}: {error.strerror}; choose another --port") from error

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://{HOST}:{self.server_address[1]}"

    @property
    def names(self) -> frozenset[str]:
        """Host headers that are answered."""
        port = self.server_address[1]
        return frozenset({f"{HOST}:{port}", f"localhost:{port}"})


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "evalstab"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        if self.headers.get("host", "").lower() not in self.server.names:
            self._answer(HTTPStatus.FORBIDDEN, b"another host name", "text/plain")
            return
        path = unquote(urlsplit(self.path).path)
        try:
            page = self.server.pages.get(path)
        except (EvalstabError, OSError) as error:
            said = visible(error).encode(errors="replace")
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, said, "text/plain")
            return
        if page is None:
            self._answer(HTTPStatus.NOT_FOUND, b"no such page", "text/plain")
        else:
            self._answer(HTTPStatus.OK, page, "text/html")

    do_HEAD = do_GET

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in (
            ("content-type", f"{kind}; charset=utf-8"),
            ("content-length", str(len(body))),
            ("content-security-policy", f"{policy()}; frame-ancestors 'none'"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: stdout carries the address only."""
