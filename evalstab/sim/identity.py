"""Which trial a request belongs to: by its header, by its call ids, else by order of starting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from evalstab.chat import Json
from evalstab.sim.conversation import Conversation, text_of
from evalstab.sim.dice import fingerprint
from evalstab.sim.mind import Mind
from evalstab.sim.summary import trial_in
from evalstab.sim.world import Identity, World

HEADER = "x-evalstab-trial"
NAMELESS = "-"
"""The series of requests that carry no header."""
_HEADER = re.compile(r"(.{1,300})/(\d{1,7})/(\d{1,3})")
_MARK = re.compile(r"([0-9a-f]{6})([0-9a-f]{2})$")


def call_ids(mind: Mind, identity: Identity, place: object, prefix: str, many: int) -> list[str]:
    """Ids for the calls of one answer; they end in trial and attempt, so that history tells."""
    mark = f"{identity.trial & 0xFFFFFF:06x}{identity.attempt & 0xFF:02x}"
    return [
        f"{prefix}{fingerprint(*mind.key('call', identity.trial, place, number))}{mark}"
        for number in range(many)
    ]


def identify(
    world: World, header: str | None, body: Mapping[str, Any], conversation: Conversation
) -> Identity:
    """Series, trial and attempt of a request."""
    if header and (found := _HEADER.fullmatch(header)):
        return Identity(unquote(found[1]), int(found[2]), int(found[3]))
    if conversation.steps:
        messages = [m for m in body.get("messages") or [] if isinstance(m, dict)]
        if (trial := _from_history(world, messages)) is not None:
            return Identity(NAMELESS, trial, 1)
    if (trial := trial_in(conversation.prompt)) is not None:
        return Identity(NAMELESS, trial, 1)
    return Identity(NAMELESS, world.begin(conversation.prompt) if conversation.brief else 1, 1)


def _from_history(world: World, messages: Sequence[Json]) -> int | None:
    if messages and messages[-1].get("role") == "assistant":
        messages = messages[:-1]
    for message in reversed(messages):
        if message.get("role") != "assistant":
            continue
        for call in message.get("tool_calls") or []:
            if isinstance(call, dict) and (found := _MARK.search(str(call.get("id", "")))):
                return int(found[1], 16)
        return world.recall(text_of(message.get("content")))
    return None
