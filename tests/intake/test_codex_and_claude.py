"""Rollouts of Codex and transcripts of Claude Code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def test_lines_of_other_kinds_stand_in_the_chain_of_a_transcript(tmp_path: Path) -> None:
    path = _claude(
        tmp_path,
        _line("u1", None, "user", "Rank them."),
        {"uuid": "t1", "parentUuid": "u1", "type": "attachment", "attachment": {"type": "skills"}},
        _line("a1", "t1", "assistant", [{"type": "text", "text": "B, A"}], stop="end_turn"),
    )
    session = _one(list(claude_code.sessions(path)))
    assert session.prompt == "Rank them."
    assert session.answer == "B, A"


def test_what_is_kept_of_a_shortened_conversation_is_told_once(tmp_path: Path) -> None:
    use = [{"type": "tool_use", "id": "one", "name": "Bash", "input": {"command": "ls"}}]
    result = [{"type": "tool_result", "tool_use_id": "one", "content": "a b"}]
    kept = (
        _line("a1", "u1", "assistant", use, stop="tool_use"),
        _line("r1", "a1", "user", result),
    )
    boundary = {"uuid": "b1", "type": "system", "subtype": "compact_boundary"}
    path = _claude(
        tmp_path,
        _line("u1", None, "user", "Rank them."),
        *kept,
        *kept,
        {**boundary, "parentUuid": None, "logicalParentUuid": "r1"},
        _line("s1", "b1", "user", "This session is being continued", isCompactSummary=True),
        _line("a2", "s1", "assistant", [{"type": "text", "text": "B, A"}], stop="end_turn"),
    )
    session = _one(list(claude_code.sessions(path)))
    assert [len(step.reply.tool_calls) for step in session.steps if step.reply] == [1, 0]
    assert session.compactions == (2,)
    assert session.prompt == "Rank them."


def _api_error(id_: str, parent: str, text: str) -> dict[str, object]:
    said = [{"type": "text", "text": text}]
    return _line(id_, parent, "assistant", said, stop="stop_sequence", isApiErrorMessage=True)


def test_what_came_of_an_answer_belongs_to_the_error_that_ended_it(tmp_path: Path) -> None:
    path = _claude(
        tmp_path,
        _line("u1", None, "user", "Rank them."),
        _line("a1", "u1", "assistant", [{"type": "thinking", "thinking": "List the"}]),
        _api_error("e1", "a1", "API Error: 500 CUDA error: out of memory"),
    )
    session = _one(list(claude_code.sessions(path)))
    (step,) = session.steps
    assert step.attempts[0].reply is not None
    assert step.attempts[0].reply.reasoning == "List the"
    assert session.ended.outcome in ("failed", "invalid")


def test_what_claude_code_says_itself_is_no_error_of_the_server(tmp_path: Path) -> None:
    path = _claude(
        tmp_path,
        _line("u1", None, "user", "Rank them."),
        _line("a1", "u1", "assistant", [{"type": "thinking", "thinking": "So."}], stop="tool_use"),
        _api_error("e1", "a1", "The model's tool call could not be parsed (retry also failed)."),
    )
    session = _one(list(claude_code.sessions(path)))
    assert _codes(session) == [["tool.missing_call"]]


def _rollout(folder: Path, *payloads: tuple[str, Mapping[str, Any]]) -> Session:
    path = folder / "rollout-x.jsonl"
    lines = [
        {"timestamp": f"2026-11-30T01:20:{number:02}Z", "type": kind, "payload": payload}
        for number, (kind, payload) in enumerate(payloads)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return _one(list(codex.sessions(path)))


BEGUN = ("event_msg", {"type": "task_started"})
USAGE = {"input_tokens": 900, "output_tokens": 20, "total_tokens": 920}


def _call(id_: str, arguments: str, output: str) -> list[tuple[str, Mapping[str, Any]]]:
    call = {"type": "function_call", "name": "exec_command", "call_id": id_, "arguments": arguments}
    answer = {"type": "function_call_output", "call_id": id_, "output": output}
    return [("response_item", call), ("response_item", answer)]


def test_a_turn_without_an_end_was_ended_with_its_program(tmp_path: Path) -> None:
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "B"}],
    }
    session = _rollout(tmp_path, BEGUN, ("response_item", said))
    assert session.ended.outcome == "aborted"
    done = ("event_msg", {"type": "task_complete"})
    assert _rollout(tmp_path, BEGUN, ("response_item", said), done).ended.outcome == "completed"


def test_arguments_that_a_tool_missed_are_malformed(tmp_path: Path) -> None:
    missed = "failed to parse function arguments: missing field `cmd` at line 1 column 2"
    session = _rollout(tmp_path, *_call("one", "{}", missed))
    assert _codes(session) == [["tool.malformed_arguments"]]


def test_equal_counts_of_two_answers_are_both_told(tmp_path: Path) -> None:
    records = [
        ("token_usage_record", {"usage": USAGE, "thread_token_usage": {"total_tokens": total}})
        for total in (920, 1840)
    ]
    first, second = _call("one", '{"cmd": "ls"}', "a"), _call("two", '{"cmd": "ls"}', "a")
    session = _rollout(tmp_path, first[0], records[0], first[1], second[0], records[1], second[1])
    assert [step.reply.usage is not None for step in session.steps if step.reply] == [True, True]


def test_what_came_before_a_failure_belongs_to_it(tmp_path: Path) -> None:
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "List the"}]}
    error = {"message": "stream disconnected before completion", "codex_error_info": "other"}
    ended = ("event_msg", {"type": "task_complete", "error": error})
    session = _rollout(tmp_path, BEGUN, ("response_item", thought), ended)
    assert _codes(session) == [["stream.dropped"]]
    assert session.steps[0].attempts[0].reply is not None


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
