"""Whether a tool's answer, as an agent tells it to its model, says that the tool failed."""

from __future__ import annotations

import re

import msgspec

LONGEST = 2000

BAD_ARGUMENTS = re.compile(
    r"failed to parse function arguments|JSON parsing failed|arguments provided to the tool are "
    r"invalid|InputValidationError|could not be parsed as JSON",
    re.IGNORECASE,
)
UNKNOWN_TOOL = re.compile(
    r"unsupported call|unavailable tool|No such tool available|[Uu]nknown tool|there is no tool "
)
_EXIT = re.compile(r"(?:exited with (?:exit )?code|exit code:?|Exit code) (\d{1,3})")


def error_in(text: str) -> str | None:
    """What went wrong, as the model was told; None where the tool did its work."""
    head = text[:LONGEST]
    if head.startswith(("Error", "error:", "<tool_use_error>")):
        return head
    if BAD_ARGUMENTS.search(head) or UNKNOWN_TOOL.search(head):
        return head
    code = exit_code(text)
    return head if code else None


def exit_code(text: str) -> int | None:
    """The exit code that an answer states, None where it states none."""
    if text.startswith("{") and len(text) < 1 << 20:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            value = None
        if isinstance(value, dict):
            meta = value.get("metadata")
            stated = value.get("returncode", meta.get("exit_code") if isinstance(meta, dict) else 0)
            return stated if isinstance(stated, int) else None
    found = _EXIT.search(text[:LONGEST]) or _EXIT.search(text[-300:])
    return int(found[1]) if found else None
