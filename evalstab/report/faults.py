"""What went wrong, grouped by code and kept apart by side, with excerpts where they stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from evalstab.chat import Json
from evalstab.findings import CODES
from evalstab.report import labels, numbers
from evalstab.report.excerpts import Wanted, quotes
from evalstab.report.facts import Facts, number
from evalstab.report.page import Align, Block, Paragraph, Quotes, Section, Table
from evalstab.series.folder import SeriesFolder

SIDES = ("model", "endpoint", "rig", "harness")
EXCERPTS_PER_CODE = 3
MAX_EXCERPTS = 30
HEADER = ("side", "code", "meaning", "count", "trials", "first seen")
ALIGN: tuple[Align, ...] = ("left", "left", "left", "right", "left", "left")


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding with the trial it belongs to, None for the series."""

    trial: Json | None
    finding: Json


def findings(folder: SeriesFolder, facts: Facts) -> Section:
    """The findings of all trials, the spoilt ones included, then excerpts."""
    groups: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for seen in _all(facts):
        side, code = (str(seen.finding.get(key) or "not stated") for key in ("side", "code"))
        groups[side, code].append(seen)
    if not groups:
        return Section("Findings", (Paragraph("No fault was found on any side."),))
    ordered = sorted(groups.items(), key=lambda item: (_rank(item[0][0]), -len(item[1]), item[0]))
    rows = tuple(_row(side, code, seen) for (side, code), seen in ordered)
    blocks: list[Block] = [
        Paragraph("Whose fault it is, as far as the evidence goes; only the model's count for it."),
        Table(HEADER, rows, ALIGN),
    ]
    shown = quotes(folder, list(_wanted([seen for _, seen in ordered])))
    if shown:
        blocks += [
            Paragraph("Excerpts, the faulty span between ⟦ and ⟧ with 20 characters on each side:"),
            Quotes(shown),
        ]
    return Section("Findings", tuple(blocks))


def _all(facts: Facts) -> Iterator[Seen]:
    for trial in facts.trials:
        yield from (Seen(trial, f) for f in trial.get("findings") or () if isinstance(f, dict))
    found = facts.scores.get("findings") or ()
    yield from (Seen(None, f) for f in found if isinstance(f, dict))


def _rank(side: str) -> int:
    return SIDES.index(side) if side in SIDES else len(SIDES)


def _row(side: str, code: str, seen: list[Seen]) -> tuple[str, ...]:
    known = CODES.get(code)
    meaning = known.meaning if known else "not in this version's list of codes"
    if known and known.informational:
        meaning += " (informational)"
    trials = sorted({int(s.trial.get("index") or 0) for s in seen if s.trial})
    names = ", ".join(map(str, trials[:10])) + (" …" if len(trials) > 10 else "")
    return (
        labels.name(side),
        labels.name(code),
        meaning,
        numbers.count(len(seen) + _omitted(code, seen)),
        names or "series",
        _place(seen[0]),
    )


def _omitted(code: str, seen: list[Seen]) -> int:
    """Findings of this code that its trials counted but did not list."""
    trials = {id(s.trial): s.trial for s in seen if s.trial}.values()
    return int(sum(number(trial, "findings_omitted", code) or 0 for trial in trials))


def _place(seen: Seen) -> str:
    if seen.trial is None:
        return "series"
    parts = [f"trial {seen.trial.get('index')}"]
    step, context = number(seen.finding, "step"), number(seen.finding, "context_tokens")
    if step is not None:
        parts.append(f"step {numbers.count(step)}")
    if context is not None:
        parts.append(f"at {numbers.tokens(context)}")
    return ", ".join(parts)


def _wanted(groups: list[list[Seen]]) -> Iterator[Wanted]:
    left = MAX_EXCERPTS
    for seen in groups:
        quotable = [s for s in seen if s.trial and isinstance(s.finding.get("excerpt"), str)]
        for one in quotable[: min(EXCERPTS_PER_CODE, left)]:
            left -= 1
            channel = labels.name(one.finding.get("channel") or "")
            code = labels.name(one.finding.get("code") or "")
            yield Wanted(one.trial or {}, one.finding, f"{code}, {_place(one)}, {channel}")
