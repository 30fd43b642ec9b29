"""What somebody asks for with ``evalstab task make ranking``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evalstab.errors import UsageError, nearest

LANGUAGES = ("de", "en")
DOMAINS = ("applicants", "bids", "incidents")
DIFFICULTIES = ("easy", "medium", "hard")
SMALLEST, LARGEST = 3, 60
FEWEST_TOKENS, MOST_TOKENS = 1_000, 1_000_000
CHARS_PER_TOKEN = {"de": 3.3, "en": 4.1}
"""Characters a token where no tokenizer is at hand; see docs/task-make.md for what was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """One ranking task to be made.

    ``context`` is the wanted size in tokens of all input documents and the opening message
    together. Tokens are counted by ``count_tokens`` where given (tokens of one text), else
    estimated with ``chars_per_token`` (by default a value of the language). ``form`` asks the
    agent for a third document. ``out`` must not exist or be empty. ``candidates``: 3 to 60.
    """

    candidates: int
    context: int
    language: str
    domain: str
    difficulty: str
    seed: int
    out: Path
    chars_per_token: float | None = None
    count_tokens: Callable[[str], int] | None = None
    form: bool = False

    @property
    def ratio(self) -> float:
        """Characters a token, as given or by language."""
        return self.chars_per_token or CHARS_PER_TOKEN[self.language]


def refuse_nonsense(request: GenerateRequest) -> None:
    """Raise UsageError, with the mend, for a request that cannot be meant."""
    for option, value, known in (
        ("--language", request.language, LANGUAGES),
        ("--domain", request.domain, DOMAINS),
        ("--difficulty", request.difficulty, DIFFICULTIES),
    ):
        if value not in known:
            raise UsageError(f"{option} {value!r} is not known. {nearest(value, known)}")
    if not SMALLEST <= request.candidates <= LARGEST:
        raise UsageError(
            f"--candidates {request.candidates}: from {SMALLEST} to {LARGEST} can be asked for"
        )
    if not FEWEST_TOKENS <= request.context <= MOST_TOKENS:
        raise UsageError(f"--context {request.context}: from 1k to 1000k tokens can be asked for")
    if request.chars_per_token is not None and not 0.5 <= request.chars_per_token <= 20:
        raise UsageError(f"{request.chars_per_token} characters a token cannot be: 0.5 to 20")
