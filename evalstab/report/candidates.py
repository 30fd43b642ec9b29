"""Places and totals of the candidates over the trials, as tables and as plots."""

from __future__ import annotations

from statistics import fmean
from typing import cast

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.facts import Facts, block, index, number, reason
from evalstab.report.page import (
    Block,
    BumpData,
    Figure,
    Paragraph,
    Section,
    StripData,
    Table,
    Trajectory,
)

MAX_COLUMNS = 20
MAX_ORDER = 15
Places = tuple[float | None, ...]


def places_of(facts: Facts) -> tuple[tuple[str, ...], dict[str, Places]]:
    """The trials that have a place column, and the places of every candidate in them.

    ``stability.trials`` says which trials the entries of ``candidates.*.places`` belong to;
    without it they belong to all trials or to the valid ones, whichever has as many. A candidate
    with fewer places than others was not ranked in the rest.
    """
    known = block(facts.stability, "candidates")
    places = {who: _places(entry) for who, entry in known.items() if isinstance(entry, dict)}
    length = max(map(len, places.values()), default=0)
    places = {who: line + (None,) * (length - len(line)) for who, line in places.items()}
    named = facts.stability.get("trials") or ()
    if len(named) == length:
        return tuple(map(str, named)), places
    for trials in (facts.trials, facts.valid, facts.ranked):
        if len(trials) == length:
            return tuple(map(index, trials)), places
    return tuple(str(i + 1) for i in range(length)), places


def furthest_fallen(facts: Facts) -> tuple[str, Places] | None:
    """The one of those that ever stood first whose places lie furthest apart, None where unknown.

    Whether a winner may as well end up far behind is what a reader wants to know. Ties: the larger
    spread. Where nobody stood first, all candidates are looked at.
    """
    _, places = places_of(facts)
    entries = block(facts.stability, "candidates")
    moved = {who: number(entries, who, "range") for who in places}
    known = [who for who, far in moved.items() if far is not None]
    if not known:
        return None
    known = [who for who in known if facts.wins.get(who)] or known
    best = max(known, key=lambda who: (moved[who] or 0, number(entries, who, "sd") or 0))
    return best, places[best]


def trajectories(facts: Facts) -> Section | None:
    """The two plots; None where no trial has a ranking or a total."""
    blocks: list[Block] = []
    trials, places = places_of(facts)
    if any(place is not None for line in places.values() for place in line):
        blocks += [_bump(facts, trials, places)]
    columns = tuple(_totals(trial) for trial in facts.trials)
    if any(columns):
        blocks += [_strips(facts, columns)]
    return Section("Rank trajectories and score scales", tuple(blocks)) if blocks else None


def places(facts: Facts) -> Section | None:
    """The places of every candidate, best mean place first; None where there are none."""
    trials, lines = places_of(facts)
    if not lines:
        return None
    entries = block(facts.stability, "candidates")
    shown = trials[:MAX_COLUMNS]
    header = ("candidate", *shown, "best to worst", "SD")
    rows = tuple(
        (
            labels.name(who),
            *(_place(value) for value in lines[who][: len(shown)]),
            _range(entries, who),
            _number(number(entries, who, "sd")),
        )
        for who in sorted(lines, key=lambda who: (_mean(lines[who]), who))
    )
    table = Table(header, rows, ("left", *(["right"] * (len(shown) + 2))))  # type: ignore[arg-type]
    blocks: list[Block] = [Paragraph(_how_to_read(lines, trials)), table, Paragraph(_order(facts))]
    return Section("Places of each candidate", tuple(blocks))


def leader(facts: Facts) -> str | None:
    """The candidate that stood first most often; the better mean place decides, then the name."""
    wins = facts.wins
    _, lines = places_of(facts)
    ranked = sorted(wins, key=lambda who: (-wins[who], _mean(lines.get(who, ())), who))
    return ranked[0] if ranked else None


def _how_to_read(lines: dict[str, Places], trials: tuple[str, ...]) -> str:
    chance = numbers.decimal(((len(lines) ** 2 - 1) / 12) ** 0.5, 1)
    text = (
        "One column a trial; tied candidates share the mean of their places; SD is the standard "
        f"deviation of the places. Places drawn by lot would have an SD of {chance}."
    )
    if len(trials) > MAX_COLUMNS:
        text += f" The first {MAX_COLUMNS} of {len(trials)} trials are shown."
    if len(trials) < 8:
        text += " Drift cannot be read from fewer than eight trials."
    return text


def _order(facts: Facts) -> str:
    consensus = block(facts.stability, "consensus")
    orders, optima = consensus.get("orders") or (), number(consensus, "optima")
    if not orders:
        return f"Consensus order: {numbers.UNKNOWN}, {reason(consensus, 'orders')}."
    if optima is not None and optima > 1:
        return (
            f"Consensus: {numbers.count(optima)} different orders disagree equally little with the "
            "trials; naming one of them would invent a winner."
        )
    names = [labels.name(" = ".join(who) if isinstance(who, list) else who) for who in orders[0]]
    more = f", and {len(names) - MAX_ORDER} more" if len(names) > MAX_ORDER else ""
    return (
        "Consensus, the one order that disagrees least with all trials (Kemeny): "
        f"{', '.join(names[:MAX_ORDER])}{more}. It describes these trials and carries no interval."
    )


def _bump(facts: Facts, trials: tuple[str, ...], places: dict[str, Places]) -> Figure:
    first = leader(facts)
    lines = tuple(
        Trajectory(labels.name(who), line, facts.wins.get(who, 0), who == first)
        for who, line in sorted(places.items(), key=lambda item: (_mean(item[1]), item[0]))
    )
    winners = [f"{line.label} {numbers.times(line.wins)}" for line in lines if line.wins]
    alt = (
        f"Places of {numbers.plural(len(lines), 'candidate')} over "
        f"{numbers.plural(len(trials), 'trial')}, place 1 on top. First place: "
        f"{', '.join(winners[:6]) or 'nobody'}."
    )
    return Figure("rank_trajectories", "Places over the trials", alt, BumpData(trials, lines))


def _strips(facts: Facts, columns: tuple[tuple[float, ...], ...]) -> Figure:
    data = StripData(tuple(map(index, facts.trials)), columns)
    tops = [
        f"trial {name}: {numbers.points(max(column))}"
        for name, column in zip(data.trials, columns, strict=True)
        if column
    ]
    more = " and so on" if len(tops) > 20 else ""
    alt = f"Totals awarded in each trial. Highest total: {', '.join(tops[:20])}{more}."
    return Figure("score_scales", "Totals awarded in each trial", alt, data)


def _places(entry: Json) -> Places:
    found = entry.get("places") or ()
    return tuple(cast("float | None", value) for value in found)


def _totals(trial: Json) -> tuple[float, ...]:
    totals = block(trial, "totals")
    known = (number(totals, who) for who in totals)
    return tuple(sorted(value for value in known if value is not None))


def _mean(line: Places) -> float:
    known = [place for place in line if place is not None]
    return fmean(known) if known else float("inf")


def _place(value: float | None) -> str:
    return "–" if value is None else numbers.points(value)


def _number(value: float | None) -> str:
    return "–" if value is None else numbers.decimal(value, 1)


def _range(entries: Json, who: str) -> str:
    best, worst = number(entries, who, "best"), number(entries, who, "worst")
    if best is None or worst is None:
        return "–"
    return f"{numbers.points(best)} to {numbers.points(worst)}"
