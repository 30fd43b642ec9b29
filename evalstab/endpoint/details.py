"""``reasoning_details``: read as text, and kept so that they can be sent back verbatim.

Serves A2 and A4. In a stream the entries come in pieces; pieces of one entry (same type, index and
id in a row) are put together, and whatever else an entry holds (a signature, encrypted data) is
kept as it came.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from evalstab.chat import Json
from evalstab.endpoint.doubling import join
from evalstab.endpoint.halves import whole_json

MAX_DETAILS = 1000
TEXT_KEYS = ("text", "summary")
_GROWING = ("text", "summary", "data")


@dataclass(slots=True)
class _Entry:
    rest: Json
    texts: dict[str, list[str]]


@dataclass(slots=True)
class Details:
    """The entries so far; ``parts`` are the pieces of text in the order of arrival."""

    parts: list[str] = field(default_factory=list)
    _entries: list[_Entry] = field(default_factory=list)
    _identity: tuple[object, ...] = ()

    def add(self, entry: Json) -> int:
        """Take one entry or a piece of one; gives the number of characters it brought."""
        identity = tuple(str(entry.get(key)) for key in ("type", "index", "id"))
        if not self._entries or identity != self._identity:
            if len(self._entries) >= MAX_DETAILS:
                return 0
            self._entries.append(_Entry({}, {}))
            self._identity = identity
        current, size = self._entries[-1], 0
        for key, value in entry.items():
            if key in _GROWING and isinstance(value, str):
                current.texts.setdefault(key, []).append(value)
                size += len(value)
                if key in TEXT_KEYS and value:
                    self.parts.append(value)
            elif value is not None or key not in current.rest:
                current.rest[key] = value
        return size

    def verbatim(self) -> tuple[Json, ...]:
        """The entries as whole objects, each text once."""
        return tuple(
            whole_json(entry.rest | {k: join(parts).text for k, parts in entry.texts.items()}) or {}
            for entry in self._entries
        )
