"""Folders that somebody else packed, and requests that no browser sends."""

from __future__ import annotations

import copy
import http.client
import json
import os
import random
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zstandard

from evalstab.report.html import is_current, policy
from evalstab.report.index import folders, lines
from evalstab.view import Server
from evalstab.workflow.reporting import page_of
from tests.report.ladder_cases import STEADY, TORN, ladder_of
from tests.report.page_cases import PAYLOADS
from tests.report.report_cases import FIVE_RUN


@contextmanager
def serving(root: Path) -> Iterator[Server]:
    with Server(root, page_of) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server: Server, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def raw(server: Server, request: bytes) -> bytes:
    """What comes back for these very bytes."""
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=30) as open_:
        open_.sendall(request)
        open_.shutdown(socket.SHUT_WR)
        parts = []
        while part := open_.recv(65536):
            parts.append(part)
    return b"".join(parts)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    shutil.copytree(FIVE_RUN, tmp_path / "reports" / "good")
    shutil.copytree(FIVE_RUN, tmp_path / "reports" / "bad")
    return tmp_path / "reports"


def _told_and_alive(reports: Path, path: str = "/bad/report.html") -> str:
    """The index and the page of ``bad`` are answered, and the good series is still shown."""
    with serving(reports) as server:
        status, index = ask(server, "/")
        assert status == 200
        assert "good/report.html" in index
        status, body = ask(server, path)
        assert status in (200, 404, 500)
        assert "Traceback" not in body
        assert ask(server, "/good/report.html")[0] == 200
    return index + body


WRONG: tuple[Any, ...] = (None, True, -1, 1e308, "x", "<script>", [], [[1]], {}, {"a": [None]})


def test_scores_of_any_shape_are_told_and_never_end_the_server(reports: Path) -> None:
    """Every value of a real scores.json replaced by one of another kind, in turn."""
    scores = json.loads((FIVE_RUN / "scores.json").read_text())
    scores["trials"] = scores["trials"][:2]
    places = list(_places(scores))
    draw = random.Random(20261130)
    with serving(reports) as server:
        for way in draw.sample(places, 20):
            changed = copy.deepcopy(scores)
            _put(changed, way, draw.choice(WRONG))
            (reports / "bad" / "scores.json").write_text(json.dumps(changed))
            status, body = ask(server, "/bad/report.html")
            assert status in (200, 500), way
            assert status == 200 or "evalstab score" in body, way
            assert ask(server, "/")[0] == 200, way


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if way:
        yield way
    inner: Any = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else inner:
        yield from _places(one, (*way, key))


def _put(value: Any, way: tuple[Any, ...], new: Any) -> None:
    for key in way[:-1]:
        value = value[key]
    value[way[-1]] = new


@pytest.mark.parametrize("name", ["scores.json", "series.json"])
@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "null", "{", "\x00", '{"trials": 3}', "[" * 100_000,
        '{"series": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"a": "\\ud800"}',
        '{"schema_version": 99999999999999999999999}', '{"schema_version": 2}',
    ],
    ids=range(11),
)  # fmt: skip
def test_files_that_are_none_are_told(reports: Path, name: str, text: str) -> None:
    (reports / "bad" / name).write_text(text)
    told = _told_and_alive(reports)
    assert any(words in told for words in ("cannot be read", "newer evalstab", "recursion depth"))


def test_a_promise_of_a_million_million_trials_is_refused(reports: Path) -> None:
    scores = json.loads((FIVE_RUN / "scores.json").read_text())
    scores["series"]["repeats_planned"] = 10**12
    (reports / "bad" / "scores.json").write_text(json.dumps(scores))
    assert "repeats_planned" in _told_and_alive(reports)


@pytest.mark.nightly
def test_fifty_megabytes_are_looked_at(reports: Path) -> None:
    scores = json.loads((FIVE_RUN / "scores.json").read_text())
    scores["findings"] = [{"code": "text.loop", "detail": {"text": "x" * 1000}}] * 50_000
    (reports / "bad" / "scores.json").write_text(json.dumps(scores))
    assert (reports / "bad" / "scores.json").stat().st_size > 50_000_000
    assert "bad/report.html" in _told_and_alive(reports)


def test_what_is_larger_than_any_series_is_not_read(reports: Path) -> None:
    with (reports / "bad" / "scores.json").open("wb") as file:
        file.truncate(300_000_000)
    assert "larger than 256 MB" in _told_and_alive(reports)


TRIAL = "trials/003"


@pytest.mark.parametrize(
    "name",
    ["scores.json", "series.json", "launch.json", "report.html", TRIAL, f"{TRIAL}/events.jsonl"],
)
def test_links_that_leave_the_folder_are_not_followed(
    reports: Path, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "private" / Path(name).name
    outside.parent.mkdir()
    inside = reports / "bad" / name
    if inside.exists():
        inside.rename(outside)
    else:
        outside.write_text('{"command": "private --key geheim"}')
    inside.symlink_to(outside)
    told = _told_and_alive(reports)
    assert "leads out of" in told
    assert "geheim" not in told
    inside.unlink()
    shutil.move(outside, reports / "kept")
    inside.symlink_to(reports / "kept")
    assert "leads out of" not in _told_and_alive(reports)


def test_pipes_are_not_read(reports: Path) -> None:
    (reports / "bad" / "scores.json").unlink()
    os.mkfifo(reports / "bad" / "scores.json")
    os.mkfifo(reports / "bad" / "launch.json")
    assert "is no file" in _told_and_alive(reports)


PLANTED = (
    "<script>alert(1)</script>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<iframe src=http://127.0.0.1:9/></iframe>",
    "<form action=http://127.0.0.1:9/><input name=key></form>",
    "<BASE href=http://127.0.0.1:9/>",
)


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_page_is_made_anew(reports: Path, planted: str) -> None:
    with serving(reports) as server:
        genuine = ask(server, "/bad/report.html")[1]
        page = reports / "bad" / "report.html"
        for text in (
            f"<!-- {policy()} -->{planted}",
            genuine.replace("<main", f"{planted}<main", 1) if "script" not in planted else planted,
        ):
            page.write_text(text, encoding="utf-8")
            os.utime(page, ns=(2**62, 2**62))
            assert not is_current(text.encode())
            assert ask(server, "/bad/report.html")[1] == genuine
        page.write_text(genuine, encoding="utf-8")
        assert is_current(genuine.encode())


def test_names_of_folders_are_text(tmp_path: Path) -> None:
    root = tmp_path / "reports"
    names = [
        payload.replace("/", "∕").replace("\x00", "")[:60].encode()
        for key, payload in PAYLOADS.items()
        if key != "marks"
    ]
    whole = page_of(FIVE_RUN)
    names += [b"caf\xe9\xff", b"a%2fb", b"a?b#c", b"a..%2f..", b"a b\nc", b"\\..\\x", b"a;b&c=d"]
    for name in names:
        shutil.copytree(FIVE_RUN, root / os.fsdecode(name))
        (root / os.fsdecode(name) / "report.html").write_bytes(whole)
    with serving(root) as server:
        status, index = ask(server, "/")
        assert status == 200
        assert "<script>alert" not in index
        links = [part.partition('"')[0] for part in index.split('href="')[1:]]
        pages = [link for link in links if link.endswith("report.html")]
        assert len(pages) == len(names)
        for link in pages:
            assert ask(server, f"/{link}")[0] == 200, link


def test_a_ladder_of_any_shape_is_told(reports: Path) -> None:
    file = ladder_of(reports / "up", [("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, TORN)])
    stored = json.loads((reports / "up" / "ladder.json").read_text())
    assert file.result is None
    for result in ({"rungs": 3}, {"rungs": [{"name": 4}], "control": []}, {"gate": "x"}, {}):
        (reports / "up" / "ladder.json").write_text(json.dumps(stored | {"result": result}))
        _told_and_alive(reports, "/up/report.html")
    for name in ("../../private", "..", ".x", "a/b"):
        rungs = [stored["rungs"][0] | {"name": name}]
        (reports / "up" / "ladder.json").write_text(json.dumps(stored | {"rungs": rungs}))
        assert "is no folder of a rung" in _told_and_alive(reports, "/up/report.html")


def test_a_comparison_is_served_where_it_is_ours(reports: Path) -> None:
    place = reports / "good" / "compare"
    place.mkdir()
    with serving(reports) as server:
        (place / "a b.html").write_text(ask(server, "/good/report.html")[1], encoding="utf-8")
        (place / "old.html").write_text("<script>alert(1)</script>")
        (place / "away.html").symlink_to(reports.parent / "outside.html")
        (reports.parent / "outside.html").write_text("private")
        (place / "a b.json").write_text("{}")
        index = ask(server, "/")[1]
    assert "leads out of" in index
    (place / "away.html").unlink()
    with serving(reports) as server:
        assert 'href="good/compare/a%20b.html"' in ask(server, "/")[1]
        assert ask(server, "/good/compare/a%20b.html")[0] == 200
        assert "another version" in ask(server, "/good/compare/old.html")[1]
        for path in ("a%20b.json", "away.html", "../scores.json", "..%2freport.html", ""):
            assert ask(server, f"/good/compare/{path}")[0] == 404, path


def _get(target: bytes, *headers: bytes) -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\n" + b"".join(h + b"\r\n" for h in headers) + b"\r\n"


@pytest.mark.parametrize(
    "target",
    [
        b"//[", b"http://[/", b"http://evil.example/", b"*", b"/%", b"/%zz", b"/%c0%ae%c0%ae/",
        b"/\xff\xfe", b"/good%2Freport.html%2F..", b"/./good/report.html", b"/good//report.html",
        b"/good\\report.html", b"/..;/x", b"/%252e%252e/", b"/" + b"a" * 50_000,
        b"/GOOD/report.html",
    ],
    ids=range(16),
)  # fmt: skip
def test_odd_addresses_are_answered(reports: Path, target: bytes) -> None:
    with serving(reports) as server:
        host = b"Host: 127.0.0.1:%d" % server.server_address[1]
        answer = raw(server, _get(target, host))
        assert answer.partition(b"\r\n")[0].split()[1] in (b"404", b"414")
        assert b"eleven" not in answer
        assert raw(server, _get(b"/%67ood%2freport.html?x=1#y", host)).startswith(b"HTTP/1.0 200")


@pytest.mark.parametrize(
    "hosts",
    [
        (), (b"evil.example",), (b"127.0.0.1:%d.evil.example",), (b"127.0.0.1:%d@evil.example",),
        (b"127.0.0.1:%d", b"evil.example"), (b"evil.example", b"127.0.0.1:%d"), (b"[::1]:%d",),
        (b"0.0.0.0:%d",), (b"localhost.:%d",),
    ],
    ids=range(9),
)  # fmt: skip
def test_a_name_that_was_bent_to_loopback_reads_nothing(
    reports: Path, hosts: tuple[bytes, ...]
) -> None:
    with serving(reports) as server:
        port = server.server_address[1]
        named = [b"Host: " + (h % port if b"%d" in h else h) for h in hosts]
        answer = raw(server, _get(b"/", *named))
        assert answer.startswith(b"HTTP/1.0 403")
        assert b"eleven" not in answer


def test_methods_and_ranges(reports: Path) -> None:
    with serving(reports) as server:
        whole = ask(server, "/good/report.html")
        assert ask(server, "/good/report.html", range="bytes=0-9") == whole
        assert ask(server, "/good/report.html", range="bytes=-1,0-,x")[0] == 200
        host = b"127.0.0.1:%d" % server.server_address[1]
        body = b"POST / HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: 9\r\n\r\n<script>x"
        for request in (
            body,
            b"<SCRIPT> / HTTP/1.1\r\n\r\n",
            b"GET /\r\n",
            b"\x16\x03\x01\x00",
            b"\r\n",
        ):
            answer = raw(server, request)
            assert b"eleven" not in answer
            assert b"<" not in answer.partition(b"\r\n\r\n")[2]
        refused = raw(server, body)
        assert refused.startswith(b"HTTP/1.0 501")
        assert b"default-src 'none'" in refused
        assert ask(server, "/")[0] == 200


def test_many_ask_at_once(reports: Path) -> None:
    with serving(reports) as server:
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.append(ask(server, "/good/report.html")[0]))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [200] * 8


def test_the_page_of_a_ladder_links_to_pages_that_are_served(reports: Path) -> None:
    ladder_of(reports / "up", [("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, TORN)])
    with serving(reports) as server:
        status, page = ask(server, "/up/report.html")
        assert status == 200
        links = {part.partition('"')[0] for part in page.split('href="')[1:]}
        for link in sorted(link for link in links if link.endswith("report.html")):
            assert ask(server, f"/up/{link}")[0] == 200


def test_rungs_stand_below_their_ladder(reports: Path) -> None:
    ladder_of(reports / "up", [("60k", 60_000, 1, STEADY), ("16k", 16_000, 1, TORN)])
    found = lines(reports, folders(reports))
    assert [(one["name"], one["rung"]) for one in found] == [
        ("up", False), ("up/16k", True), ("up/60k", True), ("bad", False), ("good", False),
    ]  # fmt: skip


def test_a_link_behind_a_link_is_found(reports: Path, tmp_path: Path) -> None:
    outside = tmp_path / "private.jsonl"
    shutil.move(reports / "bad" / "trials" / "003" / "events.jsonl", outside)
    hidden = reports / ".hidden"
    hidden.mkdir()
    (hidden / "events.jsonl").symlink_to(outside)
    shutil.rmtree(reports / "bad" / "trials" / "003")
    (reports / "bad" / "trials" / "003").symlink_to(hidden)
    assert "leads out of" in _told_and_alive(reports)


def test_a_ladder_that_is_viewed_comes_first(reports: Path) -> None:
    ladder_of(reports / "up", [("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, TORN)])
    with serving(reports / "up") as server:
        assert "<h2>Stability by rung</h2>" in ask(server, "/")[1]
        assert "<h1>Series in <bdi>up</bdi></h1>" in ask(server, "/index.html")[1]
        assert ask(server, "/16k/report.html")[0] == 200


def test_a_record_that_unpacks_without_end_is_not_read(reports: Path) -> None:
    record = reports / "bad" / "trials" / "003" / "events.jsonl"
    packed = record.with_name("events.jsonl.zst")
    with packed.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as writer:
        for _ in range(600):
            writer.write(bytes(1 << 20))
    assert packed.stat().st_size < 100_000
    record.unlink()
    assert "more than 512 MB" in _told_and_alive(reports)
    packed.write_bytes(b"(\xb5/\xfd no archive")
    assert "003" in _told_and_alive(reports)
