"""What a server's error means: one table of wordings and types, for every status and every place.

The same table reads the body of an HTTP error and an error event inside a 200 stream, because
servers use both for the same fault. Serves A18 and B26 (the server's parser), B27 and A8 (our own
history), B28 (grammar), B29 (template), C3 to C5, C17 and C21 to C25. First match wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from evalstab.endpoint.faults import ServerError
from evalstab.endpoint.overflow import Sizes, is_overflow, sizes

EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """The finding code for an error; ``sizes`` for an overflow, ``detail`` for the finding."""

    code: str
    detail: dict[str, Any]
    sizes: Sizes | None = None


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_OWN_HISTORY = _any(
    r"failed to parse tool call arguments as json",
    r"unterminated string starting",
    r"arguments.{0,40}(?:must be|is not|invalid).{0,10}json",
    r"tool_call_ids? did not have response messages",
)
_REASONING_WANTED = _any(
    r"reasoning_content.{0,60}must be passed back",
    r"missing `?reasoning_content`? field",
)
_WORDINGS: dict[str, re.Pattern[str]] = {
    "server.parse_error": _any(
        r"failed to parse input",
        r"harmony_?error",
        r"openai_harmony",
        r"unknown role: assistant",
        r"does not match the expected",
        r"unexpected token \d+ while expecting",
        r"failed to parse (?:the )?(?:model|tool)[ _-]?(?:output|call)",
        r"(?:error|failed).{0,20}(?:extract|pars)ing (?:the )?(?:tool|reasoning)",
        r"(?:tool|reasoning) parser",
        r"unexpected tokens remaining in message header",
        r"invalid diff",
    ),
    "server.grammar_error": _any(
        r"(?:failed to|error).{0,20}(?:pars|compil|build|initiali[sz])\w{0,4}.{0,20}grammar",
        r"failed to initiali[sz]e samplers",
        r"grammar (?:stack|error|is too)",
        r"(?:lazy|invalid) grammar",
        r"xgrammar|llguidance",
        r"json schema conversion failed",
        r"unsupported json schema",
    ),
    "server.template_error": _any(
        r"jinja",
        r"template error",
        r"chat[ _]template(?!_kwargs)",
        r"generate parser for this template",
        r"roles must alternate",
        r"invalid tool call arguments passed",
        r"while executing (?:call)?expression",
        r"raise_exception",
        r"no user query found in messages",
        r"only user(?:, assistant)? and (?:assistant|tool) roles are supported",
    ),
    "server.loading": _any(
        r"loading model",
        r"model is (?:currently |still )?loading",
        r"model is not (?:yet )?ready",
        r"(?:server|engine|model) is (?:still )?(?:starting|warming|initiali[sz]ing)",
        r"model .{0,80}(?:being loaded|warming up|is (?:currently |still )?loading)",
    ),
    "server.dead": _any(
        r"enginecore|engine ?dead|mqllmengine",
        r"engine (?:is |has )?(?:dead|died|stopped)",
        r"background loop (?:is|has)",
        r"runner process (?:has )?(?:terminated|no longer running|exited)",
        r"model has crashed",
        r"workers? (?:is |are |has |have )?(?:died|dead)",
        r"cuda error|nccl error",
        r"illegal memory access|device-side assert|unspecified launch failure",
    ),
    "server.quota": _any(
        r"insufficient[ _](?:credits?|balance|quota|funds)",
        r"exceeded your current quota",
        r"quota (?:has been )?(?:exceeded|exhausted)",
        r"out of credits",
        r"rate[ _-]limit",
        r"(?:requests|tokens) per (?:minute|day|hour)",
        r"payment required|billing",
        r"account .{0,30}(?:suspended|in arrears|overdue)",
    ),
    "server.overloaded": _any(
        r"overloaded|at capacity|over capacity|no capacity",
        r"too many requests|queue is full",
        r"no (?:slots?|instances?|workers?|providers?).{0,30}available",
        r"no available (?:slot|worker|provider|instance)",
        r"server (?:is )?busy|temporarily unavailable",
    ),
    "server.aborted": _any(r"request (?:was |has been )?(?:aborted|cancell?ed)", r"^aborted$"),
}
_REFUSED = _any(
    r"unrecogni[sz]ed (?:request )?argument",
    r"unknown (?:parameter|field|argument)",
    r"extra_forbidden|extra (?:fields|inputs) (?:are )?not permitted",
    r"unsupported[ _](?:parameter|value)",
    r"not supported|does not support|is not allowed|only \S{1,20} is allowed",
    r"invalid (?:temperature|top_p|top_k|max_tokens|tool_choice|value for)",
    r"immutable|unexpected keyword|invalid_parameter|enable-auto-tool-choice",
    r"range of \w{1,40} should be",
    r"must be (?:in the range|between|one of|less|greater|at (?:least|most))",
    r"max\w{0,12}_tokens.{0,30}too large",
)
PARAMETERS = (
    "stream_options", "max_completion_tokens", "max_tokens", "parallel_tool_calls", "tool_choice",
    "repetition_penalty", "frequency_penalty", "presence_penalty", "temperature", "top_p", "top_k",
    "min_p", "reasoning_effort", "chat_template_kwargs", "enable_thinking", "response_format",
)  # fmt: skip
PLAIN_WORDS = ("thinking", "logprobs", "tools", "tool choice", "seed", "stop", "stream", "user")
"""Names of parameters that are also ordinary words: looked for only after the others."""
_QUOTA_KINDS = frozenset({"insufficient_quota", "rate_limit_error", "rate_limit_reached_error"})
_BASE_RESP = {
    "1002": "server.quota",
    "1004": "server.bad_request",
    "1008": "server.quota",
    "1039": "server.quota",
    "2013": "server.bad_request",
    "2049": "server.bad_request",
}
_KEY_REFUSED = frozenset({"1004", "2049"})
_REFUSING = frozenset({400, 404, 422})


def classify(error: ServerError, status: int) -> Fault:
    """The fault that an error stands for; ``status`` is that of HTTP, 200 inside a stream."""
    text = f"{error.message} {error.kind} {error.code}"
    detail = _detail(error, status)
    if any(is_overflow(error.message, kind) for kind in (error.kind, error.code)):
        found = sizes(error.message, error.body)
        named = dict(zip(("prompt", "limit"), found, strict=True)) if found else {}
        return Fault("context.overflow", detail | named, found)
    own = "history" if _OWN_HISTORY.search(text) else None
    own = "reasoning_not_sent" if _REASONING_WANTED.search(text) else own
    if own is not None:
        return Fault("server.bad_request", detail | {"cause": own})
    if {error.kind, error.code} & _QUOTA_KINDS or status == 402:
        return Fault("server.quota", detail)
    worded = next((code for code, p in _WORDINGS.items() if p.search(text)), None)
    if worded is None and error.kind == "base_resp":
        worded = _BASE_RESP.get(error.code, "server.error_in_stream")
        if error.code in _KEY_REFUSED:
            detail["cause"] = "key"
    return Fault(worded, detail) if worded else _by_status(error, status, text, detail)


def _detail(error: ServerError, status: int) -> dict[str, Any]:
    detail: dict[str, Any] = {"message": error.message[:EXCERPT]}
    for key, value in (("type", error.kind), ("error_code", error.code)):
        if value:
            detail[key] = value[:80]
    return detail | {"status": status} if status != 200 else detail


def _by_status(error: ServerError, status: int, text: str, detail: dict[str, Any]) -> Fault:
    """What is left after the wordings: a refused parameter, or what the status says."""
    stated = int(error.code) if error.code.isascii() and error.code.isdigit() else 0
    if (status in _REFUSING or stated in _REFUSING) and _REFUSED.search(text):
        name = error.parameter or _first_named(text, PARAMETERS) or _first_named(text, PLAIN_WORDS)
        return Fault("server.refused_parameter", detail | {"parameter": name})
    if status == 200:
        return Fault("server.error_in_stream", detail)
    if status in (429, 503, 529):
        return Fault("server.overloaded", detail)
    return Fault("server.bad_request" if 400 <= status < 500 else "server.error", detail)


def _first_named(text: str, names: tuple[str, ...]) -> str | None:
    """The name that stands first in the text: what is refused comes before what is advised."""
    places = [(text.find(name), name) for name in names if name in text]
    return min(places)[1] if places else None
