"""Everything of a series that its page can open: the tiles and the transcripts of its trials."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.report.facts import Facts, number
from evalstab.report.html import Transcripts
from evalstab.report.strip import key_of, tiles
from evalstab.report.transcript import Shelf, transcript
from evalstab.series.folder import SeriesFolder, TrialFolder


def transcripts_of(folder: SeriesFolder, facts: Facts) -> Transcripts:
    """Tiles and transcripts of all attempts with a record, in the order of the trials."""
    shelf = Shelf()
    scored = {_place(trial): trial for trial in facts.trials}
    data: dict[str, Json] = {}
    for attempt in folder.trials():
        trial = scored.get((attempt.index, attempt.attempt), {})
        data[_key(attempt, trial)] = transcript(attempt, trial, shelf)
    return Transcripts(tiles(facts, frozenset(data)), data, tuple(shelf.texts))


def _place(trial: Json) -> tuple[int, int]:
    return int(number(trial, "index") or 0), int(number(trial, "attempt") or 1)


def _key(attempt: TrialFolder, trial: Json) -> str:
    if trial:
        return key_of(trial)
    return f"{attempt.index}.{attempt.attempt}" if attempt.spoilt else str(attempt.index)
