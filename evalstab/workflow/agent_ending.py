"""How a trial ended that an agent's program carried out."""

from __future__ import annotations

import signal

import msgspec

from evalstab.endpoint.retry import RetryPolicy, decide
from evalstab.findings import Finding, finding
from evalstab.intake.agent import AgentEnd
from evalstab.intake.session import Session
from evalstab.trial.record import Ending, TrialEnded

_FROM_OUTSIDE = (-signal.SIGKILL, -signal.SIGTERM)
"""Exit codes of a program that somebody else ended, such as a system short of memory."""

_NO_MORE = RetryPolicy(retries=0)
"""The agent itself has asked as often as it would."""


def ending_of(session: Session, end: AgentEnd, most: int) -> TrialEnded:
    """How the trial ended, by what the program itself did and by its last answer.

    As in our own loop: what the rig spoilt is invalid (and repeated), an endpoint that answers
    nothing aborts, all else is the agent's own. ``most`` is the limit of steps.
    """
    ended = session.ended
    if end.stopped:
        reason = f"no end after {most} steps"
        return _failed(ended, "step_limit", reason, finding("trial.step_limit"))
    if end.timed_out:
        reason = "the agent did not end within the time limit"
        return _failed(ended, "time_limit", reason, finding("trial.time_limit"))
    if _hopeless(session):
        return msgspec.structs.replace(ended, outcome="aborted", ending="endpoint")
    if ended.outcome != "invalid" and end.code in _FROM_OUTSIDE:
        reason = f"the agent was ended from outside (signal {-end.code})"
        return msgspec.structs.replace(ended, outcome="invalid", ending="rig", reason=reason)
    if ended.outcome == "aborted" or (end.code and ended.outcome == "completed"):
        reason = f"the agent ended with exit code {end.code}: {end.last_words}"
        return _failed(ended, "agent", reason)
    return ended


def _hopeless(session: Session) -> bool:
    """Whether the last answer is one after which our own loop would ask nothing more at all."""
    attempts = session.steps[-1].attempts if session.steps else ()
    if not attempts or attempts[-1].action == "accept":
        return False
    return decide(attempts[-1], attempts[:-1], _NO_MORE).action == "end_series"


def _failed(ended: TrialEnded, ending: Ending, reason: str, *found: Finding) -> TrialEnded:
    return msgspec.structs.replace(
        ended, outcome="failed", ending=ending, reason=reason, findings=(*ended.findings, *found)
    )
