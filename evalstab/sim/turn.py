"""One answer of the simulated model before it takes the form of any server."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property

from evalstab.chat import Json
from evalstab.sim import tokens
from evalstab.sim.judge import Opinion


@dataclass(frozen=True)
class Call:
    """A tool call; ``raw`` replaces the arguments' text where it is broken on purpose."""

    name: str
    arguments: Json
    raw: str | None = None

    @cached_property
    def text(self) -> str:
        """The arguments as they are sent."""
        if self.raw is not None:
            return self.raw
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Turn:
    """Reasoning, content and calls of one answer, and the opinion behind it."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()
    opinion: Opinion | None = None

    @cached_property
    def reasoning_tokens(self) -> int:
        """Tokens of the reasoning."""
        return tokens.count(self.reasoning)

    @cached_property
    def completion_tokens(self) -> int:
        """All tokens of the answer: one for each call's name and one for each piece of text."""
        calls = sum(1 + tokens.count(call.text) for call in self.calls)
        return self.reasoning_tokens + tokens.count(self.content) + calls


@dataclass(frozen=True, slots=True)
class Injection:
    """A fault that was put into an answer on purpose, as the truth file states it.

    ``start`` and ``end`` are code point offsets in the channel's text; ``last_step`` is set where
    the fault spreads over several steps.
    """

    code: str
    step: int
    channel: str
    kind: str
    start: int | None = None
    end: int | None = None
    excerpt: str = ""
    context_tokens: int | None = None
    last_step: int | None = None
    detail: Json = field(default_factory=dict)
