"""Where a server states an error: every shape of it, brought into one.

Serves C3 and C4 (object or string in a stream), B5 (``success: false``), B29 and C17 (flat), C21
(text inside ``metadata.raw``), C22 (MiniMax's ``base_resp``) and C25 (validation lists). What
the error means stands in ``fault_table.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_MESSAGE = 4000


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error as the server stated it: text, type, code, the parameter concerned, the object."""

    message: str
    kind: str = ""
    code: str = ""
    parameter: str | None = None
    body: dict[str, Any] = field(default_factory=dict)


def find_error(body: Any) -> ServerError | None:
    """The error that a JSON body or event states, in whichever place (C3, C4, C22, B5, B29)."""
    if isinstance(body, list):
        body = body[0] if body else None
    if not isinstance(body, dict):
        return None
    status = body.get("base_resp")
    if isinstance(status, dict) and status.get("status_code") not in (0, None, "0"):
        text = _plain(status.get("status_msg"))
        return ServerError(text, "base_resp", _plain(status.get("status_code")), None, status)
    error = body.get("error", body.get("errors"))
    if isinstance(error, list) and error:
        error = error[0]
    if error or isinstance(error, dict):
        return _from_object(error if isinstance(error, dict) else {"message": error}, body)
    if body.get("object") == "error" or body.get("type") == "error":
        return _from_object(body, body)
    if body.get("success") is False or ("choices" not in body and _says_something(body)):
        return _from_object(body, body)
    return None


def _says_something(body: dict[str, Any]) -> bool:
    return any(body.get(key) for key in ("detail", "message", "msg", "error_msg", "error_message"))


def _from_object(error: dict[str, Any], body: dict[str, Any]) -> ServerError:
    keys = ("message", "detail", "msg", "error_msg", "error_message", "error", "title")
    message = next((_plain(error[key]) for key in keys if error.get(key)), "")
    raw = error.get("metadata")
    if isinstance(raw, dict) and isinstance(raw.get("raw"), str):
        message = f"{message} {raw['raw'][:MAX_MESSAGE]}"
    parameter = error.get("param")
    return ServerError(
        message=message or _plain(error),
        kind=_plain(error.get("type") or ""),
        code=_plain(error.get("code") or body.get("code") or ""),
        parameter=parameter if isinstance(parameter, str) and parameter else None,
        body=error,
    )


def _plain(value: Any) -> str:
    """Any JSON value as text of bounded length; the surface of a nested one is enough."""
    if isinstance(value, str):
        return value[:MAX_MESSAGE]
    if isinstance(value, dict):
        inner = value.get("message") or value.get("msg")
        return inner[:MAX_MESSAGE] if isinstance(inner, str) else ", ".join(map(str, value))[:200]
    if isinstance(value, list):
        parts = [_validation(item) for item in value[:20]]
        return "; ".join(parts)[:MAX_MESSAGE]
    return str(value)[:200]


def _validation(item: Any) -> str:
    """One entry of a FastAPI validation list: place, type and message (C25)."""
    if not isinstance(item, dict):
        return item[:MAX_MESSAGE] if isinstance(item, str) else ""
    place = item.get("loc")
    names = ".".join(str(p)[:80] for p in place[:8]) if isinstance(place, list) else ""
    return f"{names}: {item.get('type', '')!s:.80} {item.get('msg', '')!s:.500}"
