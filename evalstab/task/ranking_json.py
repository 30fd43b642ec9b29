"""Reads a ranking written as JSON, in the form of the brief or a plain variant of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from evalstab.task.aliases import Aliases, plain
from evalstab.task.model import TaskFile
from evalstab.task.numbers import number_in, place_in
from evalstab.task.ranking import Entry, StatedRanking, Unreadable, assembled

MAX_ENTRIES = 1000
MAX_KEY = 300
_ATTEMPTS = 50
_Names = dict[str, str]
"""Criteria by their plain titles and ids."""

_OUTER = ("ranking", "rangliste", "rankings", "classement", "clasificación", "classifica")
_LABELS = ("candidate", "kandidat", "candidate_id", "id", "name", "file", "datei", "candidat")
_PLACES = ("place", "rank", "platz", "rang", "position", "puesto", "posición", "miejsce")
_TOTALS = (
    *("total", "gesamt", "gesamtpunktzahl", "gesamtpunkte", "summe", "sum", "total_score"),
    *("totale", "suma", "puntuación"),
)
_POINTS = ("points", "punkte", "score", "puntos", "punkty", "punti")
_CRITERIA = ("criteria", "kriterien", "critères", "criterios", "kryteria", "criteri")


def read_json(text: str, spec: TaskFile) -> tuple[StatedRanking, bool]:
    """The ranking in a text, and whether the text is JSON as a whole.

    A code fence or sentences around the JSON are passed over, if only one ranking stands in the
    text. Raises Unreadable.
    """
    text = text.removeprefix("\ufeff").strip()
    try:
        return _from_value(_decoded(text), spec), True
    except _NoJson as error:
        broken = error
    found: list[StatedRanking] = []
    why: Unreadable | None = None
    for value in _inside(text):
        try:
            found.append(_from_value(value, spec))
        except Unreadable as error:
            why = why or error
    if not found:
        raise why or Unreadable(f"it is no JSON: {broken}")
    if any((f.groups, f.totals) != (found[0].groups, found[0].totals) for f in found):
        raise Unreadable(f"it holds {len(found)} different rankings")
    return found[0], False


class _NoJson(Exception):
    """A text is no JSON."""


class _Twice(ValueError):
    """A key stands twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _Twice("a key stands twice in one object")
    return result


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)


def _decoded(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except _Twice as error:
        raise Unreadable(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise _NoJson(str(error)[:200]) from None


def _inside(text: str) -> Iterator[Any]:
    at = attempts = 0
    while at < len(text) and attempts < _ATTEMPTS:
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        start = at + len(text[at:line_end]) - len(text[at:line_end].lstrip())
        at = line_end + 1
        if text[start : start + 1] not in {"{", "["}:
            continue
        attempts += 1
        try:
            value, end = _decoder.raw_decode(text, start)
        except _Twice as error:
            raise Unreadable(str(error)) from None
        except (ValueError, RecursionError):
            continue
        at = max(at, end)
        yield value


def _from_value(value: Any, spec: TaskFile) -> StatedRanking:
    if isinstance(value, dict):
        outer = [key for key in value if key.casefold() in _OUTER]
        outer = outer or [key for key, inner in value.items() if _placed(inner)]
        if len(outer) > 1:
            raise Unreadable("it holds several rankings")
        if outer:
            value = value[outer[0]]
    names = {plain(name): c.id for c in spec.criteria for name in (c.title, c.id)}
    if isinstance(value, list):
        known = Aliases(spec.candidates)
        entries = [e for rank, item in enumerate(value) for e in _item(item, rank, names, known)]
        return _bounded(entries, spec, ordered=True)
    if isinstance(value, dict):
        entries = [_keyed(key, item, rank, names) for rank, (key, item) in enumerate(value.items())]
        numbers = sorted(e.total for e in entries if e.total is not None and e.place is None)
        if numbers and numbers == list(range(1, len(entries) + 1)):
            raise Unreadable("its numbers could be places as well as totals")
        return _bounded(entries, spec, ordered=False)
    raise Unreadable("it holds no list of candidates")


def _placed(value: Any) -> bool:
    """Whether a value is a list whose entries all state a place: a ranking, whatever its key."""
    return (
        isinstance(value, list)
        and value != []
        and all(isinstance(e, dict) and _field(e, _PLACES) is not None for e in value)
    )


def _bounded(entries: list[Entry], spec: TaskFile, *, ordered: bool) -> StatedRanking:
    if len(entries) > MAX_ENTRIES:
        raise Unreadable(f"it has more than {MAX_ENTRIES} entries")
    return assembled(entries, spec, ordered=ordered)


def _item(item: Any, rank: int, names: _Names, known: Aliases) -> Iterator[Entry]:
    """The candidates of one entry; one without a known key for them is found by its contents."""
    if isinstance(item, str):
        yield Entry(item, rank)
    elif isinstance(item, list) and all(isinstance(name, str) for name in item):
        for name in item:
            yield Entry(name, rank)
    elif isinstance(item, dict):
        label = _field(item, _LABELS)
        if label is None:
            texts = [text for text in item.values() if isinstance(text, str)]
            named = [text for text in texts if known.find(text) is not None]
            label = named[0] if len(named) == 1 else None
        if not isinstance(label, str):
            raise Unreadable(f"entry {rank + 1} names no candidate")
        yield _entry(label, item, rank, names)
    else:
        raise Unreadable(f"entry {rank + 1} is neither a candidate nor an object")


def _keyed(key: str, item: Any, rank: int, names: _Names) -> Entry:
    if isinstance(item, dict):
        return _entry(key, item, rank, names)
    total = number_in(item)
    if total is None:
        raise Unreadable(f"{key[:80]!r} has no number as its total")
    return Entry(key, rank, total=total)


def _entry(label: str, item: dict[str, Any], rank: int, names: _Names) -> Entry:
    stated = _field(item, _PLACES)
    place = place_in(stated)
    if stated is not None and place is None:
        raise Unreadable(f"the place of {label[:80]!r} is no whole number")
    total = _field(item, _TOTALS)
    total = number_in(_field(item, _POINTS) if total is None else total)
    points = _field(item, _CRITERIA)
    return Entry(label, rank, place, total, _criteria(points, names))


def _criteria(points: Any, names: _Names) -> dict[str, float]:
    if not isinstance(points, dict):
        return {}
    read: dict[str, float | None] = {}
    for key, stated in points.items():
        name = names.get(plain(key)) if len(key) <= MAX_KEY else None
        if name is not None:
            read[name] = number_in(stated)
    return {name: value for name, value in read.items() if value is not None}


def _field(item: dict[str, Any], names: tuple[str, ...]) -> Any:
    by_name = {key.casefold(): value for key, value in item.items()}
    return next((by_name[name] for name in names if by_name.get(name) is not None), None)
