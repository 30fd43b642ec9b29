"""Stores of OpenCode for tests: the samples, and the first database written as a second one."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

Json = dict[str, Any]
FIXTURES = Path(__file__).parents[2] / "fixtures" / "stores"
SECOND = """
CREATE TABLE session_v2(id text PRIMARY KEY, project_id text, directory text, title text,
 version text, time_created integer, time_updated integer);
CREATE TABLE session_message(id text PRIMARY KEY, session_id text, type text, seq integer,
 time_created integer, time_updated integer, data text);
"""


def samples(folder: Path) -> Path:
    """``v1/opencode.db``, ``v2/opencode.db`` and ``json/storage`` below a folder."""
    script = FIXTURES / "make_opencode_samples.py"
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


def as_second(first: Path) -> None:
    """Add to a first database the tables of the second, with the same sessions in them."""
    with closing(sqlite3.connect(first)) as db:
        db.executescript(SECOND)
        db.execute(
            "insert into session_v2 select id, project_id, directory, title, version, "
            "time_created, time_updated from session"
        )
        messages = db.execute(
            "select id, session_id, time_created, data from message order by time_created, id"
        ).fetchall()
        for seq, (id_, session, created, data) in enumerate(messages):
            query = "select data from part where message_id = ? order by time_created, id"
            parts = [json.loads(row[0]) for row in db.execute(query, (id_,))]
            for kind, value in _rows(json.loads(data), parts):
                row = (f"{id_}-{kind}", session, kind, seq * 2, created, created, json.dumps(value))
                db.execute("insert into session_message values(?,?,?,?,?,?,?)", row)
        db.commit()


def _rows(data: Json, parts: list[Json]) -> list[tuple[str, Json]]:
    if data["role"] == "user":
        if any(part["type"] == "compaction" for part in parts):
            overflow = any(part.get("overflow") for part in parts)
            value = {"time": data["time"], "reason": "auto", "overflow": overflow, "summary": ""}
            return [("compaction", value)]
        text = "\n".join(part["text"] for part in parts)
        return [("user", {"time": data["time"], "text": text, "files": []})]
    content = [_content(part) for part in parts if part["type"] in ("reasoning", "text", "tool")]
    kept = {k: data[k] for k in ("time", "finish", "tokens", "error", "summary") if k in data}
    model = {"id": data["modelID"], "providerID": data["providerID"]}
    return [("assistant", kept | {"model": model, "content": content})]


def _content(part: Json) -> Json:
    if part["type"] != "tool":
        return part
    state = dict(part["state"])
    when = state.pop("time")
    if "output" in state:
        state["content"] = [{"type": "text", "text": state.pop("output")}]
    if "error" in state:
        state["error"] = {"message": state["error"]}
    return {
        "type": "tool",
        "id": part["callID"],
        "name": "shell" if part["tool"] == "bash" else part["tool"],
        "state": state,
        "time": {"created": when["start"], "completed": when.get("end")},
    }
