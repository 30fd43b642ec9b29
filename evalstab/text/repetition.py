"""Repetition, seen from outside: what finds loops, and what tells them from honest length."""

from .degenerate import degenerate
from .entropy import compression_ratio, low_entropy
from .loops import Loop
from .periodic import verbatim_loop, verbatim_loops
from .rewording import (
    RewordingJudgement,
    RewordingProfile,
    Runaway,
    judge_rewording,
    repeated_share,
    rewording_profile,
    runaway,
)
from .stream import TailWatch

__all__ = [
    "Loop",
    "RewordingJudgement",
    "RewordingProfile",
    "Runaway",
    "TailWatch",
    "compression_ratio",
    "degenerate",
    "judge_rewording",
    "low_entropy",
    "repeated_share",
    "rewording_profile",
    "runaway",
    "verbatim_loop",
    "verbatim_loops",
]
