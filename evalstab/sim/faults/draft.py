"""An answer that is being spoilt: its texts, its calls, and what was done to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from evalstab.chat import Json
from evalstab.sim import tokens
from evalstab.sim.conversation import Conversation
from evalstab.sim.dice import Dice
from evalstab.sim.mind import Mind
from evalstab.sim.turn import Call, Injection, Turn

TransportKind = Literal[
    "drop",
    "stall",
    "error-frame",
    "bad-frame",
    "no-done",
    "no-finish",
    "parse-error",
    "overloaded",
    "restart",
    "doubled",
]


@dataclass(frozen=True, slots=True)
class Transport:
    """A fault of the transport; ``share`` is the part of the answer that still arrives."""

    kind: TransportKind
    share: float


@dataclass(frozen=True, slots=True)
class Moment:
    """What of a request depends on the moment: the load, whether its step is asked for the first
    time, whether the answer is streamed, and which faults its form does not show."""

    in_flight: int = 1
    fresh: bool = True
    stream: bool = True
    unseen: frozenset[str] = frozenset()


@dataclass(slots=True)
class Draft:
    """The answer as it stands, and the injections made so far.

    ``finish`` replaces the finish reason; ``taken`` are the places that a fault already holds:
    one fault a place and step, so that the offsets of each stay true.
    """

    mind: Mind
    conversation: Conversation
    turn: Turn
    context: int
    injections: list[Injection] = field(default_factory=list)
    transport: Transport | None = None
    finish: str | None = None
    taken: set[str] = field(default_factory=set)

    @property
    def step(self) -> int:
        """Number of the step."""
        return self.conversation.step

    @property
    def language(self) -> str:
        """Language of the task."""
        return self.conversation.brief.language if self.conversation.brief else "en"

    def text(self, channel: str) -> str:
        """The text of a channel: reasoning, content, or the file that is written last."""
        if channel == "file":
            return str(self.turn.calls[-1].arguments["content"]) if self.writes_prose() else ""
        return self.turn.reasoning if channel == "reasoning" else self.turn.content

    def writes_prose(self) -> bool:
        """Whether the last call writes a text document."""
        call = self.turn.calls[-1] if self.turn.calls else None
        path = str(call.arguments.get("path")) if call else ""
        return call is not None and call.name == "write_file" and path.endswith(".md")

    def set_text(self, channel: str, text: str) -> None:
        """Replace the text of a channel."""
        if channel == "file":
            last = self.turn.calls[-1]
            call = Call(last.name, {**last.arguments, "content": text})
            self.turn = replace(self.turn, calls=(*self.turn.calls[:-1], call))
        elif channel == "reasoning":
            self.turn = replace(self.turn, reasoning=text)
        else:
            self.turn = replace(self.turn, content=text)

    def set_calls(self, calls: tuple[Call, ...]) -> None:
        """Replace the calls."""
        self.turn = replace(self.turn, calls=calls)

    def enter(
        self,
        code: str,
        kind: str,
        channel: str,
        place: tuple[int, int] | None = None,
        detail: Json | None = None,
    ) -> None:
        """Note an injection; ``place`` are its offsets in the channel's text as it now stands."""
        text = self.text(channel) if channel in {"reasoning", "content", "file"} else ""
        start, end = place or (None, None)
        self.injections.append(
            Injection(
                code=code,
                step=self.step,
                channel=channel,
                kind=kind,
                start=start,
                end=end,
                excerpt=text[start:end][:200] if place else "",
                context_tokens=self.context + self._tokens_before(channel, start),
                detail=detail or {},
            )
        )

    def _tokens_before(self, channel: str, start: int | None) -> int:
        before = self.text(channel)[:start] if start is not None else ""
        own = sum(1 for _ in tokens.pieces(before))
        if channel == "reasoning":
            return own
        thought = self.turn.reasoning_tokens
        return thought + own + (tokens.count(self.turn.content) if channel == "file" else 0)


Spoiler = Callable[[Draft, Dice], bool]
"""Puts one fault into a draft; false where this answer has no place for it."""
