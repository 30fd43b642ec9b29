"""How many tokens a prompt has for this very endpoint, asked of its own tokenizer.

vLLM and others count a whole chat request (``/tokenize``); llama.cpp does so too
(``/v1/chat/completions/input_tokens``), or renders it (``/apply-template``) and counts the text.
Where a server offers none of this, only the usage of a real request tells (``probe.py``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Refusal
from evalstab.endpoint.openai_chat import OpenAIChat

_Way = Callable[["TokenCounter", Json], Awaitable[int | None]]
_FORWARDED = ("model", "tools", "chat_template_kwargs")


@dataclass(slots=True)
class TokenCounter:
    """Counts the prompt tokens of chat requests; remembers which way this server offers."""

    client: OpenAIChat
    fields: Json
    _way: _Way | None = None
    _tried: bool = False

    async def count(self, messages: Sequence[Json]) -> int | None:
        """Prompt tokens of these messages with the request's tools; None where nobody counts."""
        body: Json = {key: self.fields[key] for key in _FORWARDED if key in self.fields}
        body["messages"] = list(messages)
        if self._tried:
            return await self._way(self, body) if self._way else None
        self._tried = True
        for way in _WAYS:
            counted = await way(self, body)
            if counted is not None:
                self._way = way
                return counted
        return None

    async def ask(self, path: str, body: Json) -> Json | None:
        """The answer to a POST beside or below the API, None where there is no usable one."""
        try:
            answer = msgspec.json.decode(
                await self.client.post(path, msgspec.json.encode(body)), type=dict
            )
        except (Refusal, ConnectionError, TimeoutError, msgspec.MsgspecError):
            return None
        return answer


async def _by_tokenize(counter: TokenCounter, body: Json) -> int | None:
    answer = await counter.ask(
        counter.client.beside("tokenize"), body | {"add_generation_prompt": True}
    )
    return _positive(answer, "count")


async def _by_input_tokens(counter: TokenCounter, body: Json) -> int | None:
    answer = await counter.ask("/chat/completions/input_tokens", body)
    return _positive(answer, "input_tokens")


async def _by_template(counter: TokenCounter, body: Json) -> int | None:
    rendered = await counter.ask(counter.client.beside("apply-template"), body)
    if not rendered or not isinstance(rendered.get("prompt"), str):
        return None
    content = {"content": rendered["prompt"], "add_special": True, "parse_special": True}
    answer = await counter.ask(counter.client.beside("tokenize"), content)
    tokens = (answer or {}).get("tokens")
    return len(tokens) if isinstance(tokens, list) and tokens else None


def _positive(answer: Json | None, key: str) -> int | None:
    value: Any = (answer or {}).get(key)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value > 0 else None


_WAYS: tuple[_Way, ...] = (_by_tokenize, _by_input_tokens, _by_template)
