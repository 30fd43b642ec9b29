"""What is read from cards, and what is said of it. ``unknown`` is never ``ok``."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

Health = Literal["ok", "degraded", "failed", "unknown"]
Loss = Literal["lost", "reset required", "unknown error"]
WORST: tuple[Health, ...] = ("failed", "degraded", "unknown", "ok")
_BUS = re.compile(r"^(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.[0-9a-fA-F])?$")


class Link(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A PCIe link: generation and width as they are and as they could be; None is not known."""

    gen: int | None = None
    gen_max: int | None = None
    width: int | None = None
    width_max: int | None = None


class Card(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One card at one moment; None is not known, ``unreadable`` says why.

    ``bus`` is domain:bus:device in sysfs spelling; cards are told apart by ``uuid``, else by it.
    ``reasons`` is NVML's mask of clock event reasons, ``throttled_ns`` its time counters.
    Temperatures in °C, power in W, ``busy`` in percent. ``lost`` says that it no longer answers.
    """

    index: int | None = None
    bus: str | None = None
    uuid: str | None = None
    name: str | None = None
    pstate: int | None = None
    busy: float | None = None
    temperature: float | None = None
    memory_temperature: float | None = None
    power: float | None = None
    power_limit: float | None = None
    link: Link = msgspec.field(default_factory=Link)
    replays: int | None = None
    reasons: int | None = None
    throttled_ns: dict[str, int] = msgspec.field(default_factory=dict)
    ecc_uncorrected: int | None = None
    remap_failure: bool | None = None
    recovery_action: int | None = None
    processes: list[int] | None = None
    lost: Loss | None = None
    unreadable: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def key(self) -> str:
        """What a card is known by: UUID, else bus, else the index."""
        return self.uuid or self.bus or f"index {self.index}"

    @property
    def title(self) -> str:
        """How a card is called for people: bus without domain, else what is known."""
        return (self.bus or "").partition(":")[2] or self.uuid or f"card {self.index}"


class Port(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A PCI device on the way to a card (or the card itself), from sysfs.

    ``errors`` counts AER errors by kind; None where the kernel keeps no counters.
    """

    link: Link = msgspec.field(default_factory=Link)
    errors: dict[str, int] | None = None
    ghost: bool = False


class Reading(msgspec.Struct, kw_only=True, omit_defaults=True):
    """All cards at one moment. ``at`` is seconds since 1970.

    ``source``: nvml, nvidia-smi, sysfs, or none. ``problem`` says why a source could not be read
    where there should be one; ``failed`` that this alone is a failure of the rig. ``paths`` are the
    PCI devices from a card up to its root port, by the card's bus.
    """

    at: float
    source: str = "none"
    driver: str | None = None
    cards: list[Card] = msgspec.field(default_factory=list)
    paths: dict[str, dict[str, Port]] = msgspec.field(default_factory=dict)
    problem: str | None = None
    failed: bool = False
    advice: str | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at, what was found, and what to do about it."""

    name: str
    status: Health
    detail: str
    advice: str | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened to the rig; ``failed`` spoils the trials in whose window it lies.

    ``at`` and ``last_good`` are seconds since 1970: when it was first seen, and when all was still
    well. ``evidence`` holds slices of logs and the last reading, taken at once.
    """

    at: float
    kind: str
    status: Health
    detail: str
    card: str | None = None
    last_good: float | None = None
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)


def worst(statuses: list[Health]) -> Health:
    """The worst of several, ``unknown`` without any."""
    return next((status for status in WORST if status in statuses), "unknown")


def bus_id(text: str) -> str | None:
    """``0000:42:00`` out of any spelling of a PCI address, None where it is none."""
    found = _BUS.match(text.strip(" :\n"))
    if found is None:
        return None
    return f"{int(found[1] or '0', 16):04x}:{found[2]}:{found[3]}".lower()
