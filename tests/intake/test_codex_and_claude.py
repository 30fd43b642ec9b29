"""Rollouts of Codex and transcripts of Claude Code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard

from evalstab.errors import InputError
from evalstab.intake import claude_code, codex, proxied
from evalstab.intake.session import Session
from tests.intake.opencode_making import FIXTURES


def _one(found: list[Session]) -> Session:
    (session,) = found
    return session


def _codes(session: Session) -> list[list[str]]:
    return [[f.code for a in step.attempts for f in a.findings] for step in session.steps]


def test_a_rollout_is_read_step_by_step() -> None:
    session = _one(list(codex.sessions(FIXTURES / "codex_rollout_paginated.jsonl")))
    assert [bool(step.results and step.results[0].error) for step in session.steps] == [
        False, True, True, False,
    ]  # fmt: skip
    assert _codes(session) == [[], ["tool.truncated"], ["tool.unknown_name"], []]
    usages = [step.reply.usage for step in session.steps if step.reply]
    assert usages[0] is not None
    assert usages[0].prompt_tokens == 1234
    assert usages[1:] == [None, None, None]
    assert session.answer == "Ranking: B, A, C"
    assert session.started.fields["model"] == "qwen3.6-27b"


def test_a_torn_tail_and_a_packed_rollout_are_read(tmp_path: Path) -> None:
    legacy = FIXTURES / "codex_rollout_legacy.jsonl"
    plain = _one(list(codex.sessions(legacy)))
    assert [step.reply.content for step in plain.steps if step.reply] == [None, "Ranking: B, A, C"]
    packed = tmp_path / "rollout-2026-11-30T01-20-01-x.jsonl.zst"
    packed.write_bytes(zstandard.compress(legacy.read_bytes()))
    again = _one(list(codex.sessions(tmp_path)))
    assert again.steps == plain.steps
    torn = tmp_path / "rollout-torn.jsonl.zst"
    torn.write_bytes(packed.read_bytes()[:-20])
    assert len(list(codex.sessions(tmp_path))) in (1, 2)


def test_a_dropped_stream_is_the_endpoints_fault() -> None:
    session = _one(list(codex.sessions(FIXTURES / "codex_rollout_endpoint_dropped.jsonl")))
    assert session.ended.outcome == "failed"
    assert _codes(session) == [["stream.dropped"]]
    assert "endpoint_errors" in session.started.unknown


def test_a_transcript_joins_the_lines_of_one_answer() -> None:
    session = _one(list(claude_code.sessions(FIXTURES / "claude_code_session.jsonl")))
    first, second = session.steps
    assert first.reply is not None
    assert first.reply.reasoning == "List the offers first."
    assert [call.name for call in first.reply.tool_calls] == ["Bash"]
    assert first.reply.usage is not None
    assert (first.reply.usage.prompt_tokens, first.reply.usage.cached_tokens) == (1234, 1000)
    assert first.results[0].error is not None
    assert second.reply is not None
    assert second.reply.usage is not None
    assert second.reply.usage.prompt_tokens == 1434
    assert session.title == "Rank offers"


def _claude(folder: Path, *lines: dict[str, object]) -> Path:
    path = folder / "session.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def _line(
    id_: str, parent: str | None, kind: str, content: object, **more: object
) -> dict[str, object]:
    message: dict[str, object] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("message", f"m-{id_}"), "stop_reason": more.pop("stop", None)}
    return {"uuid": id_, "parentUuid": parent, "type": kind, "message": message, **more}


def test_a_rewound_branch_is_left_out_and_parallel_calls_are_kept(tmp_path: Path) -> None:
    def use(name: str) -> list[dict[str, object]]:
        return [{"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": name}}]

    def result(name: str) -> list[dict[str, object]]:
        return [{"type": "tool_result", "tool_use_id": name, "content": f"text of {name}"}]

    path = _claude(
        tmp_path,
        _line("u1", None, "user", "Rank them."),
        _line("x1", "u1", "assistant", [{"type": "text", "text": "abandoned"}], stop="end_turn"),
        _line("a1", "u1", "assistant", use("one"), message="m"),
        _line("a2", "a1", "assistant", use("two"), message="m", stop="tool_use"),
        _line("r1", "a1", "user", result("one")),
        _line("r2", "a2", "user", result("two")),
        _line("a3", "r2", "assistant", [{"type": "text", "text": "B, A"}], stop="end_turn"),
    )
    session = _one(list(claude_code.sessions(path)))
    assert [len(step.results) for step in session.steps] == [2, 0]
    assert session.answer == "B, A"


def test_exchanges_of_the_proxy_are_steps() -> None:
    session = _one(list(proxied.sessions(FIXTURES / "proxy_exchange.jsonl")))
    assert session.id == "ses_ok"
    assert _codes(session) == [[], ["stream.dropped"]]
    first = session.steps[0].reply
    assert first is not None
    assert [call.name for call in first.tool_calls] == ["bash"]


@pytest.mark.parametrize("source", [codex, claude_code, proxied])
def test_an_empty_folder_is_said_to_hold_nothing(source: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no"):
        list(source.sessions(tmp_path))  # type: ignore[attr-defined]
