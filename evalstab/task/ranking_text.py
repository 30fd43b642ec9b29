"""Reads a ranking written as a Markdown table or as a numbered list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evalstab.task.aliases import Aliases, aliases_of, plain
from evalstab.task.model import TaskFile
from evalstab.task.numbers import number_after, number_in, place_in
from evalstab.task.ranking import Entry, StatedRanking, Unreadable, assembled

MAX_LINES = 20_000
LINE_CHARACTERS = 2000
MAX_CELLS = 120
MAX_READINGS = 100

_SEPARATOR = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_NOTE = re.compile(r"\([^()]*\)|/\s*\d+")
_PLACE_HEADS = frozenset({"rang", "platz", "rank", "place", "position", "pos", "platzierung"})
_TOTAL_HEADS = (
    frozenset(
        {"gesamt", "gesamtpunkte", "gesamtpunktzahl", "summe", "total", "sum"}
        | {"total points", "total score", "overall"}
    ),
    frozenset({"punkte", "punktzahl", "points", "score"}),
)
_ITEM = re.compile(
    r"([ \t]{0,8})(?:[-*+][ \t]+)?(?:#{1,6}[ \t]+)?[*_]{0,3}(?:(?:platz|rang|place|rank)[ \t]*#?)?"
    r"(\d{1,3})(?:[.):]|[ \t]*[-–—])[*_]{0,3}[ \t]+(\S.*)",
    re.IGNORECASE,
)
_CONNECTOR = re.compile(r"[\s*_`]*(?:,|/|&|=|\+|and|und)[\s*_`]*", re.IGNORECASE)
_NAME_WITHIN = 80

Row = list[str]
Found = TypeVar("Found")


def read_table(text: str, spec: TaskFile) -> StatedRanking:
    """The ranking in the Markdown table of a text.

    Of several tables, those with a place column count before those with totals only, and those
    with the most candidates before the rest. Raises Unreadable where none is a ranking, or where
    the best ones disagree.
    """
    aliases = aliases_of(spec.candidates)
    tables = [_Table.of(rows, aliases) for rows in _tables(_lines(text))]
    usable = [table for table in tables if table and table.known > 1]
    usable = [table for table in usable if table.place is not None] or [
        table for table in usable if table.total is not None
    ]
    if not usable:
        raise Unreadable("it holds no table with the candidates and their places or totals")
    best = _best([(table.known, table) for table in usable], "tables")
    return _agreed([assembled(list(_rows(t, spec, aliases)), spec) for t in best], "tables")


def read_list(text: str, spec: TaskFile) -> StatedRanking:
    """The ranking in the numbered list of a text.

    The number of an item is its place; a list in which all items carry the same number is
    numbered by Markdown, so its order counts. Raises Unreadable as ``read_table`` does.
    """
    aliases = aliases_of(spec.candidates)
    blocks = []
    for block in _blocks(_lines(text)):
        entries = [e for rank, item in enumerate(block) for e in _entries(*item, rank, aliases)]
        if len({item[0] for item in block}) == 1:
            entries = [Entry(e.label, e.rank, None, e.total) for e in entries]
        known = len({c for e in entries if (c := aliases.find(e.label))})
        if known > 1:
            blocks.append((known, entries))
    if not blocks:
        raise Unreadable("it holds no numbered list of candidates")
    best = _best(blocks, "lists")
    return _agreed([assembled(entries, spec) for entries in best], "lists")


def _lines(text: str) -> list[str]:
    lines = text.removeprefix("\ufeff").split("\n", MAX_LINES)[:MAX_LINES]
    return [line[:LINE_CHARACTERS].rstrip() for line in lines]


def _best(rated: Sequence[tuple[int, Found]], what: str) -> list[Found]:
    most = max(known for known, _ in rated)
    best = [found for known, found in rated if known == most]
    if len(best) > MAX_READINGS:
        raise Unreadable(f"it holds more than {MAX_READINGS} {what} of candidates")
    return best


def _agreed(readings: Sequence[StatedRanking], what: str) -> StatedRanking:
    first = readings[0]
    if any(reading.groups != first.groups for reading in readings[1:]):
        raise Unreadable(f"{len(readings)} of its {what} state different rankings")
    return max(readings, key=lambda reading: len(reading.totals) + len(reading.criteria))


@dataclass(frozen=True, slots=True)
class _Table:
    head: Row
    rows: list[Row]
    candidate: int
    known: int
    place: int | None
    total: int | None

    @classmethod
    def of(cls, rows: list[Row], aliases: Aliases) -> _Table | None:
        head = [plain(_NOTE.sub("", cell)) for cell in rows[0]]
        named = [
            len({c for row in rows[1:] if at < len(row) and (c := aliases.find(row[at]))})
            for at in range(len(head))
        ]
        if not any(named):
            return None
        candidate = named.index(max(named))
        places = [at for at, cell in enumerate(head) if cell in _PLACE_HEADS]
        totals = [[at for at, cell in enumerate(head) if cell in heads] for heads in _TOTAL_HEADS]
        columns = next((columns for columns in totals if columns), [])
        return cls(
            head=head,
            rows=rows[1:],
            candidate=candidate,
            known=named[candidate],
            place=places[0] if len(places) == 1 and places[0] != candidate else None,
            total=columns[0] if len(columns) == 1 else None,
        )


def _rows(table: _Table, spec: TaskFile, aliases: Aliases) -> Iterator[Entry]:
    columns = {
        at: criterion.id
        for criterion in spec.criteria
        for at, head in enumerate(table.head)
        if head in {plain(criterion.id), plain(_NOTE.sub("", criterion.title))}
    }
    for rank, row in enumerate(table.rows):
        cells = row + [""] * (len(table.head) - len(row))
        label = cells[table.candidate]
        if not label.strip(" -–—…"):
            continue
        place = place_in(cells[table.place]) if table.place is not None else None
        if table.place is not None and place is None and aliases.find(label) is None:
            continue
        points = {name: number_in(cells[at]) for at, name in columns.items()}
        yield Entry(
            label,
            rank,
            place,
            number_in(cells[table.total]) if table.total is not None else None,
            {name: value for name, value in points.items() if value is not None},
        )


def _tables(lines: list[str]) -> Iterator[list[Row]]:
    at = 1
    while at < len(lines):
        if "|" in lines[at - 1] and "-" in lines[at] and _SEPARATOR.fullmatch(lines[at].strip()):
            rows = [_cells(lines[at - 1])]
            at += 1
            while at < len(lines) and "|" in lines[at]:
                rows.append(_cells(lines[at]))
                at += 1
            yield rows
        at += 1


def _cells(line: str) -> Row:
    line = line.strip().removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    parts = line.replace("\\|", "\x00").split("|", MAX_CELLS)[:MAX_CELLS]
    return [part.replace("\x00", "|").strip() for part in parts]


Item = tuple[int, str]
"""Number and text of one item of a numbered list."""


def _blocks(lines: list[str]) -> Iterator[list[Item]]:
    block: list[Item] = []
    indent = 0
    for line in lines:
        found = _ITEM.fullmatch(line)
        if found is None:
            ends = line.startswith("#")
        else:
            depth, number = len(found[1]), int(found[2])
            if block and depth > indent:
                continue
            restarts = number == 1 and bool(block) and block[0][0] == 1 < block[-1][0]
            ends = depth < indent or restarts
        if block and ends:
            yield block
            block = []
        if found is not None:
            indent = depth if not block else indent
            block.append((number, found[3]))
    if block:
        yield block


def _entries(place: int, text: str, rank: int, aliases: Aliases) -> Iterator[Entry]:
    mentions = [m for m in aliases.mentions(text) if m.start < _NAME_WITHIN]
    if not mentions:
        yield Entry(text[:_NAME_WITHIN], rank, place)
        return
    named = [mentions[0]]
    for mention in mentions[1:]:
        between = text[named[-1].end : mention.start]
        same = mention.candidate == named[-1].candidate
        if not _CONNECTOR.fullmatch(between) and not (same and not _words(between)):
            break
        named.append(mention)
    total = number_after(text[named[-1].end :])
    for candidate in dict.fromkeys(mention.candidate for mention in named):
        yield Entry(candidate, rank, place, total)


def _words(text: str) -> bool:
    return any(character.isalnum() for character in text)
