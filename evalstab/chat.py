"""The chat vocabulary: what is said to a model and what it says back, free of any wire form.

All values are frozen msgspec structs, so that a record of thousands of steps reads and writes at
the speed of the disk. Texts are decoded Unicode; offsets anywhere count code points.
"""

from __future__ import annotations

from typing import Any

import msgspec

Json = dict[str, Any]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call that arrived as a call.

    ``arguments`` is the assembled text, unwrapped once where it was encoded twice; ``complete``
    is false when it was cut or is no JSON object: such a call is never executed. ``name`` is
    normalised to an offered tool where special tokens stuck to it (``raw_name`` keeps the rest).
    ``id`` is the server's own and is sent back byte for byte.
    """

    id: str
    name: str
    arguments: str
    complete: bool = True
    raw_name: str | None = None


class IntendedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that stood as markup in a text: recorded, and executed only where asked for."""

    family: str
    name: str
    arguments: str
    channel: str
    start: int
    end: int


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Token counts as the server states them; ``None`` where it does not (a zero is unknown)."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class ServerTimings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The server's own clock for one response (llama.cpp family); seconds and tokens."""

    prompt_tokens: int | None = None
    prompt_seconds: float | None = None
    decoded_tokens: int | None = None
    decode_seconds: float | None = None
    cached_tokens: int | None = None
    context_used: int | None = None
    context_size: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as offered to the model; ``terminal`` ends the trial when it is called well."""

    name: str
    description: str
    parameters: Json
    terminal: bool = False

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the parameters that a call must carry."""
        return tuple(self.parameters.get("required", ()))

    def as_openai(self) -> Json:
        """The tool in the form of the chat completions API."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }
