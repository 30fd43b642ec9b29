"""Repetition, seen from outside: what finds loops, and what tells them from honest length."""

from .degenerate import degenerate
from .entropy import compression_ratio, low_entropy
from .loops import Loop
from .periodic import verbatim_loop, verbatim_loops
from .stream import TailWatch

__all__ = [
    "Loop",
    "TailWatch",
    "compression_ratio",
    "degenerate",
    "low_entropy",
    "verbatim_loop",
    "verbatim_loops",
]
