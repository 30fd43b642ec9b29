"""The three generations of OpenCode's store, each read into the same raw sessions.

A tree of JSON files (before 1.2), a database with messages and parts (1.2 to 1.18), one with
session messages (2.0), which keeps the older tables frozen beside the new ones: of each database
exactly one generation is read. Databases are opened read-only and never copied; SQLite itself
refuses every table but those of sessions, so that credentials cannot be read by mistake.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.errors import InputError
from evalstab.intake.stored import dictionary

MOST_BYTES = 64 << 20
TABLES = frozenset({"session", "message", "part", "session_v2", "session_message", "sqlite_master"})
_READS = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION,
    }
)


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message with its parts, in order."""

    data: Json
    parts: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class RawSession:
    """A session's own row, and its messages in order; ``outcome`` as the store states it."""

    info: Json
    messages: tuple[RawMessage, ...]
    outcome: str | None = None


def raw_sessions(path: Path) -> Iterator[RawSession]:
    """All sessions of a store: a database, its folder, or the tree of the older versions.

    InputError where there is no store, or it cannot be read.
    """
    databases = [path] if path.is_file() else sorted(path.glob("opencode*.db"))
    if databases:
        for database in databases:
            yield from _database(database)
        return
    tree = next((p for p in (path, path / "storage") if (p / "session").is_dir()), None)
    if tree is None:
        raise InputError(
            f"{path} is no store of OpenCode: name opencode.db, or the folder that holds it "
            "(`opencode db path` tells it) or holds storage/"
        )
    yield from _tree(tree)


def _database(path: Path) -> Iterator[RawSession]:
    try:
        with closing(_opened(path)) as db:
            names = {row[0] for row in db.execute("select name from sqlite_master")}
            newer = "session_message" in names and _any(db, "session_message")
            if newer:
                yield from _second(db)
            elif {"session", "message", "part"} <= names:
                yield from _first(db)
            else:
                raise InputError(f"{path} holds no sessions of OpenCode")
    except sqlite3.Error as error:
        mend = "Its -wal and -shm files must be readable too"
        if "locked" in str(error):
            mend = "Another program keeps it for itself: close that, and read again"
        raise InputError(f"{path} cannot be read: {error}. {mend}") from error


def _opened(path: Path) -> sqlite3.Connection:
    """The database, read-only and as it stands now, whatever is written to it meanwhile.

    Without a log of changes it cannot be changing, and on a file system that only reads SQLite
    opens it in no other way.
    """
    address = path.resolve().as_uri()
    wal = path.with_name(path.name + "-wal")
    changes = wal.stat().st_size if wal.exists() else None
    modes = ["mode=ro"] if changes is not None else []
    modes += ["mode=ro&immutable=1"] if not changes else []
    for number, mode in enumerate(modes, 1):
        db = sqlite3.connect(f"{address}?{mode}", uri=True, isolation_level=None)
        db.set_authorizer(_allowed)
        try:
            db.execute("begin")
            db.execute("select 1 from sqlite_master limit 1").fetchone()
        except sqlite3.OperationalError as error:
            db.close()
            if number == len(modes) or "locked" in str(error):
                raise
        except sqlite3.Error:
            db.close()
            raise
        else:
            return db
    raise AssertionError("there is always a mode")


def _allowed(action: int, first: str | None, *_: str | None) -> int:
    if action in _READS or (action == sqlite3.SQLITE_READ and first in TABLES):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _any(db: sqlite3.Connection, table: str) -> bool:
    return db.execute(f"select 1 from {table} limit 1").fetchone() is not None


def _ids(db: sqlite3.Connection, table: str, key: str, order: str) -> dict[str, list[str]]:
    """The ids of a table's rows by a column, in order: one walk that leaves the contents alone.

    Tables need have no index for it; contents are then read once each, by id.
    """
    rows = db.execute(f"select {order}, id, {key} from {table}").fetchall()
    found: dict[str, list[str]] = {}
    for _, id_, of in sorted(rows, key=lambda row: (row[0] is None, row[0] or 0, str(row[1]))):
        found.setdefault(of, []).append(id_)
    return found


def _first(db: sqlite3.Connection) -> Iterator[RawSession]:
    """Messages and parts, by the time at which they were created, then by id."""
    messages = _ids(db, "message", "session_id", "time_created")
    parts = _ids(db, "part", "message_id", "time_created")

    def data(table: str, id_: str) -> Json:
        row = db.execute(f"select data from {table} where id = ?", (id_,)).fetchone()
        return _json(row[0] if row else None) | {"id": id_}

    for (session,) in db.execute("select id from session order by time_created, id").fetchall():
        made = (
            RawMessage(data("message", id_), tuple(data("part", p) for p in parts.get(id_, ())))
            for id_ in messages.get(session, ())
        )
        yield RawSession(_columns(db, "session", "id", session), tuple(made))


def _second(db: sqlite3.Connection) -> Iterator[RawSession]:
    rows = _ids(db, "session_message", "session_id", "seq")
    for (session,) in db.execute(
        "select session_id from session_message group by session_id order by min(time_created), 1"
    ).fetchall():
        info = _columns(db, "session_v2", "id", session) or {"id": session}
        query = "select type, data from session_message where id = ?"
        messages: list[RawMessage] = []
        outcome = None
        for id_ in rows[session]:
            kind, data = db.execute(query, (id_,)).fetchone()
            value = _json(data) | {"id": id_}
            if kind == "idle":
                outcome = value.get("outcome")
            elif (made := _newer(kind, value)) is not None:
                messages.append(made)
        yield RawSession(info, tuple(messages), outcome if isinstance(outcome, str) else None)


def _newer(kind: str, data: Json) -> RawMessage | None:
    """A row of the 2.0 store as a message with parts."""
    if kind in ("user", "synthetic"):
        part = {"type": "text", "text": data.get("text"), "synthetic": kind == "synthetic"}
        return RawMessage({**data, "role": "user"}, (part,) if data.get("text") else ())
    if kind == "compaction":
        return RawMessage(
            {**data, "role": "user"}, ({"type": "compaction", "overflow": data.get("overflow")},)
        )
    if kind != "assistant":
        return None
    model = dictionary(data.get("model")).get("id")
    parts = tuple(_newer_part(p) for p in data.get("content") or () if isinstance(p, dict))
    return RawMessage({**data, "role": "assistant", "modelID": model}, parts)


def _newer_part(part: Json) -> Json:
    """A piece of content of the 2.0 store as a part of the older one."""
    if part.get("type") != "tool":
        return part
    state, when = dictionary(part.get("state")), dictionary(part.get("time"))
    content = state.get("content")
    pieces = content if isinstance(content, list) else []
    output = [p.get("text") for p in pieces if isinstance(p, dict) and p.get("type") == "text"]
    error = state.get("error")
    made = state | {
        "output": "".join(t for t in output if isinstance(t, str)),
        "error": error.get("message") if isinstance(error, dict) else error,
        "time": {"start": when.get("ran") or when.get("created"), "end": when.get("completed")},
    }
    name = "bash" if part.get("name") == "shell" else part.get("name")
    return {"type": "tool", "tool": name, "callID": part.get("id"), "state": made}


def _tree(root: Path) -> Iterator[RawSession]:
    """The JSON files of the older versions; ids that are no names of files are not followed."""
    infos = [_file(path) for path in sorted((root / "session").glob("*/*.json"))]
    for info in sorted(infos, key=lambda i: (_created(i), str(i.get("id")))):
        folder = root / "message" / Path(str(info.get("id"))).name
        messages = []
        # Names of files are ids, which sort by time; a message's own time may be an earlier one's.
        for place in sorted(folder.glob("*.json")):
            data = _file(place)
            files = sorted((root / "part" / place.stem).glob("*.json"))
            messages.append(RawMessage(data, tuple(_file(path) for path in files)))
        yield RawSession(info, tuple(messages))


def _columns(db: sqlite3.Connection, table: str, key: str, value: str) -> Json:
    cursor = db.execute(f"select * from {table} where {key} = ?", (value,))
    row = cursor.fetchone()
    names = [column[0] for column in cursor.description]
    return dict(zip(names, row, strict=True)) if row else {}


def _created(data: Json) -> int:
    created = dictionary(data.get("time")).get("created")
    return created if isinstance(created, int) else 0


def _file(path: Path) -> Json:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
            return {}
        return _json(path.read_bytes())
    except OSError:
        return {}


def _json(data: Any) -> Json:
    try:
        return dictionary(msgspec.json.decode(data))
    except (msgspec.MsgspecError, RecursionError, UnicodeError, TypeError):
        return {}
