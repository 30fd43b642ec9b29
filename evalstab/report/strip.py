"""The strip on top of the page: one tile a trial, who won it and what went wrong in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evalstab.chat import Json
from evalstab.findings import CODES
from evalstab.report import labels, numbers
from evalstab.report.facts import Facts, index, number

HUES = 6


@dataclass(frozen=True, slots=True)
class Tile:
    """One trial at a glance; ``hue`` tells winners apart (0: none), ``codes`` count findings.

    ``key`` names its transcript in the page, None where there is none to open.
    """

    title: str
    key: str | None
    outcome: str
    winner: str
    top: str
    faults: int
    hue: int = 0
    codes: dict[str, int] = field(default_factory=dict)


def key_of(trial: Json) -> str:
    """The name of an attempt's transcript in the page: ``3``, or ``3.1`` for a spoilt attempt."""
    spoilt = trial.get("outcome") == "invalid"
    attempt = int(number(trial, "attempt") or 1)
    return f"{index(trial)}.{attempt}" if spoilt else index(trial)


def tiles(facts: Facts, keys: frozenset[str]) -> tuple[Tile, ...]:
    """One tile for each attempt that was scored or kept, in order."""
    hues = {who: 1 + place % HUES for place, who in enumerate(facts.wins)}
    return tuple(_tile(trial, hues, keys) for trial in facts.trials)


def code_counts(shown: tuple[Tile, ...]) -> list[tuple[str, int, str]]:
    """Finding codes over all tiles with their counts and meanings, most frequent first."""
    total: Counter[str] = Counter()
    for tile in shown:
        total.update(tile.codes)
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return [(code, n, CODES[code].meaning if code in CODES else "") for code, n in ordered]


def _tile(trial: Json, hues: dict[str, int], keys: frozenset[str]) -> Tile:
    found = [f for f in trial.get("findings") or () if isinstance(f, dict)]
    codes = Counter(labels.name(f.get("code") or "not stated", 60) for f in found)
    winners = [str(who) for who in trial.get("winners") or ()]
    top = number(trial, "top_score")
    key = key_of(trial)
    return Tile(
        title=f"Trial {index(trial)}",
        key=key if key in keys else None,
        outcome=labels.name(trial.get("outcome") or numbers.UNKNOWN),
        winner=_winner(winners),
        top="" if top is None else numbers.points(top),
        faults=sum(f.get("side") == "model" for f in found),
        hue=hues.get(winners[0], 0) if len(winners) == 1 else 0,
        codes=dict(codes),
    )


def _winner(winners: list[str]) -> str:
    if len(winners) == 1:
        return labels.name(winners[0])
    return f"{len(winners)} tied" if winners else "no ranking"
