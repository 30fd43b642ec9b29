"""All twelve scenarios are the same trials in every generation of OpenCode's store."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from evalstab.errors import InputError
from evalstab.intake.opencode import sessions
from evalstab.intake.opencode_stores import _opened
from evalstab.intake.session import Session
from evalstab.trial.record import Record
from tests.intake.opencode_making import as_second, samples

EXPECTED = {
    "ok": ("completed", []),
    "tool_error": ("completed", []),
    "bad_args": ("completed", ["tool.truncated"]),
    "unknown_tool": ("completed", ["tool.unknown_name"]),
    "length": ("failed", ["text.truncated"]),
    "endpoint_dropped": ("failed", ["stream.dropped"] * 3),
    "endpoint_500": ("aborted", []),
    "api_error": ("invalid", ["server.dead"]),
    "killed": ("aborted", []),
    "aborted": ("aborted", []),
    "overflow_compacted": ("completed", ["context.overflow"]),
    "launch": ("completed", []),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples(tmp_path_factory.mktemp("stores"))


def _by_id(path: Path) -> dict[str, Session]:
    return {session.id: session for session in sessions(path)}


def _codes(session: Session) -> list[str]:
    return [f.code for step in session.steps for a in step.attempts for f in a.findings]


def test_every_scenario_is_what_happened(stores: Path) -> None:
    found = _by_id(stores / "v1" / "opencode.db")
    told = {s.id.removeprefix("ses_"): (s.ended.outcome, _codes(s)) for s in found.values()}
    assert told == EXPECTED


def test_three_generations_give_the_same_trials(stores: Path, tmp_path: Path) -> None:
    first = _by_id(stores / "v1")
    tree = _by_id(stores / "json")
    samples(tmp_path)
    as_second(tmp_path / "v1" / "opencode.db")
    second = _by_id(tmp_path / "v1" / "opencode.db")
    assert len(first) == 12
    for other in (tree, second):
        assert other.keys() == first.keys()
        for id_, session in first.items():
            assert other[id_].steps == session.steps, id_
            assert other[id_].ended == session.ended, id_
            assert other[id_].started == session.started, id_
            assert other[id_].compactions == session.compactions, id_


def test_of_a_database_exactly_one_generation_is_read(stores: Path) -> None:
    second = _by_id(stores / "v2")
    assert list(second) == ["ses_ok"]
    assert second["ses_ok"].version == "2.0.12"
    (before, after) = (_by_id(stores / "v1")["ses_ok"], second["ses_ok"])
    for one, other in zip(before.steps, after.steps, strict=True):
        assert one.reply is not None
        assert other.reply is not None
        assert (one.reply.content, one.reply.usage) == (other.reply.content, other.reply.usage)
    assert after.steps[0].results[0].error is not None
    assert before.steps[0].results[0].error is None
    assert after.compactions == (2,)


def test_tokens_are_normalised_and_times_kept(stores: Path) -> None:
    session = _by_id(stores / "v1")["ses_ok"]
    usage = session.steps[0].reply.usage if session.steps[0].reply else None
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (1234, 56)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (1000, 20)
    assert session.steps[0].seconds == pytest.approx(0.8)
    assert session.steps[0].attempts[0].clock is None
    assert "times" in session.started.unknown


def test_a_compaction_is_seen_and_no_truncation(stores: Path) -> None:
    session = _by_id(stores / "v1")["ses_overflow_compacted"]
    assert session.compactions == (2, 3)
    assert session.started.variation == {"compacted_before": [2, 3]}
    assert "context.silent_truncation" not in _codes(session)


def test_cut_streams_in_a_row_are_warned_of(stores: Path) -> None:
    assert "asks again at once" in _by_id(stores / "v1")["ses_endpoint_dropped"].ended.reason


def test_credentials_are_never_read_and_tokens_never_written(stores: Path, tmp_path: Path) -> None:
    database = stores / "v1" / "opencode.db"
    db = _opened(database)
    with pytest.raises(sqlite3.DatabaseError, match="prohibited"):
        db.execute("select * from credential")
    db.close()
    for number, session in enumerate(sessions(database), 1):
        record = Record(tmp_path / str(number) / "events.jsonl")
        session.write(record, "series", number)
        record.close()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*.jsonl"))
    assert b"docker run" in written
    assert b"DO-NOT-COPY" not in written
    assert b"hf_EXAMPLE" not in written


def test_a_store_is_left_as_it_was(stores: Path) -> None:
    def state() -> dict[str, str]:
        files = (p for p in stores.rglob("*") if p.is_file() and not p.name.endswith("-shm"))
        return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    before = state()
    for place in ("v1", "v2", "json"):
        list(sessions(stores / place))
    assert state() == before


def test_what_is_no_store_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no store of OpenCode"):
        list(sessions(tmp_path))
    (tmp_path / "opencode.db").write_bytes(b"no database at all, but long enough to be read" * 20)
    with pytest.raises(InputError, match="cannot be read"):
        list(sessions(tmp_path))
