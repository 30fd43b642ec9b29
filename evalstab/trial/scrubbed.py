"""What a server or model sent, without secrets that this process knows, before anything uses it.

A server may echo the key it was sent, and a model may write it into a file. Taking it out here,
before tools are executed and the conversation grows, keeps record, workspace and replay the same.
"""

from __future__ import annotations

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Attempt
from evalstab.redact import remembers, scrub

_attempts = msgspec.json.Decoder(list[Attempt])


def scrubbed(attempts: list[Attempt]) -> list[Attempt]:
    """The attempts without known secrets; the same objects where there are none."""
    if not remembers():
        return attempts
    raw = msgspec.json.encode(attempts)
    clean = scrub(raw)
    return attempts if clean == raw else _attempts.decode(clean)


def scrubbed_arguments(arguments: Json) -> Json:
    """Decoded arguments without known secrets: what was hidden behind escapes shows only here."""
    if not remembers():
        return arguments
    raw = msgspec.json.encode(arguments)
    clean = scrub(raw)
    return arguments if clean == raw else msgspec.json.decode(clean, type=dict)
