"""What people may write into settings: what HTTP, JSON and the environment can carry.

Each function gives the value back, perhaps tidied, or raises ValueError with a sentence that says
the mend. Values that may be secrets are never quoted.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

_OWN_FIELDS = {
    "model": "is sent as the key 'model' says: set that",
    "stream": "is sent as the key 'stream' says: set that",
    "messages": "is what a trial makes: it cannot be set",
    "tools": "is what a task offers: it cannot be set",
}


def address(text: str) -> str:
    """An http(s) address without surrounding space, or "" for none; ValueError says what is wrong.

    Only its form is looked at. What is quoted holds neither a user's name nor a query.
    """
    bare = text.strip()
    if not text:
        return text
    try:
        parts = urlsplit(bare)
        _ = parts.port
        host = (parts.hostname or "").encode("idna")
        usable = parts.scheme in ("http", "https") and host != b""
    except ValueError:
        usable = False
    if not usable or not bare.isprintable() or set(bare) & {" ", "\\", "#"}:
        shown = "" if "@" in bare or "?" in bare else f" {text[:200]!r}"
        raise ValueError(f"the text{shown} is no address: write http://HOST:PORT/v1")
    return bare


def sendable(value: Any) -> Any:
    """Plain data that JSON can carry: no dates, no infinite number, no NaN; else ValueError."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"JSON cannot carry it: {error}. Write texts and finite numbers") from None
    return value


def added(body: dict[str, Any]) -> dict[str, Any]:
    """Fields that may be added to a request's body; ValueError for those that have a place."""
    for key, mend in _OWN_FIELDS.items():
        if key in body:
            raise ValueError(f"{key!r} {mend}")
    return body


def variable(name: str) -> str:
    """The name of an environment variable; ValueError, without quoting it, for anything else."""
    if not re.fullmatch(r"[A-Za-z_]\w{0,199}", name, re.ASCII):
        raise ValueError(
            "write the name of an environment variable, as in OPENAI_API_KEY: letters, digits and "
            "'_'. The key itself stands in no file"
        )
    return name


def header_fields(headers: dict[str, str]) -> dict[str, str]:
    """Headers that HTTP can carry; ValueError names a wrong one, never its value."""
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~\w-]+", name, re.ASCII):
            raise ValueError(f"{name[:80]!r} is no name of a header: write letters, digits and '-'")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"the value of {name!r} holds characters that no header can carry")
    return headers
