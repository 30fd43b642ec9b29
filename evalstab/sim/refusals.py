"""How each server says no: status and body of its errors."""

from __future__ import annotations

from dataclasses import dataclass

from evalstab.chat import Json
from evalstab.sim.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP error answer."""

    status: int
    body: Json
    retry_after: int | None = None


_LLAMA_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    500: "server_error",
    503: "unavailable_error",
}
_TYPES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    404: "NotFoundError",
    429: "RateLimitError",
    500: "InternalServerError",
    503: "ServiceUnavailableError",
}


def error_body(dialect: Dialect, status: int, text: str, kind: str | None = None) -> Json:
    """An error object in a server's form; also used inside a stream."""
    if dialect.errors == "llamacpp":
        kind = kind or _LLAMA_TYPES.get(status, "server_error")
        return {"error": {"code": status, "message": text, "type": kind}}
    kind = kind or _TYPES.get(status, "InternalServerError")
    if dialect.errors == "flat":
        return {"object": "error", "message": text, "type": kind, "param": None, "code": status}
    if dialect.errors == "ollama":
        body = {"message": text, "type": "api_error", "param": None, "code": None}
        return {"error": body}
    if dialect.errors == "minimax":
        return {"type": "error", "error": {"type": kind, "message": text, "http_code": str(status)}}
    return {"error": {"message": text, "type": kind, "param": None, "code": status}}


def bad_json(dialect: Dialect, reason: str) -> Refusal:
    """A body that is no JSON object."""
    if dialect.errors == "llamacpp":
        reason = f"[json.exception.parse_error.101] parse error: {reason}"
    return Refusal(400, error_body(dialect, 400, reason))


def unauthorised(dialect: Dialect) -> Refusal:
    """No key, or the wrong one."""
    if dialect.name == "vllm":
        return Refusal(401, {"error": "Unauthorized"})
    text = "Invalid API Key" if dialect.errors == "llamacpp" else "invalid api key"
    return Refusal(401, error_body(dialect, 401, text))


def unknown_model(dialect: Dialect, model: str) -> Refusal:
    """A model that is not served."""
    if dialect.errors == "ollama":
        text = f'model "{model}" not found, try pulling it first'
    else:
        text = f"The model `{model}` does not exist."
    return Refusal(404, error_body(dialect, 404, text))


def overflow(dialect: Dialect, prompt: int, asked: int, context: int) -> Refusal:
    """A prompt, or prompt and limit together, beyond the context."""
    if dialect.name == "llamacpp":
        body = error_body(
            dialect,
            400,
            f"request ({prompt} tokens) exceeds the available context size ({context} tokens), "
            "try increasing it",
            "exceed_context_size_error",
        )
        body["error"] |= {"n_prompt_tokens": prompt, "n_ctx": context}
        return Refusal(400, body)
    if dialect.name == "ik_llamacpp":
        text = "the request exceeds the available context size, try increasing it"
        return Refusal(500, error_body(dialect, 500, text))
    if dialect.name == "sglang":
        text = (
            f"The input ({prompt} tokens) is longer than the model's context length "
            f"({context} tokens)."
        )
        return Refusal(400, error_body(dialect, 400, text))
    text = (
        f"This model's maximum context length is {context} tokens. However, you requested {asked} "
        f"output tokens and your prompt contains at least {prompt} input tokens, for a total of at "
        f"least {prompt + asked} tokens. Please reduce the length of the input prompt or the "
        "number of requested output tokens."
    )
    return Refusal(400, error_body(dialect, 400, text))


def loading(dialect: Dialect) -> Refusal:
    """The model is not there yet."""
    if dialect.errors == "llamacpp":
        return Refusal(503, error_body(dialect, 503, "Loading model"))
    return Refusal(503, error_body(dialect, 503, "The model is loading, please wait."), 1)


def overloaded(dialect: Dialect) -> Refusal:
    """No capacity."""
    text = "The engine is currently overloaded, please try again later"
    status = 503 if dialect.errors == "llamacpp" else 429
    return Refusal(status, error_body(dialect, status, text), 1)


def parse_error(dialect: Dialect, output: str) -> Refusal:
    """The server could not parse its own model's output, which it quotes."""
    text = f"Failed to parse input at pos 0: {output}"
    return Refusal(500, error_body(dialect, 500, text, "server_error"))
