"""Errors in every wording, status and place: what they mean and which sizes they state."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalstab.endpoint.base import Asked
from evalstab.endpoint.reply import read_error_body
from tests.endpoint.cases import TOOLS, codes_of
from tests.endpoint.streams import DONE, delta, frame, read

OVERFLOWS: list[tuple[str, tuple[int | None, int | None] | None]] = [
    ("This model's maximum context length is 32768 tokens. However, you requested 16384 output "
     "tokens and your prompt contains at least 16385 input tokens, for a total of at least 32769 "
     "tokens.", (16385, 32768)),
    ("This model's maximum context length is 5200 tokens. However, you requested 5320 tokens (2320 "
     "in the messages, 3000 in the completion).", (2320, 5200)),
    ("Requested token count exceeds the model's maximum context length of 4096 tokens. You "
     "requested a total of 4320 tokens: 1320 tokens from the input messages and 3000 tokens for "
     "the completion.", (1320, 4096)),
    ("The input (85050 tokens) is longer than the model's context length (32768 tokens).",
     (85050, 32768)),
    ("request (33056 tokens) exceeds the available context size (32768 tokens), try increasing it",
     (33056, 32768)),
    ("the request exceeds the available context size, try increasing it", None),
    ("Context size has been exceeded.", None),
    ("context_length_exceeded: prompt does not fit; context shift is disabled", None),
    ("Trying to keep the first 15857 tokens when context the overflows. However, the model is "
     "loaded with context length of only 8192 tokens, which is not enough.", (15857, 8192)),
    ("the prompt is longer than the context length currently available to the model", None),
    ("max_tokens must be at least 1, got -186", None),
    ("The decoder prompt (length 34567) is longer than the maximum model length of 32768.",
     (34567, 32768)),
    ("'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context "
     "length is 32768 tokens and your request has 20000 input tokens (16384 > 32768 - 20000).",
     (20000, 32768)),
    ("This endpoint's maximum context length is 131072 tokens. However, you requested about 140321 "
     "tokens (138273 of text input, 2048 in the output).", (138273, 131072)),
    ("This model's maximum context length is 8192 tokens. However, your messages resulted in 10043 "
     "tokens.", (10043, 8192)),
    ("Requested tokens (4520) exceed context window of 4096", (4520, 4096)),
    ("Input length (9000) exceeds model's maximum context length (8192).", (9000, 8192)),
    ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
     "context length", (40000, 32768)),
    ("prompt is too long: 200251 tokens > 200000 maximum", (200251, 200000)),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
     (1200000, 1048576)),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
     (537812, 131072)),
    ("Please reduce the length of the messages or completion. Current length is 9065 while limit "
     "is 8192", (9065, 8192)),
    ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 "
     "`inputs` tokens and 2000 `max_new_tokens`", (3000, 4096)),
    ("Input validation error: `inputs` must have less than 1024 tokens. Given: 1500", (1500, 1024)),
    ("Invalid request: Your request exceeded model token limit: 8192", (None, 8192)),
    ("invalid params, context window exceeds limit (2013)", None),
    ("Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
     (269030, 262144)),
    ("Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)",
     (5152, 2048)),
    ("token count 203783 exceeds model max context 202752", (203783, 202752)),
    ("Prompt 超长", None),
]  # fmt: skip


def _refusal(status: int, body: Any) -> tuple[set[str], dict[str, Any], Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply, _, findings = read_error_body(status, {}, data, Asked(tools=TOOLS))
    assert len(findings) == 1
    return codes_of(findings), findings[0].detail, reply and reply.context_sizes


@pytest.mark.parametrize(("message", "sizes"), OVERFLOWS)
@pytest.mark.parametrize("status", [400, 413, 500])
def test_overflow_in_every_wording(message: str, sizes: Any, status: int) -> None:
    nested = {"error": {"message": message, "type": "BadRequestError", "code": status}}
    flat = {"object": "error", "message": message, "type": "invalid_request_error"}
    for body in (nested, flat, {"error": message}, {"detail": message}, message.encode()):
        codes, detail, found = _refusal(status, body)
        assert (codes, found) == ({"context.overflow"}, sizes)
        if sizes is not None:
            assert (detail["prompt"], detail["limit"]) == sizes


@pytest.mark.parametrize(("message", "sizes"), OVERFLOWS[:6])
def test_overflow_inside_a_stream(message: str, sizes: Any) -> None:
    reply, codes = read(frame(error={"message": message, "code": 400}))
    assert (codes, reply.context_sizes) == ({"context.overflow"}, sizes)


ERRORS = [
    (500, "Failed to parse input at pos 31: </tool_call>", "server.parse_error"),
    (500, "openai_harmony.HarmonyError: Unexpected token 200002", "server.parse_error"),
    (500, "Unknown role: assistant<|channel|>commentary", "server.parse_error"),
    (500, "The model produced output that does not match the expected peg-native format",
     "server.parse_error"),
    (500, "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]",
     "server.bad_request"),
    (400, "Unterminated string starting at: line 1 column 12", "server.bad_request"),
    (400, "Failed to initialize samplers: failed to parse grammar", "server.grammar_error"),
    (400, "Unexpected empty grammar stack after accepting piece", "server.grammar_error"),
    (400, "no triggers set for lazy grammar!", "server.grammar_error"),
    (400, "Unable to generate parser for this template. Automatic parser generation failed",
     "server.template_error"),
    (422, "Template error: syntax error: Conversation roles must alternate user/assistant",
     "server.template_error"),
    (500, "Invalid tool call arguments passed: {", "server.template_error"),
    (503, "Loading model", "server.loading"),
    (503, "The server is starting, please wait", "server.loading"),
    (503, "Model example/demo is currently loading", "server.loading"),
    (500, "EngineCore encountered an issue. See stack trace", "server.dead"),
    (500, "EngineDeadError", "server.dead"),
    (500, "llama runner process has terminated: exit status 2", "server.dead"),
    (500, "The model has crashed without additional information. (Exit code: 6)", "server.dead"),
    (500, "CUDA error: an illegal memory access was encountered", "server.dead"),
    (402, "Insufficient credits. Add more credits to continue.", "server.quota"),
    (429, "You exceeded your current quota, please check your plan", "server.quota"),
    (429, "Rate limit reached for requests per minute", "server.quota"),
    (429, "The engine is currently overloaded, please try again later", "server.overloaded"),
    (429, "", "server.overloaded"),
    (503, "No instances available", "server.overloaded"),
    (529, "Overloaded", "server.overloaded"),
    (503, "", "server.overloaded"),
    (400, "invalid temperature: only 1 is allowed for this model", "server.refused_parameter"),
    (400, "Unrecognized request argument supplied: stream_options", "server.refused_parameter"),
    (400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.", "server.refused_parameter"),
    (400, "Range of max_tokens should be [1, 262144]", "server.refused_parameter"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice', "server.refused_parameter"),
    (400, "registry.ollama.ai/library/demo does not support tools", "server.refused_parameter"),
    (400, "The reasoning_content in the thinking mode must be passed back to the API.",
     "server.bad_request"),
    (401, "Incorrect API key provided", "server.bad_request"),
    (404, "The model `demo` does not exist.", "server.bad_request"),
    (400, "messages must not be empty", "server.bad_request"),
    (500, "Compute error.", "server.error"),
    (502, "Bad Gateway", "server.error"),
    (504, "Upstream timed out", "server.error"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "message", "code"), ERRORS)
def test_errors_by_status(status: int, message: str, code: str) -> None:
    for body in ({"error": {"message": message}}, {"error": message}, {"message": message}):
        assert _refusal(status, body)[0] == {code}
    assert _refusal(status, message.encode())[0] == {code}


@pytest.mark.parametrize(
    ("message", "code"),
    [(m, c) for _, m, c in ERRORS if c.split(".")[1] in ("parse_error", "template_error", "dead")]
    + [("Compute error.", "server.error_in_stream"), ("", "server.error_in_stream")],
)
def test_errors_inside_a_stream(message: str, code: str) -> None:
    for error in ({"message": message, "code": 500}, message or {"code": 500}):
        reply, codes = read(delta(content="note_b") + frame(error=error) + DONE)
        assert (reply.content, codes) == ("note_b", {code})


def test_validation_list_names_the_parameter() -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "max_completion_tokens"],
               "msg": "Extra inputs are not permitted", "input": 64}]  # fmt: skip
    flat = {"object": "error", "message": str(detail), "type": "BadRequestError", "code": 400}
    for body in ({"detail": detail}, flat):
        codes, found, _ = _refusal(400, body)
        assert codes == {"server.refused_parameter"}
        assert found["parameter"] == "max_completion_tokens"


def test_text_of_a_provider_inside_metadata() -> None:
    raw = json.dumps({"error": {"message": "Insufficient Balance", "code": "invalid_request"}})
    body = {"error": {"message": "Provider returned error", "code": 429, "metadata": {"raw": raw}}}
    assert _refusal(429, body)[0] == {"server.quota"}


@pytest.mark.parametrize(
    ("status_code", "text", "code"),
    [
        (1002, "rate limit", "server.quota"),
        (1008, "insufficient balance", "server.quota"),
        (1004, "login fail", "server.bad_request"),
        (1000, "unknown error", "server.error_in_stream"),
        (1027, "output new_sensitive", "server.error_in_stream"),
        (2013, "invalid params, context window exceeds limit", "context.overflow"),
    ],
)
def test_business_codes_with_status_200(status_code: int, text: str, code: str) -> None:
    value = {"choices": None, "base_resp": {"status_code": status_code, "status_msg": text}}
    for stream_asked in (True, False):
        _, codes = read(json.dumps(value).encode(), stream=stream_asked)
        assert codes == {code}


@pytest.mark.parametrize(
    "body",
    [
        {"success": False, "error": {"code": "INTERNAL_SERVER_ERROR", "status": 500}},
        {"object": "error", "message": "boom", "code": 500},
        {"error": {"message": "Compute error."}, "message": "Compute error."},
        {"detail": "Internal Server Error"},
        [{"error": {"code": 500, "message": "boom"}}],
    ],
)
def test_errors_in_a_body_with_status_200(body: Any) -> None:
    for stream_asked in (True, False):
        _, codes = read(json.dumps(body).encode(), stream=stream_asked)
        assert codes == {"server.error_in_stream"}


def test_error_in_the_choice() -> None:
    choice = {"delta": {"content": ""}, "finish_reason": "error",
              "error": {"code": 502, "message": "Provider disconnected"}}  # fmt: skip
    reply, codes = read(delta(content="note_b") + frame(choices=[choice]) + DONE)
    assert (reply.finish, codes) == ("error", {"server.error_in_stream"})


def test_named_error_event() -> None:
    data = b"event: error\ndata: upstream went away\n\n"
    _, codes = read(delta(content="note_b") + data)
    assert codes == {"server.error_in_stream"}


def test_page_of_a_gateway() -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body>"
    codes, detail, _ = _refusal(502, page)
    assert codes == {"server.error"}
    assert detail["message"] == "502 Bad Gateway 502 Bad Gateway"


def test_call_that_the_parser_error_quotes() -> None:
    message = 'Failed to parse input at pos 3: <tool_call>{"name": "read_file", "arguments": {}}'
    codes, detail, _ = _refusal(500, {"error": {"message": message}})
    assert (codes, detail["intended"]) == ({"server.parse_error"}, "read_file")


def test_redirect_is_not_followed() -> None:
    headers = {"location": "http://elsewhere.invalid/v1"}
    _, message, findings = read_error_body(307, headers, b"", Asked())
    assert codes_of(findings) == {"server.error"}
    assert "elsewhere.invalid" in message


@pytest.mark.parametrize(
    "message",
    [
        "ThrottlingException: Too many tokens, please wait before trying again.",
        "max_tokens is too large: 300000. This model supports at most 16384 completion tokens.",
        "Your input is invalid: the name is too long.",
        "Rate limit: tokens per minute exceeded",
    ],
)
def test_other_limits_are_no_overflow(message: str) -> None:
    for status in (400, 429):
        assert "context.overflow" not in _refusal(status, {"error": {"message": message}})[0]
