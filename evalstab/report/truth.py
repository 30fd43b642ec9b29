"""How close the trials came to the known truth, where the task has one: another question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from evalstab.chat import Json
from evalstab.report import numbers
from evalstab.report.facts import Facts, block, index, number, numbers_of
from evalstab.report.page import Align, Block, Paragraph, Section, Table

HEADER = ("trial", "tau to the truth", "mean absolute error, points", "winner right")
ALIGN: tuple[Align, ...] = ("right", "right", "right", "left")


def first_word(facts: Facts) -> str:
    """How right the rankings were, for the first screen; empty where no truth is known."""
    taus = numbers_of(facts.ranked, "accuracy", "kendall_tau_truth")
    known, right = _winners(facts)
    parts = []
    if known:
        parts.append(f"the winner is right in {right} of {numbers.plural(known, 'ranked trial')}")
    if taus:
        parts.append(f"median tau to the truth {numbers.decimal(median(taus))} (chance 0)")
    if not parts:
        return ""
    return f"Truth: {', '.join(parts)}. This is how right, not how stable."


def mostly_wrong(facts: Facts) -> str:
    """A sentence to stand behind every word of stability, where most winners are wrong."""
    known, right = _winners(facts)
    if not known or 2 * right >= known:
        return ""
    return f" By the known truth it is wrong: the winner is right in {right} of {known}."


def _winners(facts: Facts) -> tuple[int, int]:
    """Ranked trials whose winner can be held against the truth, and those that have it right."""
    found = [block(trial, "accuracy").get("winner_right") for trial in facts.ranked]
    return sum(one is not None for one in found), sum(one is True for one in found)


def accuracy(facts: Facts) -> Section | None:
    """One line a trial; None where no trial could be compared with a truth."""
    if not any(block(trial, "accuracy") for trial in facts.valid):
        return None
    note = Paragraph(
        "Tau compares the ranking with the true order (1 the same, chance 0); the error is the "
        "mean distance of a total from the true one. A judge can be stable and wrong; these lines "
        "describe single trials and carry no interval."
    )
    rows = tuple(_row(trial) for trial in facts.valid)
    blocks = (Table(HEADER, rows, ALIGN), note, *_by_depth(facts))
    return Section("Against the known truth", blocks)


def _by_depth(facts: Facts) -> Iterator[Block]:
    """Points of the rubric that were given right, by the depth at which their fact stands."""
    known = [bands for t in facts.valid if (bands := block(t, "accuracy").get("by_depth"))]
    if not known:
        return
    rows = []
    for bands in zip(*known, strict=False):
        facts_there = sum(band["facts"] for band in bands)
        found = sum(band["found"] for band in bands)
        share = numbers.percent(found / facts_there) if facts_there else "–"
        name = f"{numbers.percent(bands[0]['from'])} to {numbers.percent(bands[0]['to'])}"
        rows.append((name, numbers.count(facts_there), numbers.count(found), share))
    header = ("depth in the documents", "facts, all trials", "points given right", "share")
    yield Table(header, tuple(rows), ("left", "right", "right", "right"))


def _row(trial: Json) -> tuple[str, ...]:
    right = block(trial, "accuracy").get("winner_right")
    return (
        index(trial),
        _cell(trial, "kendall_tau_truth", numbers.decimal),
        _cell(trial, "mean_abs_error", numbers.plain),
        "–" if right is None else "yes" if right else "no",
    )


def _cell(trial: Json, key: str, write: Callable[[float], str]) -> str:
    value = number(trial, "accuracy", key)
    return "–" if value is None else write(value)
