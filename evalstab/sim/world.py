"""The state of a simulated server: what it was started with, and what it counts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from evalstab.sim.dialect import Dialect
from evalstab.sim.dice import fingerprint
from evalstab.sim.persona import Persona
from evalstab.task.model import Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a simulated server was started.

    ``time_scale``: simulated seconds in one real second. ``rate`` and ``first``: a constant rate
    in tokens per real second and the real seconds before the first token, in place of the
    persona's pace. ``stamps``: the truth file also holds when each token was sent.
    """

    persona: Persona
    dialect: Dialect
    seed: int
    truth: Path | None = None
    task_truth: Truth | None = None
    time_scale: float = 1.0
    rate: float | None = None
    first: float = 0.0
    stamps: bool = False
    context: int = 262_144
    model: str = ""
    api_key: str | None = None

    @property
    def served(self) -> str:
        """The model id that is served."""
        return self.model or f"sim-{self.persona.name}"


@dataclass(slots=True)
class Counters:
    """What ``/metrics`` counts."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    prompt_seconds: float = 0.0
    decode_seconds: float = 0.0
    requests: int = 0
    largest: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """Which attempt of which trial a request belongs to."""

    series: str
    trial: int
    attempt: int


@dataclass(slots=True)
class World:
    """Everything that changes while the server runs; answers do not depend on it.

    Only what happens once (a fault that a repeated request does not meet again) and what a real
    server would count or lose at a restart stands here.
    """

    settings: Settings
    counters: Counters = field(default_factory=Counters)
    in_flight: int = 0
    lives: int = 1
    started: float = field(default_factory=time.time)
    loading_until: float = 0.0
    fired: set[tuple[object, ...]] = field(default_factory=set)
    _known: dict[str, int] = field(default_factory=dict)
    _broken_off: dict[str, int] = field(default_factory=dict)
    _begun: int = 0

    @property
    def fingerprint(self) -> str | None:
        """The build fingerprint in answers; another one after each restart, where there is one."""
        own = self.settings.dialect.fingerprint
        if own is None or self.lives == 1:
            return own
        return f"{own}-{fingerprint('life', self.lives, length=6)}"

    def restart(self, seconds: float) -> None:
        """Become another process: a new start time, empty counters, and loading for a while."""
        self.lives += 1
        self.started = time.time()
        self.loading_until = time.monotonic() + seconds
        self.counters = Counters()

    def is_loading(self) -> bool:
        """Whether the server is still loading after a restart."""
        return time.monotonic() < self.loading_until

    def once(self, *key: object) -> bool:
        """True the first time this key is seen."""
        if key in self.fired:
            return False
        self.fired.add(key)
        return True

    def begin(self, prompt: str) -> int:
        """The number of a conversation that starts now and does not say which trial it is.

        Where the last answer to the same prompt broke off, this is the same trial asked again.
        """
        if (again := self._broken_off.pop(_digest(prompt), None)) is not None:
            return again
        self._begun += 1
        return self._begun

    def broke_off(self, prompt: str, trial: int) -> None:
        """Remember that the first answer of a trial broke off: it will be asked for again."""
        self._broken_off[_digest(prompt)] = trial

    def remember(self, answer: str, trial: int) -> None:
        """Remember by what it answered which trial a conversation belongs to."""
        self._known[_digest(answer)] = trial

    def recall(self, answer: str) -> int | None:
        """The trial in which this answer was given."""
        return self._known.get(_digest(answer))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
