"""What becomes of the calls of a reply: each is run in the workspace or answered with an error."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from evalstab.chat import Json, ToolCall
from evalstab.endpoint.base import Reply
from evalstab.findings import Finding
from evalstab.tools.toolbox import Toolbox
from evalstab.trial.record import ToolResult
from evalstab.trial.scrubbed import scrubbed_arguments

CUT_CALL = "the arguments of this call arrived incomplete or are no JSON object; it was not run"


@dataclass(frozen=True, slots=True)
class Executed:
    """What became of the calls of one reply, and the messages that answer them."""

    results: list[ToolResult]
    answers: list[Json]
    findings: list[Finding]


def execute(
    toolbox: Toolbox, reply: Reply, *, execute_leaked: bool, answer_file: str | None, step: int
) -> Executed:
    """Run all calls of a reply in order, and say what the model is told of them."""
    done = Executed([], [], [])
    for call in reply.tool_calls:
        text = _run_call(toolbox, call, done, step)
        done.answers.append({"role": "tool", "tool_call_id": call.id, "content": text})
    if execute_leaked and not reply.tool_calls and reply.intended:
        texts = []
        for number, leaked in enumerate(reply.intended):
            call = ToolCall(id=f"leaked-{number}", name=leaked.name, arguments=leaked.arguments)
            texts.append(f"Result of {leaked.name}:\n{_run_call(toolbox, call, done, step)}")
        done.answers.append({"role": "user", "content": "\n\n".join(texts)})
    if answer_file and reply.content and not done.results:
        toolbox.keep_answer(answer_file, reply.content)
    return done


def _run_call(toolbox: Toolbox, call: ToolCall, done: Executed, step: int) -> str:
    arguments = _arguments_of(call)
    if arguments is None:
        done.results.append(ToolResult(call_id=call.id, name=call.name, error=CUT_CALL))
        return f"Error: {CUT_CALL}"
    outcome = toolbox.call(call.name, arguments)
    done.findings.extend(msgspec.structs.replace(f, step=step) for f in outcome.findings)
    done.results.append(
        ToolResult(
            call_id=call.id,
            name=call.name,
            path=outcome.path,
            wrote=outcome.wrote,
            error=outcome.error,
            terminal=outcome.terminal,
        )
    )
    return outcome.text


def _arguments_of(call: ToolCall) -> Json | None:
    if not call.complete:
        return None
    try:
        arguments = msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return None
    return scrubbed_arguments(arguments) if isinstance(arguments, dict) else None
