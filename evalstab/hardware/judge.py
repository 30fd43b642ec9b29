"""From readings to what is said of the rig. Pure: no clock, no driver, no file.

Idle cards drop to PCIe generation 1 on purpose, so links are judged under load only, in three
samples running, against the best that this rig has shown. A clock held by a power cap is normal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalstab.hardware.model import Card, Check, Health, Link, Reading, worst

LOAD_BUSY = 20.0
LOAD_POWER_SHARE = 0.5
LOAD_PSTATE = 2
SAMPLES = 3
SW_THERMAL, HW_THERMAL, POWER_BRAKE, POWER_CAP = 0x20, 0x40, 0x80, 0x4
THROTTLES = {
    SW_THERMAL: "slowed down for its temperature (by the driver)",
    HW_THERMAL: "slowed down for its temperature (by the card itself)",
    POWER_BRAKE: "slowed down by its power supply",
}
_SHARES = {
    "power_cap": "power cap",
    "sw_thermal": "thermal (driver)",
    "hw_thermal": "thermal (card)",
    "power_brake": "power brake",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the rig should have: number of cards, cards seen before by key, best links by key."""

    cards: int | None = None
    known: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, Link] = field(default_factory=dict)


def under_load(card: Card) -> bool | None:
    """Whether a card is working, None where nothing tells."""
    if card.busy is not None:
        return card.busy >= LOAD_BUSY and (card.pstate is None or card.pstate <= LOAD_PSTATE)
    if card.pstate is not None and card.pstate > LOAD_PSTATE:
        return False
    if card.power is None or not card.power_limit:
        return None
    return card.power >= LOAD_POWER_SHARE * card.power_limit


def checks(
    readings: Sequence[Reading], expected: Expected, *, loaded: bool | None = None
) -> list[Check]:
    """Everything that can be said of a rig from a few readings one after the other, oldest first.

    ``loaded`` overrides what the cards say of their load, where the caller knows.
    """
    last = readings[-1]
    if last.problem and not last.cards:
        status: Health = "failed" if last.failed else "unknown"
        return [Check(name="cards", status=status, detail=last.problem, advice=last.advice)]
    made = [presence(last, expected)]
    if last.problem:
        state: Health = "failed" if last.failed else "unknown"
        made.append(Check(name="driver", status=state, detail=last.problem, advice=last.advice))
    for card in last.cards:
        if card.lost is None:
            series = [c for r in readings for c in r.cards if c.key == card.key]
            made.append(link_check(series, expected.links.get(card.key), loaded))
            made += _throttle_checks(card, readings)
            made += _error_checks(card, series)
    made += path_checks(readings)
    return [*made, *_measured(last)]


def presence(reading: Reading, expected: Expected) -> Check:
    """Whether all cards are there and answer."""
    lost = [card for card in reading.cards if card.lost is not None]
    here = {card.key for card in reading.cards}
    gone = [name for key, name in expected.known.items() if key not in here]
    well = len(reading.cards) - len(lost)
    if lost:
        told = ", ".join(f"{card.title}: {card.lost}" for card in lost)
        advice = "reset or reboot the rig; a model cannot be judged on it"
        return Check(name="cards", status="failed", detail=told, advice=advice)
    if expected.cards is not None and well < expected.cards:
        missing = f"; missing: {', '.join(gone)}" if gone else ""
        told = f"{well} of {expected.cards} cards{missing}"
        return Check(name="cards", status="failed", detail=told, advice="is one off the bus?")
    if gone:
        told = f"{well} cards; seen here before and gone: {', '.join(gone)}"
        advice = "set hardware.expect_gpus to the number there should be"
        return Check(name="cards", status="degraded", detail=told, advice=advice)
    names = sorted({card.name or "unnamed" for card in reading.cards})
    return Check(name="cards", status="ok", detail=f"{well} cards: {', '.join(names)}")


def link_check(series: Sequence[Card], best: Link | None, loaded: bool | None = None) -> Check:
    """The link of one card over a few readings; idle links say nothing."""
    card = series[-1]
    name = f"link {card.title}"
    states = [under_load(one) if loaded is None else loaded for one in series[-SAMPLES:]]
    if not all(states) or len(states) < SAMPLES:
        why = "idle" if False in states else "no sign of load"
        return Check(name=name, status="unknown", detail=f"not judged: {why}")
    gens = [c.link.gen for c in series[-SAMPLES:] if c.link.gen is not None]
    widths = [c.link.width for c in series[-SAMPLES:] if c.link.width is not None]
    if not gens or not widths:
        return Check(name=name, status="unknown", detail="the link cannot be read")
    gen, width = max(gens), max(widths)
    told = f"generation {gen}, x{width} under load"
    reference = Link(
        gen=_least(card.link.gen_max, best.gen if best else None),
        width=_least(card.link.width_max, best.width if best else None),
    )
    below = (reference.gen is not None and gen < reference.gen) or (
        reference.width is not None and width < reference.width
    )
    possible = f"generation {reference.gen}, x{reference.width}"
    if below and best is not None:
        told = f"{told}; the best seen on this rig is {possible}"
    elif below:
        told = f"{told}; card and slot could do {possible} (first time that this rig is seen)"
    elif (card.link.gen_max or 0) > gen or (card.link.width_max or 0) > width:
        told = f"{told}: as always on this rig, below what card and slot could do"
    if not below:
        return Check(name=name, status="ok", detail=told)
    return Check(
        name=name, status="degraded", detail=told, advice="check slot, riser, BIOS setting"
    )


def _throttle_checks(card: Card, readings: Sequence[Reading]) -> Iterator[Check]:
    name = f"clocks {card.title}"
    shares = time_shares(card.key, readings)
    held = [f"{_SHARES[key]} {share:.0%} of the time" for key, share in shares.items() if share > 0]
    found = [told for bit, told in THROTTLES.items() if (card.reasons or 0) & bit]
    thermal = any(shares.get(key, 0) > 0 for key in ("sw_thermal", "hw_thermal", "power_brake"))
    if found or thermal:
        told = "; ".join([*found, *held])
        yield Check(name=name, status="degraded", detail=told, advice="times are no measurement")
    elif card.reasons is None:
        yield Check(name=name, status="unknown", detail="reasons for lower clocks not reported")
    elif held or card.reasons & POWER_CAP:
        told = "; ".join(held) or "held by its power cap, which is normal"
        yield Check(name=name, status="ok", detail=told)


def time_shares(key: str, readings: Sequence[Reading]) -> dict[str, float]:
    """Share of the time in which a card was slowed down, by reason; from its time counters."""
    seen = [(r.at, c) for r in readings for c in r.cards if c.key == key and c.throttled_ns]
    if len(seen) < 2 or seen[-1][0] <= seen[0][0]:
        return {}
    (start, first), (end, last) = seen[0], seen[-1]
    wall = (end - start) * 1e9
    return {
        name: min(1.0, max(0, ns - first.throttled_ns[name]) / wall)
        for name, ns in last.throttled_ns.items()
        if name in first.throttled_ns
    }


def _error_checks(card: Card, series: Sequence[Card]) -> Iterator[Check]:
    name = f"errors {card.title}"
    if card.recovery_action:
        told = f"the driver asks for recovery (action {card.recovery_action})"
        yield Check(name=name, status="failed", detail=told, advice="reset the card or reboot")
    if card.remap_failure:
        yield Check(name=name, status="failed", detail="remapping of memory rows failed")
    if card.ecc_uncorrected:
        told = f"{card.ecc_uncorrected} uncorrected memory errors since the driver was loaded"
        yield Check(name=name, status="degraded", detail=told)
    first = series[0]
    if card.replays is not None and first.replays is not None and card.replays > first.replays:
        told = f"{card.replays - first.replays} PCIe replays in a few seconds"
        yield Check(name=name, status="degraded", detail=told, advice="check slot and riser")


def path_checks(readings: Sequence[Reading]) -> Iterator[Check]:
    """PCIe error counters that grew on the way from a card to its root port."""
    first, last = readings[0].paths, readings[-1].paths
    for bus, path in last.items():
        for place, port in path.items():
            before = (first.get(bus) or {}).get(place)
            grown = grew(before.errors if before else None, port.errors)
            bad = {k: n for k, n in grown.items() if "fatal" in k}
            if grown:
                status: Health = "failed" if bad else "degraded"
                told = ", ".join(f"{n} {kind}" for kind, n in grown.items())
                detail = f"PCIe errors at {place} on the way to {bus}: {told}"
                yield Check(name=f"errors {bus}", status=status, detail=detail)


def grew(before: Mapping[str, int] | None, after: Mapping[str, int] | None) -> dict[str, int]:
    """Error counters that grew, and by how much; nothing where either is not known."""
    if before is None or after is None:
        return {}
    return {k: n - before[k] for k, n in after.items() if k in before and n > before[k]}


def _measured(reading: Reading) -> Iterator[Check]:
    hot = [c.temperature for c in reading.cards if c.temperature is not None]
    blind = [c for c in reading.cards if c.memory_temperature is None and c.lost is None]
    if hot:
        told = f"{min(hot):.0f} to {max(hot):.0f} °C"
        if blind:
            told += "; memory temperature: not measurable on " + (
                "this card" if len(reading.cards) == 1 else f"{len(blind)} of these cards"
            )
        yield Check(name="temperature", status="unknown" if blind else "ok", detail=told)
    elif reading.cards:
        yield Check(name="temperature", status="unknown", detail="not reported")
    silent = [c for c in reading.cards if c.ecc_uncorrected is None and c.lost is None]
    if silent:
        told = f"memory errors: not reported by {len(silent)} of {len(reading.cards)} cards"
        yield Check(name="memory", status="unknown", detail=told)


def overall(made: Sequence[Check]) -> Health:
    """The worst of all checks, but that a few unknowns beside a good presence are no verdict."""
    return worst([check.status for check in made if check.status != "unknown"])


def _least(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if known else None
