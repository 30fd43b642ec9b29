"""One notification on a change of state, over real sockets: retries, redirects, no secret."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evalstab.chat import Json
from evalstab.nightly.night import FOLDER, Item, Night, Result, Status
from evalstab.nightly.notify import notify
from evalstab.nightly.summary import summary_page

SECRET = "T0000/B0000/s3cr3t-hook-4711"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def hook(answers: Sequence[int], elsewhere: str = "") -> Iterator[tuple[str, list[Any]]]:
    """A webhook that gives these answers in turn, the last for ever; what reached it."""
    left, taken = list(answers), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            taken.append(json.loads(body)["text"])
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            if elsewhere:
                self.send_header("location", elsewhere)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            taken.append("a GET, which holds no message")
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/{SECRET}", taken
    finally:
        server.shutdown()
        server.server_close()


def item(verdict: str | None, status: Status = "done", *, judged: int = 5, **more: Any) -> Item:
    """One series of a night; no result without a verdict."""
    drift: dict[str, Json | None] = more.pop("drift", {})
    result = Result(
        folder="reports/x", id="x", context=None, verdict=verdict or "none", reason="because",
        judged=judged, planned=5, drift=drift, reading="",
        provisional=more.pop("provisional", False),
    )  # fmt: skip
    entry = {"task": "three-notes", "endpoint": "rig"}
    results = (result,) if verdict else ()
    return Item(
        entry=entry, name="notes on rig", folder="x", status=status, results=results, **more
    )


def told(one: Item, url: str | None) -> list[str]:
    """What was complained about when a night with this series was notified of."""
    complaints: list[str] = []
    night = Night(id="n", started="2026-11-30T02:17:00+00:00", digest="d", budget=1, items=(one,))
    notify(night, url, complaints.append)
    return complaints


def test_it_is_tried_again_and_not_repeated_while_the_state_stays() -> None:
    with hook([500, 503, 200]) as (url, taken):
        assert told(item("pass"), url) == []
        assert len(taken) == 3
        assert taken[-1].splitlines()[1] == "notes on rig: pass"
        assert told(item("pass"), url) == []
        assert len(taken) == 3
        assert told(item("fail"), url) == []
        assert taken[3].splitlines()[1] == "notes on rig: pass → fail"


def test_numbers_that_differ_every_night_are_no_change() -> None:
    with hook([200]) as (url, taken):
        for degrees in (91, 92):
            problem = f"the hardware is not fit: GPU 3 at {degrees} °C"
            assert told(item(None, "stopped", exit_code=4, problem=problem), url) == []
        assert taken[0].endswith("notes on rig: stopped (the hardware is not fit: GPU 3 at 91 °C)")
        for judged in (2, 3):
            assert told(item("invalid", "stopped", judged=judged), url) == []
        assert len(taken) == 2


def test_worse_than_last_night_is_told_once_and_its_end_is_no_recovery() -> None:
    overnight: dict[str, Json | None] = {"baseline": None, "last night": {"worse": True}}
    creeping: dict[str, Json | None] = {"baseline": {"worse": True}, "last night": None}
    with hook([200]) as (url, taken):
        for one in (item("pass"), item("pass", drift=overnight), item("pass")):
            told(one, url)
        assert [text.splitlines()[1] for text in taken] == [
            "notes on rig: pass",
            "notes on rig: pass → pass, worse than last night",
        ]
        for one in (item("pass", drift=creeping), item("pass", drift=creeping), item("pass")):
            told(one, url)
        assert [text.splitlines()[1] for text in taken[2:]] == [
            "notes on rig: pass → pass, worse than the baseline",
            "notes on rig: pass, worse than the baseline → pass",
        ]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_taken_for_a_delivery(code: int) -> None:
    with hook([200]) as (other, reached), hook([code], elsewhere=other) as (url, taken):
        (complaint,) = told(item("pass"), url)
        assert complaint.startswith(
            f"the notification was not delivered: HTTP {code}: it redirects"
        )
        assert (len(taken), reached) == (1, [])
        assert SECRET not in complaint
        assert not (FOLDER / "state.json").exists()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (f"http://127.0.0.1:1/a b/{SECRET}", "no URL"),
        (f"http://user:{SECRET}@127.0.0.1:x/", "no URL"),
        (f"http://127.0.0.1:{SECRET}/", "no URL"),
        (f"http://[::1/{SECRET}", "no URL"),
        (f"ftp://127.0.0.1/{SECRET}", "does not begin with http"),
        (SECRET, "does not begin with http"),
    ],
)
def test_a_wrong_address_is_said_without_it(url: str, why: str) -> None:
    (complaint,) = told(item("pass"), url)
    assert why in complaint
    assert "s3cr3t" not in complaint
    assert all("s3cr3t" not in path.read_text() for path in Path().rglob("*.json"))


def test_a_line_break_at_the_end_of_a_secret_does_no_harm() -> None:
    with hook([200]) as (url, taken):
        assert told(item("pass"), f"{url}\n") == []
        assert len(taken) == 1


def test_an_answer_that_is_no_http_ends_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def answer() -> None:
            while not stop.is_set():
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(65_536)
                    client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        (complaint,) = told(item("pass"), f"http://127.0.0.1:{server.getsockname()[1]}/{SECRET}")
        stop.set()
        server.shutdown(socket.SHUT_RDWR)
    assert complaint == "the notification was not delivered: what answered does not speak HTTP"


@pytest.mark.nightly
def test_an_answer_that_does_not_come_is_waited_for_a_minute_at_most() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        (complaint,) = told(item("pass"), f"http://127.0.0.1:{silent.getsockname()[1]}/{SECRET}")
    assert "timed out" in complaint or "no answer in 60 seconds" in complaint
    assert SECRET not in complaint


def test_without_an_address_the_state_is_kept_all_the_same() -> None:
    assert told(item("pass"), None) == []
    with hook([200]) as (url, taken):
        assert told(item("pass"), url) == []
        assert taken == []


def test_a_provisional_pass_is_told_as_one() -> None:
    one = item("pass", judged=5, provisional=True)
    night = Night(id="n", started="2026-11-30T02:17:00+00:00", digest="d", budget=1, items=(one,))
    assert "| pass (provisional, 5 trials) |" in summary_page(night)
    with hook([200]) as (url, taken):
        assert told(one, url) == []
        assert taken[0].splitlines()[1] == "notes on rig: pass (provisional)"
