"""What is known of a server's start: ``launch.json``, one document a series.

Three ranks of evidence are kept apart. *Effective*: what the running server says of itself, in its
pages or its boot log. *Configured*: what its container, unit or process was started with.
*Declared*: what a person wrote down, or what was found in somebody's history. A higher rank wins;
where two disagree, both are shown. What no evidence says is not known: no default is filled in.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION = 1
LAUNCH_FILE = "launch.json"
UNKNOWN = "unknown"

Rank = Literal["effective", "configured", "declared"]
Method = Literal["container", "unit", "process", "declared", "server", "none"]
RANKS: tuple[Rank, ...] = ("effective", "configured", "declared")

Json = dict[str, Any]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What one source says: ``facts`` in our vocabulary, ``raw`` as it stood there (redacted)."""

    rank: Rank
    source: str
    facts: Json = msgspec.field(default_factory=dict)
    raw: Json = msgspec.field(default_factory=dict)


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is known, by the highest rank that says it."""

    value: Any
    rank: Rank
    source: str


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a contradiction."""

    value: Any
    rank: Rank
    source: str


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """Two sources that do not say the same about one fact."""

    fact: str
    said: tuple[Said, ...]


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What tells one process of a server from the next one; None where it cannot be seen.

    ``counters`` are metrics that only ever grow while one process lives. ``ended`` says in words
    how a container that does not run came to its end.
    """

    container: str | None = None
    container_started: str | None = None
    running: bool | None = None
    ended: str | None = None
    restart_count: int | None = None
    unit_restarts: int | None = None
    pid: int | None = None
    pid_started: int | None = None
    process_started: float | None = None
    counters: dict[str, float] = msgspec.field(default_factory=dict)


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """All that was learnt about how a server was started.

    ``captured`` is False where no artefact of the start could be had (``reason`` says why).
    ``command`` can be pasted as it is, but for secrets that were taken out. ``placement`` (names,
    ports, pids, hosts, times) lies outside the ``fingerprint``, which is "unknown" where nothing
    is known; ``unknown`` lists what a comparison of two launches cannot tell.
    """

    schema_version: int = SCHEMA_VERSION
    at: str
    method: Method
    captured: bool
    reason: str | None = None
    command: str | None = None
    fingerprint: str = UNKNOWN
    facts: dict[str, Fact] = msgspec.field(default_factory=dict)
    contradictions: tuple[Contradiction, ...] = ()
    unknown: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    placement: Json = msgspec.field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    files: Json = msgspec.field(default_factory=dict)
    client_sampling: Json = msgspec.field(default_factory=dict)
    server_sampling: Json = msgspec.field(default_factory=dict)
    mark: Mark = Mark()
    notes: tuple[str, ...] = ()

    def value(self, fact: str) -> Any:
        """What is known of a fact, None where nothing is."""
        known = self.facts.get(fact)
        return known.value if known else None


class Found(msgspec.Struct, kw_only=True):
    """What one way of looking brought, before it is put together."""

    method: Method
    evidence: list[Evidence] = msgspec.field(default_factory=list)
    command: str | None = None
    placement: Json = msgspec.field(default_factory=dict)
    files: Json = msgspec.field(default_factory=dict)
    incomplete: list[str] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)
    mark: Mark = Mark()
