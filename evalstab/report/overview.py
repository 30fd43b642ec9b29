"""The table like the five-run table, one line a trial, and what became of every attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from evalstab.chat import Json
from evalstab.findings import CODES
from evalstab.report import labels, numbers
from evalstab.report.answer import first_places
from evalstab.report.candidates import furthest_fallen
from evalstab.report.facts import (
    Facts,
    block,
    index,
    is_complete,
    number,
    numbers_of,
    reason,
)
from evalstab.report.lost import lost_trials
from evalstab.report.page import Align, Block, Bullets, Paragraph, Section, Table

MANY = 12
JUDGED = ("completed", "failed")
NONE = "–"
HEADER = (
    "trial",
    "outcome",
    "files",
    "first place",
    "top score",
    "reasoning tokens",
    "largest block",
    "leaks",
    "unfinished calls",
    "active context",
    "decode tok/s",
    "wall time",
)
_TEXT = ("outcome", "first place")
ALIGN: tuple[Align, ...] = tuple("left" if title in _TEXT else "right" for title in HEADER)


def in_short(facts: Facts) -> Section:
    """What was observed in these trials, in one table."""
    rows = [
        ("complete deliverables", _complete(facts)),
        ("highest total awarded, per trial", _top_scores(facts)),
        ("first place", first_places(facts)),
        _one_candidate(facts),
        ("reasoning tokens per trial", _spanned(facts, "reasoning", "tokens")),
        ("largest single reasoning block", _largest(facts)),
        ("foreign-script and foreign-language spans", _summed(facts, "language", "spans")),
        ("unfinished tool calls", _summed(facts, "tool_calls", "unfinished")),
        ("active context of the ranking", _spanned(facts, "active_context_tokens")),
        ("wall time per trial", _wall(facts)),
    ]
    if facts.unasked:
        rows = rows[4:]
    table = Table(("observation", "value"), tuple(rows), ("left", "left"))
    note = Paragraph(
        f"Observed in {numbers.plural(len(facts.valid), 'valid trial')}; a description, not an "
        "estimate. Intervals stand with the numbers below. A tool call is unfinished where it was "
        "cut off, or its arguments are malformed: it could not be carried out."
    )
    return Section("In short", (table, note), brief=True)


def trials(facts: Facts) -> Section:
    """One line a trial, and the reasons of those that did not complete."""
    rows = [_line(trial) for trial in facts.trials]
    present = {trial.get("index") for trial in facts.trials}
    rows += [
        (str(planned), "not run", *[NONE] * (len(HEADER) - 2))
        for planned in range(1, facts.planned + 1)
        if planned not in present
    ]
    blocks: list[Block] = [Table(HEADER, tuple(rows), ALIGN)]
    if stopped := [_ending(t) for t in facts.trials if t.get("outcome") != "completed"]:
        blocks.append(Bullets(tuple(stopped)))
    return Section("Trials", tuple(blocks), brief=True)


def attrition(facts: Facts) -> Section:
    """What became of every attempt; what the rig spoilt is kept apart from the model's failures."""
    series = facts.series
    attempts, invalid = number(series, "attempts"), number(series, "invalid")
    failed = sum(t.get("outcome") == "failed" for t in facts.valid)
    lost = Counter(str(t.get("cause")) for t in lost_trials(facts.valid))
    others = f" ({numbers.count(lost.total())} ended by something else)" if lost else ""
    lines = [
        f"Planned {numbers.count(facts.planned)}, attempts "
        f"{numbers.UNKNOWN if attempts is None else numbers.count(attempts)}, set aside "
        f"and not scored {numbers.UNKNOWN if invalid is None else numbers.count(invalid)}.",
        f"Valid {numbers.count(len(facts.valid))}, of these failed {numbers.count(failed)}{others} "
        f"and without a ranking {numbers.count(len(facts.valid) - len(facts.ranked))}: failures of "
        "the model are results and stay in.",
    ]
    for cause, times in (series.get("attrition") or {}).items():
        known = CODES.get(str(cause))
        side = f" ({known.side}: {known.meaning})" if known else ""
        kept = lost[str(cause)]
        within = f", of these scored as failed {numbers.count(kept)}" if kept else ""
        lines.append(f"Lost to {labels.name(cause)}{side}: {numbers.count(times)}{within}.")
    return Section("Attempts and losses", (Bullets(tuple(lines)),))


def _line(trial: Json) -> tuple[str, ...]:
    judged = _judged(trial) if trial.get("outcome") in JUDGED else (NONE, NONE, NONE)
    return (
        index(trial),
        _outcome(trial),
        *judged,
        _cell(number(trial, "reasoning", "tokens"), numbers.count),
        _cell(number(trial, "reasoning", "largest_block_tokens"), numbers.count),
        _cell(number(trial, "language", "spans"), numbers.count),
        _cell(number(trial, "tool_calls", "unfinished"), numbers.count),
        _cell(number(trial, "active_context_tokens"), numbers.count),
        _cell(number(trial, "speed", "decode_tok_s", "p50"), numbers.significant),
        _cell(number(trial, "seconds"), numbers.duration),
    )


def _judged(trial: Json) -> tuple[str, str, str]:
    """What a trial delivered; one that has not ended, or cannot be read, has not been judged."""
    return _files(trial), _winner(trial), _cell(number(trial, "top_score"), numbers.points)


def _outcome(trial: Json) -> str:
    attempt = number(trial, "attempt") or 1
    again = f", attempt {numbers.count(attempt)}" if attempt > 1 else ""
    resumed = ", resumed" if trial.get("resumed") else ""
    return labels.name(trial.get("outcome") or numbers.UNKNOWN) + again + resumed


def _ending(trial: Json) -> str:
    outcome = labels.name(trial.get("outcome") or numbers.UNKNOWN)
    why = labels.sentence(trial.get("reason") or "no reason recorded")
    asked = block(trial, "deliverables") if trial.get("outcome") in JUDGED else {}
    missing = [labels.name(path) for path in asked.get("missing") or ()]
    files = f"; missing: {_some(missing)}" if missing else ""
    return f"Trial {index(trial)} {outcome}: {why}{files}"


def _files(trial: Json) -> str:
    complete = number(trial, "deliverables", "complete")
    expected = number(trial, "deliverables", "expected")
    if complete is None or expected is None:
        return NONE
    return f"{numbers.count(complete)}/{numbers.count(expected)}"


def _winner(trial: Json) -> str:
    winners = [labels.name(who) for who in trial.get("winners") or ()]
    if len(winners) > 2:
        return f"{numbers.count(len(winners))} tied"
    return " = ".join(winners) or NONE


def _cell(value: float | None, write: Callable[[float], str]) -> str:
    return NONE if value is None else write(value)


def _complete(facts: Facts) -> str:
    return f"{sum(map(is_complete, facts.valid))} of {numbers.count(len(facts.valid))}"


def _top_scores(facts: Facts) -> str:
    values = [number(trial, "top_score") for trial in facts.valid]
    return _some([_cell(value, numbers.points) for value in values])


def _one_candidate(facts: Facts) -> tuple[str, str]:
    moved = furthest_fallen(facts)
    if moved is None:
        return "places of one candidate over the trials", numbers.UNKNOWN
    who, places = moved
    known = {place for place in places if place is not None}
    if len(facts.ranked) > 1 and len(known) == 1:
        return "places of one candidate over the trials", f"{labels.name(who)} did not move"
    shown = [_cell(value, numbers.points) for value in places[:MANY]]
    more = " → …" if len(places) > MANY else ""
    return f"places of {labels.name(who)}, the winner that moved most", " → ".join(shown) + more


def _spanned(facts: Facts, *path: str) -> str:
    values = numbers_of(facts.valid, *path)
    if not values:
        return _unknown(facts, *path)
    missing = len(facts.valid) - len(values)
    note = f" (not known in {numbers.plural(missing, 'trial')})" if missing else ""
    return numbers.span(values) + note


def _largest(facts: Facts) -> str:
    values = numbers_of(facts.valid, "reasoning", "largest_block_tokens")
    if not values:
        return _unknown(facts, "reasoning", "largest_block_tokens")
    return numbers.tokens(max(values))


def _summed(facts: Facts, *path: str) -> str:
    values = numbers_of(facts.valid, *path)
    if not values:
        return _unknown(facts, *path)
    hit = sum(value > 0 for value in values)
    if not hit:
        return f"none in {numbers.plural(len(values), 'trial')}"
    return f"{numbers.count(sum(values))}, in {hit} of {numbers.plural(len(values), 'trial')}"


def _wall(facts: Facts) -> str:
    values = numbers_of(facts.valid, "seconds")
    return numbers.duration_span(values) if values else _unknown(facts, "seconds")


def _unknown(facts: Facts, *path: str) -> str:
    if not facts.valid:
        return "no valid trial"
    parent: Json = facts.valid[0]
    for key in path[:-1]:
        if parent.get(key) is None:
            return f"{numbers.UNKNOWN}: {reason(parent, key)}"
        parent = block(parent, key)
    return f"{numbers.UNKNOWN}: {reason(parent, path[-1])}"


def _some(items: list[str]) -> str:
    more = f" and {numbers.count(len(items) - MANY)} more" if len(items) > MANY else ""
    return (", ".join(items[:MANY]) + more) or numbers.UNKNOWN
