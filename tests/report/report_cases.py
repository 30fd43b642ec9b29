"""Series to report on: the five-run fixture, and others made by changing it or from places."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evalstab.series.files import write_json
from evalstab.series.folder import SeriesFile, SeriesFolder, open_series
from evalstab.statistics.block import stability_block
from evalstab.statistics.ranks import places_from_scores

FIVE_RUN = Path(__file__).parents[2] / "fixtures" / "report" / "five-run"
Scores = dict[str, Any]


def five_run() -> tuple[SeriesFolder, Scores]:
    """The hand-made series of five trials, with records for its excerpts."""
    scores: Scores = msgspec.json.decode((FIVE_RUN / "scores.json").read_bytes())
    return open_series(FIVE_RUN), scores


def folder_at(root: Path, **changes: Any) -> SeriesFolder:
    """A series folder without records, ``series.json`` as in the fixture but for ``changes``."""
    file: SeriesFile = msgspec.structs.replace(five_run()[0].file, **changes)
    write_json(root / "series.json", file)
    return open_series(root)


def scores_of(totals: list[list[float | None]], ids: list[str] | None = None) -> Scores:
    """Scores of a series with these totals, one row a trial; None: not ranked.

    A row without any total is a trial that failed without a ranking.
    """
    _, scores = five_run()
    names = ids or [f"candidate_{number:02d}" for number in range(1, len(totals[0]) + 1)]
    table = np.array([[np.nan if v is None else v for v in row] for row in totals], float)
    block = stability_block(places_from_scores(table), table, names, distinct_outputs=len(totals))
    scores["trials"] = [
        _trial(scores["trials"][0], number, dict(zip(names, row, strict=True)))
        for number, row in enumerate(totals, 1)
    ]
    scores["series"] |= {"repeats_planned": len(totals), "repeats_done": len(totals)}
    scores["stability"] = block.to_dict()
    scores["findings"] = []
    return scores


def _trial(like: Scores, index: int, totals: dict[str, float | None]) -> Scores:
    known = {who: value for who, value in totals.items() if value is not None}
    levels = sorted(set(known.values()), reverse=True)
    ranking = [[who for who in known if known[who] == level] for level in levels]
    trial = copy.deepcopy(like)
    trial |= {
        "index": index,
        "findings": [],
        "finding_counts": {},
        "totals": known or None,
        "ranking": ranking or None,
        "winners": ranking[0] if ranking else [],
        "winner": ranking[0][0] if ranking and len(ranking[0]) == 1 else None,
        "top_score": levels[0] if levels else None,
        "outcome": "completed" if ranking else "failed",
    }
    return trial


def nulled(value: Any) -> Any:
    """The same keys with null for every number and text, and empty lists: the least to be said."""
    if isinstance(value, dict):
        return {key: nulled(inner) for key, inner in value.items()}
    return [] if isinstance(value, list) else None
