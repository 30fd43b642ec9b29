"""Tokens of a step, and who counted them: the server, its tokenizer, or an estimate of ours.

An estimate divides lengths by the characters that one token of this very trial takes where the
server counted some of its answers, else by 3.5, which fits German and English prose on current
vocabularies within about a fifth. It always says that it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from evalstab.chat import Usage
from evalstab.endpoint.base import Reply, usage_total
from evalstab.trial.record import Step, TrialStarted

Source = Literal["server", "tokenizer", "estimate"]
DEFAULT_CHARACTERS_PER_TOKEN = 3.5
_LEAST_TOKENS = 200
_PLAUSIBLE = (0.5, 12.0)


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens and who counted it."""

    count: int
    source: Source


@dataclass(frozen=True, slots=True)
class Scale:
    """Characters that a token takes."""

    characters: float = DEFAULT_CHARACTERS_PER_TOKEN

    def tokens(self, length: int) -> TokenCount:
        """An estimate for a text of this many characters; at least 1 for any text."""
        return TokenCount(max(round(length / self.characters), int(length > 0)), "estimate")

    @staticmethod
    def length_sent(started: TrialStarted | None) -> int:
        """Characters of the first request: tools and messages."""
        if started is None:
            return 0
        tools = started.fields.get("tools")
        length = len(msgspec.json.encode(tools)) if tools else 0
        return length + sum(len(bytes(message)) for message in started.messages)


def text_length(reply: Reply) -> int:
    """Characters that the model wrote in a reply, over all channels."""
    calls = sum(len(call.name) + len(call.arguments) for call in reply.tool_calls)
    return len(reply.reasoning or "") + len(reply.content or "") + calls


def scale_of(steps: Iterable[Step]) -> Scale:
    """Characters per token where the server counted answers of this trial, else the default."""
    characters = tokens = 0
    for step in steps:
        reply = step.reply
        if reply and reply.usage and reply.usage.completion_tokens:
            characters += text_length(reply)
            tokens += reply.usage.completion_tokens
    if tokens < _LEAST_TOKENS or not _PLAUSIBLE[0] <= characters / tokens <= _PLAUSIBLE[1]:
        return Scale()
    return Scale(characters / tokens)


def context_tokens(step: Step, sent: int, scale: Scale) -> tuple[TokenCount, TokenCount]:
    """Prompt tokens and active context of a step; ``sent`` is the characters of its request."""
    reply = step.reply
    if reply is not None:
        for usage, source in _counts(reply):
            total = usage_total(usage)
            if usage.prompt_tokens is not None and total is not None:
                return TokenCount(usage.prompt_tokens, source), TokenCount(total, source)
    prompt = scale.tokens(sent)
    answer = scale.tokens(text_length(reply)) if reply else TokenCount(0, "estimate")
    return prompt, TokenCount(prompt.count + answer.count, "estimate")


def reasoning_tokens(reply: Reply, scale: Scale) -> TokenCount:
    """Tokens of the reasoning in one reply.

    Where the server splits its count, that; where it counts the answer as a whole and nothing but
    reasoning arrived, the whole; else the share of the answer's tokens that the characters of the
    reasoning have (an estimate), and without any count the length alone.
    """
    for usage, source in _counts(reply):
        if usage.reasoning_tokens is not None:
            return TokenCount(usage.reasoning_tokens, source)
    length, total = len(reply.reasoning or ""), text_length(reply)
    completion = reply.usage.completion_tokens if reply.usage else None
    if not length:
        return TokenCount(0, "server" if reply.usage else "estimate")
    if completion is None:
        return scale.tokens(length)
    if length == total:
        return TokenCount(completion, "server")
    return TokenCount(round(completion * length / total), "estimate")


def _counts(reply: Reply) -> Iterator[tuple[Usage, Source]]:
    if reply.usage is not None:
        yield reply.usage, "server"
    if reply.counted is not None:
        yield reply.counted, "tokenizer"


def worst_source(sources: Iterable[Source]) -> Source:
    """The least trustworthy of several sources: a sum is as good as its worst part."""
    order: tuple[Source, ...] = ("estimate", "tokenizer", "server")
    present = set(sources)
    return next((source for source in order if source in present), "estimate")
