"""Excerpts of what the model wrote, read from the records of the trials that they come from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.measures.texts import step_pieces
from evalstab.report import labels
from evalstab.report.facts import number
from evalstab.report.page import Quote
from evalstab.series.folder import SeriesFolder, TrialFolder
from evalstab.text.excerpt import MARK_OPEN, excerpt
from evalstab.trial.record import Step, read_events

AROUND = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """A finding whose excerpt is to be shown, the trial it belongs to, and where it stood."""

    trial: Json
    finding: Json
    where: str


def quotes(folder: SeriesFolder, wanted: list[Wanted]) -> tuple[Quote, ...]:
    """One quote each, in order.

    Where the finding's own excerpt does not mark its span yet, the surroundings come from the
    record. Where that is missing or damaged, or where it does not
    hold the excerpt at the stated offsets, the excerpt stands alone.
    """
    steps: dict[tuple[int, int], set[int]] = defaultdict(set)
    for one in wanted:
        if MARK_OPEN not in one.finding["excerpt"]:
            steps[_key(one.trial)].add(int(number(one.finding, "step") or 0))
    texts: dict[tuple[int, int, int], list[Json]] = {}
    for attempt in folder.trials() if steps else ():
        key = (attempt.index, attempt.attempt)
        if key in steps:
            texts |= {(*key, step): found for step, found in _texts(attempt, steps[key]).items()}
    return tuple(
        _quote(one, texts.get((*_key(one.trial), int(number(one.finding, "step") or 0)), []))
        for one in wanted
    )


def _key(trial: Json) -> tuple[int, int]:
    return int(number(trial, "index") or 0), int(number(trial, "attempt") or 1)


def _texts(attempt: TrialFolder, steps: set[int]) -> dict[int, list[Json]]:
    """Channel texts of the wanted steps, one mapping for each reply of the step."""
    found: dict[int, list[Json]] = {}
    try:
        for event in read_events(attempt.record):
            if isinstance(event, Step) and event.number in steps:
                found[event.number] = _channels(event)
    except (FolderError, OSError, UnicodeError, RecursionError):
        return found
    return found


def _channels(step: Step) -> list[Json]:
    replies: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for piece in step_pieces(step):
        replies[piece.attempt][piece.channel].append(piece.text)
    return [
        {channel: "\n".join(texts) for channel, texts in channels.items()}
        for channels in replies.values()
    ]


def _quote(wanted: Wanted, replies: list[Json]) -> Quote:
    found = wanted.finding
    shown = str(found.get("excerpt") or "")
    start, end = number(found, "start"), number(found, "end")
    for channels in replies:
        text = channels.get(str(found.get("channel")))
        if text is None or start is None or end is None or not 0 <= start < end <= len(text):
            continue
        low, high = int(start), int(end)
        if _same(text[low:high], shown):
            return Quote(wanted.where, excerpt(text, low, high, AROUND))
    return Quote(wanted.where, labels.visible(shown))


def _same(span: str, excerpt: str) -> bool:
    return span in excerpt or excerpt in span or span.startswith(excerpt[:AROUND])
