"""Shows reports in a browser: a small server of finished pages, on loopback and for reading only.

An address is looked up in a table of what was found under the folder; it is never made into a
path. Requests under another host name are refused, so that no page elsewhere can read through a
name of its own that points here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote_to_bytes

from evalstab.errors import EvalstabError, FolderError, UsageError
from evalstab.report import labels
from evalstab.report.html import is_current, policy, render_index
from evalstab.report.index import COMPARISONS, SCORES, address, comparisons, folders, lines
from evalstab.report.own import require_bounded, require_own
from evalstab.report.write import PAGE_FILE
from evalstab.series.ladder import LADDER_FILE, is_ladder

HOST = "127.0.0.1"
MakePage = Callable[[Path], bytes]


@dataclass(frozen=True, slots=True)
class Pages:
    """What can be shown: pages of series and ladders under ``root``, and the list of them.

    Where ``root`` is itself a series or a ladder, its page comes first.

    ``make`` builds the page of a scored series that has none, or one older than its scores or of
    another version, whose script would not be let run. ``root`` is resolved.
    """

    root: Path
    make: MakePage

    def get(self, path: bytes) -> bytes | None:
        """The page at an address, None where there is none.

        FolderError for a folder that is broken, or that holds what is not its own.
        """
        found = folders(self.root)
        if path in (b"/", b"/index.html"):
            if found == [self.root] or (path == b"/" and self.root in found):
                return self._page(self.root)
            return render_index(lines(self.root, found), labels.file_name(self.root.name)).encode()
        for folder in found:
            base = b"/" + unquote_to_bytes(address(self.root, folder)).removesuffix(_PAGE)
            if path == base + _PAGE:
                return self._page(folder)
            if path.startswith(base + _COMPARISONS):
                return self._comparison(folder, path[len(base + _COMPARISONS) :])
        return None

    def _page(self, folder: Path) -> bytes:
        require_own(folder, self.root)
        page = folder / PAGE_FILE
        known = folder / (LADDER_FILE if is_ladder(folder) else SCORES)
        if page.is_file() and known.is_file() and _written(known) <= _written(page):
            found = page.read_bytes()
            if is_current(found):
                return found
        require_bounded(folder)
        try:
            return self.make(folder)
        except _SHAPES as error:
            what = f"{type(error).__name__}: {labels.sentence(error)}"
            raise FolderError(
                f"{folder} holds other values than evalstab writes ({what}): evalstab score "
                "computes them anew"
            ) from error

    def _comparison(self, folder: Path, name: bytes) -> bytes | None:
        require_own(folder, self.root)
        page = next((p for p in comparisons(folder) if os.fsencode(p.name) == name), None)
        if page is None:
            return None
        found = page.read_bytes()
        if not is_current(found):
            raise FolderError(f"{page} was made by another version: run evalstab compare again")
        return found


_PAGE = PAGE_FILE.encode()
_COMPARISONS = f"{COMPARISONS}/".encode()
_SHAPES = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a file of another shape than ours brings about in its readers."""


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
    def names(self) -> tuple[list[str], ...]:
        """Host headers that are answered: one, and by a name that only loopback has."""
        port = self.server_address[1]
        return [f"{HOST}:{port}"], [f"localhost:{port}"]


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "evalstab"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        if [name.lower() for name in self.headers.get_all("host", [])] not in self.server.names:
            self._answer(HTTPStatus.FORBIDDEN, b"another host name", "text/plain")
            return
        target = self.path.encode("latin-1").partition(b"?")[0].partition(b"#")[0]
        try:
            page = self.server.pages.get(unquote_to_bytes(target))
        except (EvalstabError, OSError, RecursionError) as error:
            said = labels.visible(labels.file_name(str(error))).encode(errors="replace")
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, said, "text/plain")
            return
        if page is None:
            self._answer(HTTPStatus.NOT_FOUND, b"no such page", "text/plain")
        else:
            self._answer(HTTPStatus.OK, page, "text/html")

    do_HEAD = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what cannot be understood, or is not offered, like everything else: as text."""
        del message, explain  # they repeat what was asked
        status = HTTPStatus(code)
        self._answer(status, status.phrase.encode(), "text/plain")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status, status.phrase)
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
            try:
                self.wfile.write(body)
            except ConnectionError:
                self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: stdout carries the address only."""
