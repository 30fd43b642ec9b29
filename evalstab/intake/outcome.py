"""How a session ended, told from its last answer."""

from __future__ import annotations

from evalstab.endpoint.base import Attempt
from evalstab.intake.session import Draft, Session

AWAY = "the agent went away"
STOPPED = "the recording proxy was ended"
LIMITS = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})


def ended(draft: Draft) -> Session:
    """The session with the ending that its last step lets conclude.

    An answer without a call is the end of a trial, as in our own loop, unless it was cut at the
    token limit: that is no success. A session that ends after a call was ended by its agent.
    """
    last = draft.last_attempt
    if last is None:
        return draft.session("aborted", "agent", "no answer came")
    if last.action != "accept" or last.reply is None:
        return _failed(draft, last)
    if last.reply.tool_calls:
        return draft.session("completed", "agent", "the agent ended after a call")
    if last.reply.finish in LIMITS:
        return draft.session("failed", "no_call", "the last answer was cut at the token limit")
    return draft.session("completed", "no_call", "a turn without a tool call")


def _failed(draft: Draft, last: Attempt) -> Session:
    codes = [found.code for found in last.findings]
    reason = last.error or (codes[0] if codes else "no answer")
    if any(found.side == "rig" for found in last.findings):
        return draft.session("invalid", "endpoint", reason)
    if "context.overflow" in codes:
        return draft.session("failed", "context", reason)
    if reason in (AWAY, STOPPED):
        return draft.session("aborted", "agent", reason)
    return draft.session("failed", "endpoint", reason)
