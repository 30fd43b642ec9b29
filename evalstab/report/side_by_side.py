"""Both series of a comparison side by side: their numbers, and where each candidate stood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.facts import Facts, block, facts_of, is_complete
from evalstab.report.headline import headline
from evalstab.report.page import Figure, PairData, Paragraph, Section, Table

NONE = "–"
FIGURE = "places-of-both"


@dataclass(frozen=True, slots=True)
class Both:
    """The scores of base and new, and the places of all candidates in each; ``figure`` is the name
    of the plot's file."""

    base: Json
    new: Json
    places: PairData
    figure: str = FIGURE


def side_by_side(both: Both) -> Section:
    """One line a number, base and new beside each other."""
    columns = [tuple(_numbers(facts_of(scores))) for scores in (both.base, both.new)]
    rows = tuple((name, value, new) for (name, value), (_, new) in zip(*columns, strict=True))
    table = Table(("", "base", "new"), rows, ("left", "left", "left"))
    note = "What these trials showed, side by side; whether a difference is one stands under Tests."
    return Section("Side by side", (table, Paragraph(note)))


def places_of_both(both: Both) -> Section:
    """Median, best and worst place of each candidate in both series, and how far it moved."""
    data = both.places
    order = sorted(
        range(len(data.candidates)),
        key=lambda i: (_middle(data.base[i], float("inf")), data.candidates[i]),
    )
    rows = tuple(
        (
            labels.name(data.candidates[i]),
            *_side(data.base[i]),
            *_side(data.new[i]),
            _moved(data.base[i], data.new[i]),
        )
        for i in order
    )
    header = ("candidate", "base, median", "best to worst", "new, median", "best to worst", "moved")
    table = Table(header, rows, ("left", *("right",) * 5))
    title = "Places of each candidate in both series"
    alt = f"{title}: {numbers.plural(len(order), 'row')}, base above new, best of the base on top."
    note = "Moved: median place in new less that in base; below zero is nearer to the first place."
    return Section(title, (Figure(both.figure, title, alt, data), table, Paragraph(note)))


def _numbers(facts: Facts) -> Iterator[tuple[str, str]]:
    verdict = block(facts.scores, "verdict")
    gate = f", gate {labels.name(verdict['gate'])}" if verdict.get("gate") else ""
    yield "verdict", labels.name(verdict.get("status") or "none") + gate
    yield "valid trials", f"{len(facts.valid)} of {facts.planned}"
    yield "complete deliverables", f"{sum(map(is_complete, facts.valid))} of {len(facts.valid)}"
    size = facts.context
    yield "active context, median", numbers.UNKNOWN if size is None else numbers.count(size)
    yield from headline(facts)


def _side(places: Sequence[float]) -> tuple[str, str]:
    if not places:
        return NONE, NONE
    low, high = min(places), max(places)
    return numbers.points(median(places)), f"{numbers.points(low)} to {numbers.points(high)}"


def _moved(base: Sequence[float], new: Sequence[float]) -> str:
    if not base or not new:
        return NONE
    change = median(new) - median(base)
    return f"+{numbers.points(change)}" if change > 0 else numbers.points(change)


def _middle(places: Sequence[float], none: float) -> float:
    return median(places) if places else none
