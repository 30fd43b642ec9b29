"""The server of pages: loopback only, what was found and nothing else, and the page as it is."""

from __future__ import annotations

import http.client
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalstab.errors import UsageError
from evalstab.report.write import PAGE_FILE
from evalstab.view import Server
from evalstab.workflow.reporting import page_of
from tests.cli.program import environment
from tests.report.page_cases import PAYLOADS, hostile_series, write_scores
from tests.report.report_cases import FIVE_RUN


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A folder with a scored series, one that was not scored, and things that are none."""
    root = tmp_path / "reports"
    shutil.copytree(FIVE_RUN, root / "good one")
    (root / "fresh").mkdir()
    shutil.copyfile(FIVE_RUN / "series.json", root / "fresh" / "series.json")
    (root / "broken").mkdir()
    (root / "broken" / "series.json").write_text("{<script>")
    (root / "notes.txt").write_text("private")
    (tmp_path / "outside.html").write_text("outside")
    (root / "link").symlink_to(tmp_path)
    return root


@pytest.fixture
def server(reports: Path) -> Iterator[Server]:
    with Server(reports, page_of) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(
    server: Server, path: str, method: str = "GET", host: str | None = None
) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("host", host or f"127.0.0.1:{server.server_address[1]}")
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def test_the_index_lists_every_series(server: Server) -> None:
    answer, body = ask(server, "/")
    assert answer.status == 200
    assert 'href="good%20one/report.html"' in body
    assert "not scored yet" in body
    assert "cannot be read" in body
    assert "<script>}" not in body
    assert "private" not in body


def test_a_page_is_made_where_there_is_none(server: Server, reports: Path) -> None:
    answer, body = ask(server, "/good%20one/report.html")
    assert answer.status == 200
    assert "<h1>eleven-profiles on minimax-awq, 5 trials</h1>" in body
    assert not (reports / "good one" / PAGE_FILE).exists()
    (reports / "good one" / PAGE_FILE).write_text(body.replace("eleven-profiles", "as it is"))
    assert "<h1>as it is" in ask(server, "/good%20one/report.html")[1]


def test_a_page_of_another_version_is_made_anew(server: Server, reports: Path) -> None:
    (reports / "good one" / PAGE_FILE).write_text("<script>old()</script>")
    assert "<h1>eleven-profiles" in ask(server, "/good%20one/report.html")[1]


@pytest.mark.parametrize(
    "path",
    [
        "/../outside.html", "/..%2foutside.html", "/good%20one/../../outside.html", "/notes.txt",
        "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/etc/passwd", "/link/outside.html",
        "/good%20one/scores.json", "/good%20one/trials/003/events.jsonl", "/good%20one",
        "/good%20one/report.html%00", "/fresh/../good%20one/report.html", "/favicon.ico",
    ],
)  # fmt: skip
def test_nothing_else_is_served(server: Server, path: str) -> None:
    answer, body = ask(server, path)
    assert answer.status == 404
    assert body == "no such page"


def test_an_unscored_series_says_what_to_do(server: Server) -> None:
    answer, body = ask(server, "/fresh/report.html")
    assert answer.status == 500
    assert "evalstab score" in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1"])
def test_other_host_names_are_refused(server: Server, host: str) -> None:
    answer, body = ask(server, "/", host=host)
    assert answer.status == 403
    assert "eleven" not in body


def test_only_reading_is_offered(server: Server) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(server, "/", method)[0].status == 501
    answer, body = ask(server, "/", "HEAD")
    assert answer.status == 200
    assert body == ""


def test_headers_say_what_a_page_may_do(server: Server) -> None:
    for path in ("/", "/good%20one/report.html", "/nothing"):
        headers = ask(server, path)[0].headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "Python" not in headers["server"]


def test_it_listens_on_loopback_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.url.startswith("http://127.0.0.1:")


def test_hostile_series_in_the_index(tmp_path: Path) -> None:
    folder, scores = hostile_series(tmp_path / "reports" / "<img src=x onerror=alert(1)>")
    write_scores(folder, scores)
    with Server(tmp_path / "reports", page_of) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        body = ask(running, "/")[1]
        running.shutdown()
        thread.join()
    assert "<img" not in body
    assert PAYLOADS["svg"] not in body


def test_a_folder_that_is_none_and_a_port_that_is_taken(server: Server, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        Server(tmp_path / "nothing", page_of)
    with pytest.raises(UsageError, match="choose another --port"):
        Server(tmp_path, page_of, server.server_address[1])


def test_the_command_says_where_it_is(reports: Path) -> None:
    command = [sys.executable, "-m", "evalstab", "view", str(reports / "good one")]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        line = program.stdout.readline()
        assert line.startswith("ready http://127.0.0.1:")
        connection = http.client.HTTPConnection(line.split("//")[1].strip(), timeout=60)
        connection.request("GET", "/")
        assert "eleven-profiles on minimax-awq" in connection.getresponse().read().decode()
        connection.close()
        program.send_signal(signal.SIGINT)
        assert program.wait(30) == 130
