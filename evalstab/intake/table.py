"""Tables of other people's trials: CSV or JSON of trial, candidate, total and/or place.

Long form: one row a trial and candidate. Wide form: one row a trial and one column a candidate, or
one row a candidate and one column a trial; whether its numbers are totals or places must be said,
since 1 is the best place and the worst total.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from evalstab.errors import InputError
from evalstab.statistics.ranks import (
    LARGEST_SCORE,
    FloatArray,
    places_from_order_numbers,
    places_from_scores,
)

LARGEST = 50_000_000
MOST_TRIALS = 10_000
MOST_CANDIDATES = 1_000
STDIN = Path("-")
NAMES = {
    "trial": ("trial", "run", "repeat", "repetition"),
    "candidate": ("candidate", "item", "id", "name"),
    "total": ("total", "score", "points"),
    "place": ("place", "rank", "position"),
}
EXPECTED = "Rename those in the first line to trial, candidate, and total or place (or both)"
UNJUDGED = ("aborted", "invalid")
"""Outcomes that say nothing about the model."""
Values = Literal["total", "place"]


@dataclass(frozen=True, slots=True)
class Table:
    """Trials in order, candidates, and (trials, candidates) arrays; NaN is missing.

    A trial that states no place at all is ordered by its totals.

    ``warning`` names the first entry whose total contradicts its place, None where none does.
    """

    trials: tuple[str, ...]
    candidates: tuple[str, ...]
    places: FloatArray
    totals: FloatArray | None
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class _Cell:
    trial: str
    candidate: str
    total: float | None
    place: float | None
    where: str


def read_table(path: Path, values: Values | None = None) -> Table:
    """Read a table, ``-`` from stdin; InputError names line, column and mend of whatever is wrong.

    ``values`` says what the numbers of a wide table are. Where both are there, places order and
    totals only scale.
    """
    try:
        with sys.stdin.buffer if path == STDIN else path.open("rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise InputError(f"{path} has more than {LARGEST:,} bytes: shorten it")
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text in UTF-8: {error}") from error
    looks_like_json = text.lstrip()[:1] in ("[", "{")
    cells = _json_cells(path, text, values) if looks_like_json else _csv_cells(path, text, values)
    return _table(path, cells)


def _csv_cells(path: Path, text: str, values: Values | None) -> list[_Cell]:
    lines = text.splitlines()
    if not lines:
        raise InputError(f"{path} is empty: write a header line trial,candidate,total")
    separator = max(",;\t", key=lines[0].count)
    rows = csv.reader(lines, delimiter=separator)
    try:
        header = [name.strip() for name in next(rows)]
        body = [(rows.line_num, row) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"{path}: line {rows.line_num}: {error}. Mend the quotes there") from error
    for number, row in body:
        if len(row) != len(header):
            raise InputError(
                f"{path}: line {number} has {len(row)} columns, the header has {len(header)}: "
                f"give every line one value a column, separated by {separator!r}"
            )
    records = [(f"line {number}", dict(zip(header, row, strict=True))) for number, row in body]
    _distinct(path, header)
    return _cells(path, header, records, values)


def _json_cells(path: Path, text: str, values: Values | None) -> list[_Cell]:
    try:
        data: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}. Mend the JSON there") from error
    if isinstance(data, dict) and isinstance(data.get("trials"), list):
        return _scored(path, data["trials"])
    if isinstance(data, dict):
        data = [{"trial": trial} | row for trial, row in data.items() if isinstance(row, dict)]
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data) or not data:
        raise InputError(f"{path}: write a list of objects with trial, candidate, total or place")
    header = list(dict.fromkeys(key for row in data for key in row))
    records = [(f"entry {number}", row) for number, row in enumerate(data, 1)]
    return _cells(path, header, records, values)


def _scored(path: Path, trials: Sequence[Any]) -> list[_Cell]:
    """The judged trials of a scores.json: ranking and totals; one without a ranking is a gap."""
    cells: list[_Cell] = []
    unranked: list[tuple[str, str]] = []
    for number, trial in enumerate(trials, 1):
        where = f"trials[{number - 1}]"
        if not isinstance(trial, dict):
            raise InputError(f"{path}: {where} is no object")
        if trial.get("outcome") in UNJUDGED:
            continue
        name, above = str(trial.get("index", number)), 0
        if not trial.get("ranking"):
            unranked.append((name, where))
        totals = trial.get("totals") or {}
        for group in trial.get("ranking") or ():
            for candidate in group:
                total = _number(path, where, "totals", totals.get(candidate))
                place = above + (len(group) + 1) / 2
                cells.append(_Cell(name, str(candidate), total, place, where))
            above += len(group)
    return [*cells, *(_Cell(n, c.candidate, None, None, w) for n, w in unranked for c in cells[:1])]


def _cells(
    path: Path,
    header: Sequence[str],
    records: Sequence[tuple[str, dict[str, Any]]],
    values: Values | None,
) -> list[_Cell]:
    columns = {key: _column(header, names) for key, names in NAMES.items()}
    trial, candidate = columns["trial"], columns["candidate"]
    there = f"there are {', '.join(header[:20])}"
    if trial and candidate:
        if not (columns["total"] or columns["place"]):
            raise InputError(f"{path}: no column total or place; {there}. {EXPECTED}")
        return [_long(path, where, row, columns) for where, row in records]
    key = trial or candidate
    if key is None:
        raise InputError(f"{path}: no column trial or candidate; {there}. {EXPECTED}")
    if values is None:
        missing = "candidate" if trial else "trial"
        raise InputError(
            f"{path}: no column {missing}; {there}. {EXPECTED}. Or, if it is a wide table with a "
            f"column for each {missing}: --values total (more is better) or place (1 is best)"
        )
    return list(_wide(path, records, key, by_trial=key == trial, values=values))


def _long(path: Path, where: str, row: dict[str, Any], columns: dict[str, str | None]) -> _Cell:
    named: dict[str, str] = {}
    for key in ("trial", "candidate"):
        value = row.get(str(columns[key]))
        named[key] = "" if value is None else str(value).strip()
        if not named[key]:
            raise InputError(f"{path}: {where}, column {columns[key]}: empty. Name the {key} there")
    numbers: dict[str, float | None] = {}
    for key in ("total", "place"):
        column = columns[key]
        numbers[key] = _number(path, where, column, row.get(column)) if column else None
    return _Cell(named["trial"], named["candidate"], numbers["total"], numbers["place"], where)


def _wide(
    path: Path,
    records: Sequence[tuple[str, dict[str, Any]]],
    key: str,
    *,
    by_trial: bool,
    values: Values,
) -> Iterable[_Cell]:
    for where, row in records:
        own = str(row.get(key, "")).strip()
        if not own:
            raise InputError(f"{path}: {where}, column {key}: empty. Name it there")
        for column, raw in row.items():
            if column == key:
                continue
            number = _number(path, where, column, raw)
            names = (own, column) if by_trial else (column, own)
            total, place = (number, None) if values == "total" else (None, number)
            yield _Cell(*names, total, place, where)


def _shortened(raw: Any) -> str:
    """A cell as it can be shown: an integer of thousands of digits cannot even be printed."""
    if isinstance(raw, int) and not isinstance(raw, bool) and raw.bit_length() > 200:
        return "an integer of hundreds of digits"
    return repr(str(raw)[:40])


def _number(path: Path, where: str, column: str | None, raw: Any) -> float | None:
    """A finite number, None for an empty cell; ``1,5`` is read as 1.5 where no comma separates."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None
    try:
        value = float(raw.strip().replace(",", ".")) if isinstance(raw, str) else float(raw)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if isinstance(raw, bool) or not abs(value) < LARGEST_SCORE:
        raise InputError(
            f"{path}: {where}, column {column}: {_shortened(raw)} is no number. "
            "Write a number, or leave the cell empty where there is none"
        )
    return value


def _table(path: Path, cells: Sequence[_Cell]) -> Table:
    if not cells:
        raise InputError(f"{path} holds no rows: write one a trial and candidate")
    trials = _ordered(cell.trial for cell in cells)
    candidates = tuple(dict.fromkeys(cell.candidate for cell in cells))
    if len(trials) > MOST_TRIALS or len(candidates) > MOST_CANDIDATES:
        raise InputError(
            f"{path} has {len(trials)} trials of {len(candidates)} candidates: at most "
            f"{MOST_TRIALS} and {MOST_CANDIDATES} are read"
        )
    row = {trial: number for number, trial in enumerate(trials)}
    column = {candidate: number for number, candidate in enumerate(candidates)}
    totals, places = (np.full((len(trials), len(candidates)), np.nan) for _ in range(2))
    seen: dict[tuple[str, str], str] = {}
    for cell in cells:
        key = (cell.trial, cell.candidate)
        if key in seen:
            raise InputError(
                f"{path}: {cell.where}: trial {cell.trial} names {cell.candidate} again, first at "
                f"{seen[key]}. Keep one of them"
            )
        seen[key] = cell.where
        at = row[cell.trial], column[cell.candidate]
        totals[at] = math.nan if cell.total is None else cell.total
        places[at] = math.nan if cell.place is None else cell.place
    stated = not np.isnan(places).all()
    known = not np.isnan(totals).all()
    made = places_from_order_numbers(places)
    only_totals = np.isnan(places).all(axis=1)
    made[only_totals] = places_from_scores(totals[only_totals])
    warning = _contradiction(path, cells) if stated and known else None
    return Table(trials, candidates, made, totals if known else None, warning)


def _contradiction(path: Path, cells: Sequence[_Cell]) -> str | None:
    """The first entry that has more points than one placed before it in the same trial."""
    both: dict[str, list[tuple[float, float, _Cell]]] = {}
    for cell in cells:
        if cell.place is not None and cell.total is not None:
            both.setdefault(cell.trial, []).append((cell.place, -cell.total, cell))
    for trial, entries in both.items():
        entries.sort(key=lambda entry: entry[:2])
        for (place, points, better), (behind, more, cell) in pairwise(entries):
            if place < behind and more < points:
                return (
                    f"{path}: {cell.where}: trial {trial} places {cell.candidate} behind "
                    f"{better.candidate} and gives it more points ({-more:g} against "
                    f"{-points:g}). Places order here and totals only scale; 1 is the best place"
                )
    return None


def _ordered(names: Iterable[str]) -> tuple[str, ...]:
    """By number where all are numbers, else as they come."""
    found = list(dict.fromkeys(names))
    return tuple(sorted(found, key=int) if all(n.isdecimal() for n in found) else found)


def _column(header: Sequence[str], names: Sequence[str]) -> str | None:
    return next((own for own in header if own.strip().casefold() in names), None)


def _distinct(path: Path, header: Sequence[str]) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(f"{path}: line 1 names {', '.join(twice)} twice. Rename one of them")
