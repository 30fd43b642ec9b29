"""The one vocabulary of faults: finding codes, what they mean, and who is to blame by default.

A ``Finding`` is one observed fault with the place where it was seen. Scores, gates, reports and
the viewer speak of faults by these codes; nothing invents a second list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

Side = Literal["model", "endpoint", "rig", "harness"]
Channel = Literal["reasoning", "content", "arguments", "file", "transport", "series"]

EXCERPT_LIMIT = 200


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One observed fault.

    ``step`` counts from 1 (``None``: the trial or series as a whole). ``start``/``end`` are code
    point offsets in the channel's text of that step, where there is a text. ``context_tokens`` is
    the active context when the fault began, if known. ``excerpt`` has at most 200 characters.
    """

    code: str
    side: Side
    step: int | None = None
    channel: Channel = "transport"
    context_tokens: int | None = None
    start: int | None = None
    end: int | None = None
    excerpt: str | None = None
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Code:
    """What one finding code stands for."""

    meaning: str
    side: Side = "model"
    unfinished: bool = False
    informational: bool = False


_M: Side = "model"
_E: Side = "endpoint"
_R: Side = "rig"
_H: Side = "harness"

CODES: dict[str, Code] = {
    "reasoning.unclosed": Code("thinking was still open when the response ended"),
    "reasoning.exhausted_budget": Code("the whole output budget went into reasoning"),
    "reasoning.leaked_to_content": Code("thinking text arrived as content"),
    "reasoning.content_in_reasoning": Code("the answer arrived in the reasoning field"),
    "reasoning.loop": Code("verbatim repetition in reasoning"),
    "reasoning.reworded_loop": Code("the same analysis again, slightly reworded"),
    "reasoning.not_replayed": Code("the server drops reasoning that is sent back", _E),
    "reasoning.duplicated_by_transport": Code("every delta or the whole text came twice", _E),
    "reasoning.first_step_only": Code("only the first step was thought about", informational=True),
    "tool.truncated": Code("a call stops before its end", unfinished=True),
    "tool.malformed_arguments": Code("arguments are no JSON object", unfinished=True),
    "tool.leaked_markup": Code("a call's markup arrived as content", unfinished=True),
    "tool.in_reasoning": Code("a call's markup arrived inside reasoning only", unfinished=True),
    "tool.missing_call": Code("a call was announced or dropped and none arrived", unfinished=True),
    "tool.schema_violation": Code("arguments break the tool's parameter schema"),
    "tool.unknown_name": Code("a tool that was not offered"),
    "tool.polluted_name": Code("special tokens or a suffix stuck to the tool's name"),
    "tool.repeated": Code("the same call three or more times in a row"),
    "tool.retry_storm": Code("write or edit attempts on one path again and again"),
    "tool.merged_calls": Code("several calls arrived glued into one and were separated", _E),
    "tool.marker_residue": Code("a stray call marker beside a correct call", _E),
    "text.foreign_script": Code("a span in a script that neither task nor inputs contain"),
    "text.foreign_language": Code("a sentence or longer in another language, same script"),
    "text.mixed_script_word": Code("one word with letters of two scripts"),
    "text.foreign_punctuation": Code("full-width forms or punctuation of foreign scripts"),
    "text.invisible": Code("zero-width, direction or tag characters out of place"),
    "text.replacement_char": Code("broken bytes: U+FFFD or unpaired surrogates", _E),
    "text.degenerate": Code("output that is no language: one symbol, number walls, NaN"),
    "text.loop": Code("verbatim repetition in content or a written file"),
    "text.special_token": Code("a model's control token as visible text"),
    "text.truncated": Code("visible text was cut at the token limit", informational=True),
    "stream.no_done": Code("the stream had a finish reason but no [DONE]", _E),
    "stream.no_finish": Code("the stream ended with [DONE] but no finish reason", _E),
    "stream.stalled": Code("the stream went silent with the connection open", _E),
    "stream.dropped": Code("the connection closed in the middle of the answer", _E),
    "stream.bad_frame": Code("a frame that is no valid event or JSON", _E),
    "stream.no_usage": Code("the server did not state token counts", _E),
    "server.error_in_stream": Code("an error arrived inside an HTTP 200 answer", _E),
    "server.parse_error": Code("the server could not parse its model's output", unfinished=True),
    "server.template_error": Code("the chat template refused the conversation", _E),
    "server.grammar_error": Code("the server could not build the call grammar", _E),
    "server.loading": Code("the model was still loading", _E),
    "server.overloaded": Code("the server had no capacity", _E),
    "server.quota": Code("credit, plan or rate quota exhausted", _E),
    "server.aborted": Code("the server aborted the request", _E),
    "server.dead": Code("the engine behind the server died", _R),
    "server.restarted": Code("another server process than at the start of the series", _R),
    "server.refused_parameter": Code("the server refused a request parameter", _E),
    "server.ignored_parameter": Code("the server ignored a request parameter", _E),
    "server.bad_request": Code("a 4xx that this client caused", _H, informational=True),
    "server.error": Code("a 5xx that fits no other code", _E, informational=True),
    "context.overflow": Code("the request was refused: context too small", _E),
    "context.silent_truncation": Code("the server read far less than was sent", _E),
    "context.shifted": Code("the server discarded earlier context while generating", _E),
    "context.target_missed": Code("the trial missed the requested context by over 15 %", _H),
    "trial.step_limit": Code("the trial ended at its step limit"),
    "trial.time_limit": Code("the trial ended at its time limit"),
    "trial.deliverable_missing": Code("a file that the task asks for was not written"),
    "trial.deliverable_invalid": Code("a file was written but breaks its form"),
    "trial.contradiction": Code("two deliverables of one trial disagree"),
    "trial.incomplete_ranking": Code("candidates are missing from the ranking"),
    "trial.unknown_candidate": Code("the ranking names a candidate that does not exist"),
    "trial.order_echo": Code("the ranking repeats the reading order, its reverse or the alphabet"),
    "trial.constant_scores": Code("all candidates got the same total"),
    "trial.arithmetic": Code("criteria do not add up, or points outside the range"),
    "trial.path_escape": Code("a tool call pointed outside the workspace"),
    "trial.announced_only": Code("a turn announced an action and did not act"),
    "series.cold_first_run": Code("only the first trial had a cold prefix cache", _H),
    "series.mixed_conditions": Code("trials differ in what should be identical", _H),
    "series.hardware_unhealthy": Code("the hardware was not healthy", _R),
    "series.no_variation": Code("all trials gave the same output: one observation", _H),
    "series.fixed_seed": Code("a fixed sampling seed was sent", _H),
    "series.saturated": Code("the client could not keep up: rates are null", _H),
    "series.unproven_launch": Code("how the server was started could not be captured", _H),
}

UNFINISHED = frozenset(code for code, meaning in CODES.items() if meaning.unfinished)


def finding(code: str, **fields: Any) -> Finding:
    """Make a Finding with the code's default side; a wrong code is a bug and raises KeyError."""
    default = CODES[code]
    fields.setdefault("side", default.side)
    if (excerpt := fields.get("excerpt")) is not None:
        fields["excerpt"] = excerpt[:EXCERPT_LIMIT]
    return Finding(code=code, **fields)


def matches(pattern: str, code: str) -> bool:
    """Whether a gate's pattern names this code: the code, ``tool.unfinished`` or ``family.*``."""
    if pattern == "tool.unfinished":
        return code in UNFINISHED
    if pattern.endswith(".*"):
        return code.startswith(pattern[:-1])
    return code == pattern
