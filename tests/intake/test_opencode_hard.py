"""Stores of OpenCode that are large, in use, or lie where nothing can be written."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from evalstab.errors import InputError
from evalstab.intake.opencode import sessions
from evalstab.intake.opencode_stores import TABLES, _first, _opened, _second
from tests.intake.opencode_making import as_second, samples

WRITER = """
import json, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("pragma journal_mode=wal")
print("ready", flush=True)
for n in range(100000):
    db.execute("begin immediate")
    db.execute("insert into message values(?,?,?,?,?)", (f"zzz_{n}", "ses_ok", n, n,
        json.dumps({"role": "assistant", "finish": "stop", "time": {"created": n}})))
    db.execute("insert into part values(?,?,?,?,?,?)", (f"zzz_{n}", f"zzz_{n}", "ses_ok", n, n,
        json.dumps({"type": "text", "text": "written meanwhile"})))
    db.execute("commit")
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return samples(tmp_path) / "v1" / "opencode.db"


def test_a_database_that_is_written_to_meanwhile_is_read_as_it_stood(database: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, database], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(0.2)
        for _ in range(3):
            found = {session.id: session for session in sessions(database)}
            assert len(found) == 12
            said = [step.reply.content for step in found["ses_ok"].steps if step.reply]
            # Each message was written with its part in one go: none may be seen without it.
            assert None not in said[:-2]
        writer.kill()


def test_a_database_that_another_keeps_for_itself_says_so(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("pragma journal_mode=delete")
        other.execute("pragma locking_mode=exclusive")
        other.execute("begin exclusive")
        other.execute("update session set title = title")
        (database.parent / "opencode.db-wal").write_bytes(b"not empty")
        with pytest.raises(InputError, match="close that, and read again"):
            list(sessions(database))


def test_nothing_is_written_where_nothing_may_be(database: Path) -> None:
    before = {path.name: path.read_bytes() for path in database.parent.iterdir()}
    for path in database.parent.iterdir():
        path.chmod(0o400)
    database.parent.chmod(0o500)
    try:
        assert len(list(sessions(database))) == 12
    finally:
        database.parent.chmod(0o700)
    after = {path.name: path.read_bytes() for path in database.parent.iterdir()}
    assert {n: d for n, d in after.items() if not n.endswith("-shm")} == before
    (database.parent / "opencode.db-wal").write_bytes(b"")
    assert len(list(sessions(database))) == 12


@pytest.mark.parametrize("second", [False, True])
def test_every_row_is_read_once_and_no_other_table(second: bool, database: Path) -> None:
    if second:
        as_second(database)
    rows = 0
    with closing(sqlite3.connect(database)) as db:
        for table in ("session_message",) if second else ("message", "part"):
            rows += db.execute(f"select count(*) from {table}").fetchone()[0]
    seen: list[str] = []
    with closing(_opened(database)) as db:
        db.set_trace_callback(seen.append)
        list((_second if second else _first)(db))
    contents = [query for query in seen if "where id = '" in query and "select data" in query]
    contents += [query for query in seen if "select type, data" in query]
    assert len(contents) == len(set(contents)) == rows
    assert not any(word in query for query in seen for word in ("credential", "account"))
    assert "credential" not in TABLES


def test_the_planted_credential_is_refused_by_sqlite_itself(database: Path) -> None:
    with closing(_opened(database)) as db:
        for query in (
            "select * from credential",
            "select (select value from credential) from session",
            "attach 'x.db' as x",
            "insert into session(id) values('x')",
            "pragma writable_schema=1",
        ):
            with pytest.raises(sqlite3.DatabaseError, match=r"prohibited|not authorized"):
                db.execute(query)


def test_an_empty_store_says_that_it_is_empty(tmp_path: Path) -> None:
    empty = tmp_path / "opencode.db"
    with closing(sqlite3.connect(empty)) as db:
        db.execute("create table other(id)")
    with pytest.raises(InputError, match="holds no sessions"):
        list(sessions(tmp_path))
    empty.write_bytes(b"")
    with pytest.raises(InputError, match="holds no sessions"):
        list(sessions(empty))


def test_many_sessions_take_one_walk(database: Path) -> None:
    """No row is looked at once for every session: the work grows with the rows alone."""
    with closing(sqlite3.connect(database)) as db:
        for number in range(300):
            session = f"ses_many_{number:03d}"
            db.execute("insert into session(id, time_created) values(?,?)", (session, number))
            data = json.dumps({"role": "assistant", "finish": "stop", "time": {"created": 1}})
            row = (f"many_{number:03d}", session, number, number, data)
            db.execute("insert into message values(?,?,?,?,?)", row)
        db.commit()
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with closing(_opened(database)) as db:
        db.set_progress_handler(count, 1000)
        assert len(list(_first(db))) == 312
    assert steps < 30, "a thousand instructions each; a walk for each session takes ten times more"
