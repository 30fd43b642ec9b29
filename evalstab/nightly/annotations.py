"""A night as annotations of a GitHub job: an error for what failed, a warning for what is open."""

from __future__ import annotations

from collections.abc import Iterator

from evalstab.nightly.night import Item, Night, Result
from evalstab.nightly.summary import headline
from evalstab.report import labels
from evalstab.report.numbers import plural
from evalstab.text.github import LEVELS, Level, annotation

MOST = 9
"""Annotations of a level: GitHub shows ten in a step, and the last says how many more there are."""

_Note = tuple[Level, str, str]


def night_annotations(night: Night) -> list[str]:
    """The lines to print. Series that share a cause, such as a dead endpoint, share one line."""
    grouped: dict[tuple[Level, str], list[str]] = {}
    for item in night.items:
        for level, name, message in _notes(item):
            grouped.setdefault((level, message), []).append(name)
    lines: list[str] = []
    for level in ("error", "warning", "notice"):
        found = [(names, told) for (kind, told), names in grouped.items() if kind == level]
        lines += [annotation(level, _title(names), told) for names, told in found[:MOST]]
        if len(found) > MOST:
            more = f"{len(found) - MOST} more: reports/nightly/summary.md has them all"
            lines.append(annotation(level, "evalstab nightly", more))
    return lines or [annotation("notice", "evalstab nightly", headline(night))]


def _title(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{plural(len(names), 'series', 'series')}: {', '.join(names)}"


def _notes(item: Item) -> Iterator[_Note]:
    several = len(item.results) > 1
    for result in item.results:
        name = (
            f"{item.name} ({result.context // 1000}k)" if several and result.context else item.name
        )
        yield from _told(item, result, labels.sentence(name))
    if item.problem and not item.results:
        out = item.status == "left_out"
        level: Level = "warning" if out else "error"
        why = f"left out: {item.problem}" if out else item.problem
        yield level, labels.sentence(item.name), labels.sentence(why, 1000)


def _told(item: Item, result: Result, name: str) -> Iterator[_Note]:
    cut = item.status in ("stopped", "cut")
    level: Level = "error" if cut or result.partial else LEVELS.get(result.verdict, "notice")
    if level != "notice":
        why = (item.problem if cut else None) or result.reason or "no reason is known"
        yield level, name, f"{result.state}: {labels.sentence(why, 1000)}"
    drifts = [drift for drift in result.drift.values() if drift]
    if any(drift.get("drifted") for drift in drifts):
        worse = any(drift.get("worse") for drift in drifts)
        yield "warning" if worse else "notice", name, labels.sentence(result.reading, 1000)
