"""What went wrong between two readings of a watch. Pure, like ``judge.py``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalstab.hardware.judge import (
    HW_THERMAL,
    POWER_BRAKE,
    SAMPLES,
    SW_THERMAL,
    THROTTLES,
    link_check,
    path_checks,
    under_load,
)
from evalstab.hardware.model import Card, Event, Health, Link, Reading

_BITS = {"sw_thermal": SW_THERMAL, "hw_thermal": HW_THERMAL, "power_brake": POWER_BRAKE}
_COUNTED = {name: THROTTLES[bit] for name, bit in _BITS.items()}


def changes(first: Reading, before: Reading, now: Reading) -> list[Event]:
    """What went wrong between two readings of a watch; ``first`` is the reading that it began with.

    ``failed`` events spoil the trials around them, ``degraded`` ones are told.
    """
    found = list(_losses(first, now))
    known = {card.key: card for card in before.cards}
    for card in now.cards:
        old = known.get(card.key)
        if old is None or card.lost is not None:
            continue
        fell = _fell(old.link.gen, card.link.gen) and under_load(card)
        replays = _grown(old.replays, card.replays)
        if fell and replays:
            told = f"link fell to generation {card.link.gen} with {replays} replays under load"
            found.append(_event(now, before, "link", "failed", card, told))
        elif replays:
            found.append(_event(now, before, "replays", "degraded", card, f"{replays} replays"))
        fresh = (card.reasons or 0) & ~(old.reasons or 0)
        found += [
            _event(now, before, "throttled", "degraded", card, told)
            for bit, told in THROTTLES.items()
            if fresh & bit
        ]
        found += [
            _event(now, before, "throttled", "degraded", card, told)
            for name, told in _COUNTED.items()
            if _grown(old.throttled_ns.get(name), card.throttled_ns.get(name))
            and not fresh & _BITS[name]
        ]
        if _grown(old.ecc_uncorrected, card.ecc_uncorrected):
            told = "uncorrected memory errors"
            found.append(_event(now, before, "memory_errors", "failed", card, told))
    found += [
        Event(at=now.at, kind="pcie_errors", status=c.status, detail=c.detail, last_good=before.at)
        for c in path_checks([before, now])
    ]
    return found


def slow_links(recent: Sequence[Reading], best: Mapping[str, Link]) -> list[Event]:
    """Links that were below the best of this rig in all of the last readings, under load."""
    if len(recent) < SAMPLES:
        return []
    found = []
    for card in recent[-1].cards:
        series = [c for reading in recent[-SAMPLES:] for c in reading.cards if c.key == card.key]
        if card.lost is not None or len(series) < SAMPLES:
            continue
        check = link_check(series, best.get(card.key))
        if check.status == "degraded":
            found.append(
                _event(recent[-1], recent[-2], "slow_link", "degraded", card, check.detail)
            )
    return found


def _losses(first: Reading, now: Reading) -> Iterator[Event]:
    if now.problem and now.failed and not now.cards:
        yield Event(at=now.at, kind="driver", status="failed", detail=now.problem)
        return
    titles = {c.index: c.title for c in first.cards if c.lost is None and c.index is not None}
    for card in now.cards:
        if card.lost is not None:
            title = titles.get(-1 if card.index is None else card.index, card.title)
            told = f"card {title} no longer answers: {card.lost}"
            yield Event(at=now.at, kind="card", status="failed", detail=told, card=title)
    here = {card.key for card in now.cards}
    silent = sum(card.lost is not None for card in now.cards)
    gone = [card for card in first.cards if card.lost is None and card.key not in here]
    for card in gone[silent:] if silent else gone:
        told = f"card {card.title} is gone ({card.key})"
        yield Event(at=now.at, kind="card", status="failed", detail=told, card=card.title)
    for bus in first.paths.keys() - now.paths.keys():
        told = f"card {bus} has left the PCI tree"
        yield Event(at=now.at, kind="card", status="failed", detail=told, card=bus)


def _event(
    now: Reading, before: Reading, kind: str, status: Health, card: Card, told: str
) -> Event:
    return Event(
        at=now.at,
        kind=kind,
        status=status,
        detail=f"card {card.title}: {told}",
        card=card.title,
        last_good=before.at,
    )


def _fell(before: int | None, now: int | None) -> bool:
    return before is not None and now is not None and now < before


def _grown(before: int | None, now: int | None) -> int:
    return max(0, now - before) if before is not None and now is not None else 0
