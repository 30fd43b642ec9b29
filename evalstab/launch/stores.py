"""Shell commands that agents and people ran, out of the stores they left: found, never copied.

OpenCode (SQLite and the older JSON tree), Codex, Claude Code, shell history. Databases are opened
read-only and only the tables of sessions are read; tables of credentials never are.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

STARTS = re.compile(
    r"(?:docker|podman|nerdctl)\s+(?:container\s+)?run|(?:docker|podman)[ -]compose.{0,200}\bup\b|"
    r"vllm\s+serve|vllm\.entrypoints|sglang\.launch_server|sglang\s+serve|llama[-_]server"
)
FILE_LIMIT = 64 << 20
FILES = 2000
OUTPUT = 4000
COMMAND = 20_000
_HISTORY = (".bash_history", ".zsh_history", ".local/share/fish/fish_history")
_ZSH = re.compile(r"^: (\d{9,11}):\d+;(.*)$", re.DOTALL)
_FISH = re.compile(r"^- cmd: (.*)$")
_TEXTS = ("content", "newString", "new_string", "contents", "text")


@dataclass(frozen=True, slots=True)
class Ran:
    """A command somebody ran, or wrote into a file: where it stands, when, and what came of it.

    ``at`` is seconds since 1970, ``exit_code`` and ``at`` None where the store does not say.
    """

    command: str
    store: str
    place: str
    at: float | None = None
    exit_code: int | None = None
    output: str = ""
    written: bool = False


def commands(home: Path, env: Mapping[str, str]) -> Iterator[Ran]:
    """Every command in the stores of a home folder that may have started a server."""
    data = Path(env.get("XDG_DATA_HOME") or home / ".local/share") / "opencode"
    databases = [Path(env["OPENCODE_DB"])] if env.get("OPENCODE_DB") else []
    for database in [*databases, *sorted(data.glob("opencode*.db"))]:
        with contextlib.suppress(sqlite3.Error):
            yield from _opencode_database(database)
    yield from _opencode_tree(data / "storage" / "part")
    codex = Path(env.get("CODEX_HOME") or home / ".codex")
    for folder in ("sessions", "archived_sessions"):
        for path in _newest((codex / folder).rglob("*.jsonl")):
            yield from _codex(path)
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
    for path in _newest(claude.rglob("*.jsonl")):
        yield from _claude(path)
    for name in _HISTORY:
        yield from _history(home / name)


def _newest(paths: Iterable[Path]) -> list[Path]:
    known = []
    for path in paths:
        with contextlib.suppress(OSError):
            known.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(known, reverse=True)[:FILES]]


def _opencode_database(path: Path) -> Iterator[Ran]:
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        names = {row[0] for row in db.execute("select name from sqlite_master where type='table'")}
        if "session_message" in names:
            query = "select session_id, time_created, data from session_message"
            for session, at, text in db.execute(f"{query} where type = 'assistant'"):
                for item in _items(_json(text).get("content")):
                    yield from _opencode_part(item, f"OpenCode session {session}", at)
        if "part" in names:
            query = "select session_id, time_created, data from part"
            for session, at, text in db.execute(query):
                yield from _opencode_part(_json(text), f"OpenCode session {session}", at)


def _opencode_tree(folder: Path) -> Iterator[Ran]:
    for path in _newest(folder.glob("*/*.json")):
        part = _json(_bounded(path))
        yield from _opencode_part(part, f"OpenCode session {part.get('sessionID')}", None)


def _opencode_part(part: dict[str, Any], place: str, at: object) -> Iterator[Ran]:
    if part.get("type") != "tool":
        return
    state = _dict(part.get("state"))
    arguments = _dict(state.get("input"))
    started = _dict(state.get("time")).get("start") or _dict(part.get("time")).get("ran") or at
    when = started / 1000 if isinstance(started, int | float) else None
    metadata = _dict(state.get("metadata"))
    output = state.get("output")
    if output is None:
        output = "".join(str(item.get("text", "")) for item in _items(state.get("content")))
    yield from _kept(
        arguments,
        Ran("", "opencode", place, when, _whole(metadata.get("exit")), str(output)[:OUTPUT]),
    )


def _codex(path: Path) -> Iterator[Ran]:
    pending: dict[str, Ran] = {}
    for line in _lines(path):
        payload = _dict(line.get("payload"))
        item = _dict(payload.get("item"))
        when = _seconds(line.get("timestamp"))
        place = f"Codex session {path.stem}"
        if item.get("type") == "CommandExecution":
            words = item.get("command")
            text = str(words[-1]) if isinstance(words, list) and words else str(words)
            code, output = _whole(item.get("exit_code")), str(item.get("aggregated_output"))
            pending.pop(str(item.get("id")), None)
            yield from _kept(
                {"command": text}, Ran("", "codex", place, when, code, output[:OUTPUT])
            )
        elif payload.get("type") in ("function_call", "local_shell_call"):
            arguments = _json(str(payload.get("arguments") or "{}"))
            words = arguments.get("command") or arguments.get("cmd")
            text = str(words[-1]) if isinstance(words, list) and words else str(words or "")
            for ran in _kept({"command": text}, Ran("", "codex", place, when)):
                pending[str(payload.get("call_id"))] = ran
        elif payload.get("type") == "function_call_output":
            begun = pending.pop(str(payload.get("call_id")), None)
            if begun is not None:
                yield _with_output(begun, payload.get("output"))
    yield from pending.values()


def _with_output(begun: Ran, output: object) -> Ran:
    told = _json(str(output)) if isinstance(output, str) else {}
    code = _whole(_dict(told.get("metadata")).get("exit_code"))
    text = str(told.get("output") or output)[:OUTPUT]
    return Ran(begun.command, begun.store, begun.place, begun.at, code, text, begun.written)


def _claude(path: Path) -> Iterator[Ran]:
    pending: dict[str, list[Ran]] = {}
    for line in _lines(path):
        when = _seconds(line.get("timestamp"))
        for item in _items(_dict(line.get("message")).get("content")):
            if item.get("type") == "tool_use":
                made = Ran("", "claude", f"Claude Code session {line.get('sessionId')}", when)
                pending[str(item.get("id"))] = list(_kept(_dict(item.get("input")), made))
            elif item.get("type") == "tool_result":
                code = 1 if item.get("is_error") else 0
                text = str(item.get("content"))[:OUTPUT]
                for ran in pending.pop(str(item.get("tool_use_id")), ()):
                    yield Ran(ran.command, ran.store, ran.place, ran.at, code, text, ran.written)
    for rest in pending.values():
        yield from rest


def _history(path: Path) -> Iterator[Ran]:
    when: float | None = None
    text = _bounded(path).decode("utf-8", "replace").replace("\\\n", " ")
    for line in text.splitlines():
        command = line
        if line.startswith("#") and line[1:].isdecimal():
            when = float(line[1:11])
            continue
        if found := _ZSH.match(line):
            when, command = float(found[1]), found[2]
        elif found := _FISH.match(line):
            command = found[1]
        if STARTS.search(command):
            yield Ran(command[:COMMAND], "history", path.name, when)
        when = None


def _kept(arguments: Mapping[str, Any], made: Ran) -> Iterator[Ran]:
    """The command of a tool call, and start commands in a text that it wrote into a file."""
    command = arguments.get("command") or arguments.get("cmd")
    if isinstance(command, str) and STARTS.search(command):
        yield Ran(command[:COMMAND], made.store, made.place, made.at, made.exit_code, made.output)
    for key in _TEXTS:
        text = arguments.get(key)
        if isinstance(text, str) and STARTS.search(text[:COMMAND]):
            name = arguments.get("filePath") or arguments.get("file_path") or "a file"
            place = f"{made.place}, written into {name}"
            yield Ran(text[:COMMAND], made.store, place, made.at, made.exit_code, "", True)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in _bounded(path).splitlines():
        if value := _json(line):
            yield value


def _bounded(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(FILE_LIMIT)
    except OSError:
        return b""


def _json(text: str | bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(text: object) -> float | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def default_home() -> Path:
    """The home folder of whoever asks."""
    return Path(os.environ.get("HOME") or Path.home())
