"""The record survives a kill at any byte: whole lines are kept, a torn one is dropped."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.chat import ToolCall, Usage
from evalstab.endpoint.base import Attempt, Clock, Reply, encoded_gaps
from evalstab.errors import FolderError
from evalstab.findings import finding
from evalstab.trial.record import (
    READ_BYTES,
    Event,
    Record,
    Step,
    ToolResult,
    TrialEnded,
    TrialResumed,
    TrialStarted,
    read_events,
)

HOSTILE = 'Zeile\u2028"\\ \x00 李明 \U0001f600 </script>'


def _events() -> list[Event]:
    call = ToolCall(id="c1", name="write_file", arguments='{"path":"a","content":"x"}')
    reply = Reply(
        reasoning=HOSTILE,
        content=HOSTILE,
        tool_calls=(call,),
        finish="tool_calls",
        usage=Usage(prompt_tokens=10, completion_tokens=5),
    )
    attempt = Attempt(
        number=1,
        at="2026-01-01T00:00:00.000+00:00",
        status=200,
        reply=reply,
        findings=(finding("stream.no_usage", step=1),),
        clock=Clock(
            sent=0.1, first=0.2, last=0.4, end=0.5, chunks=3, gaps=encoded_gaps((100, 100))
        ),
    )
    answer = msgspec.json.encode({"role": "tool", "tool_call_id": "c1", "content": HOSTILE})
    return [
        TrialStarted(
            series="s",
            trial=1,
            attempt=1,
            at="2026-01-01T00:00:00.000+00:00",
            fields={"model": "m"},
            messages=(msgspec.Raw(b'{"role":"user","content":"go"}'),),
        ),
        Step(
            number=1,
            started=0.0,
            seconds=0.5,
            attempts=(attempt,),
            results=(ToolResult(call_id="c1", name="write_file", path="a", wrote=True),),
            append=(msgspec.Raw(answer),),
        ),
        TrialResumed(at="2026-01-01T00:01:00.000+00:00", after_step=1),
        TrialEnded(
            at="2026-01-01T00:02:00.000+00:00",
            outcome="completed",
            ending="no_call",
            reason="done",
            seconds=0.5,
        ),
    ]


def _written(path: Path) -> bytes:
    record = Record(path)
    for event in _events():
        record.append(event)
    record.close()
    return path.read_bytes()


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "001" / "events.jsonl"
    _written(path)
    read = list(read_events(path))
    assert [msgspec.json.encode(e) for e in read] == [msgspec.json.encode(e) for e in _events()]
    step = read[1]
    assert isinstance(step, Step)
    assert step.context_tokens == 15
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@settings(max_examples=150, deadline=None)
@given(cut=st.integers(min_value=0, max_value=4000))
def test_a_cut_at_any_byte_costs_at_most_the_last_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("record") / "events.jsonl"
    whole = _written(path)
    kept = whole[: min(cut, len(whole))]
    path.write_bytes(kept)
    complete = kept.count(b"\n")
    assert len(list(read_events(path))) == complete
    record = Record(path)
    record.append(_events()[-1])
    record.close()
    assert len(list(read_events(path))) == complete + 1
    assert path.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])


def test_a_torn_line_longer_than_a_block_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    whole = _written(path)
    path.write_bytes(whole + b"x" * 200_000)
    Record(path).close()
    assert path.read_bytes() == whole


def test_lines_longer_than_a_block_are_read_and_damage_behind_them_is_named(tmp_path: Path) -> None:
    """Records are read in blocks; a line may cover several, and damage costs only what follows."""
    path = tmp_path / "events.jsonl"
    long = msgspec.structs.replace(_events()[-1], reason=HOSTILE * (3 * READ_BYTES // 40))
    line = msgspec.json.encode(long) + b"\n"
    assert len(line) > 2 * READ_BYTES
    path.write_bytes(_written(path) + line + line + b'{"type":"torn')
    assert list(read_events(path))[-2:] == [long, long]
    path.write_bytes(_written(tmp_path / "more.jsonl") + line + b'{"type":"step"\n' + line)
    events = read_events(path)
    assert [next(events) for _ in range(len(_events()) + 1)][-1] == long
    with pytest.raises(FolderError, match=f"line {len(_events()) + 2}"):
        next(events)


def test_a_broken_line_in_the_middle_is_no_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"type":"step"\n' + _written(path))
    with pytest.raises(FolderError, match="line 1"):
        list(read_events(path))
