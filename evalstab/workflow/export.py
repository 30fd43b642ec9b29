"""One flat table, a row a trial, for notebooks and spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from evalstab.chat import Json
from evalstab.errors import InputError, UsageError, nearest
from evalstab.series.files import write_whole
from evalstab.series.folder import open_series
from evalstab.series.ladder import is_ladder, open_ladder
from evalstab.workflow.score import read_scores

FORMATS = ("csv", "parquet")
CELL = 8_000
_FORMULA = re.compile(
    r"[\s\"\0\u00ad\u200b-\u200f\u2060\ufeff]*[=+\-@|%\uff1d\uff0b\uff0d\uff20]|[\t\r\n\0]"
)
"""How a text begins that a spreadsheet may take for a formula, also behind what it does not show;
an apostrophe in front says that it is none."""

_LARGEST = 2**63
_LEFT_OUT = frozenset({"findings", "findings_omitted", "by_context", "per_step"})
_HEAD = ("series", "task", "endpoint", "model", "source", "context_target")

Row = dict[str, Any]


def export(form: str, root: Path, output: Path) -> int:
    """Write the trials of a series (or of all rungs of a ladder); returns the number of rows.

    Lists stand in one cell, joined by ``;``, tie groups by ``=``. A value that could not be
    measured is empty. Text that a spreadsheet would take for a formula gets an apostrophe in
    front. UsageError for an unknown format, InputError where Parquet cannot be written here.
    """
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}. {nearest(form, FORMATS)}")
    rows = list(_rows(root))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = [{column: row.get(column) for column in columns} for row in rows]
    if form == "csv":
        write_whole(output, _csv(columns, table))
    else:
        write_whole(output, _parquet(columns, table))
    return len(table)


def _rows(root: Path) -> Iterator[Row]:
    roots = [root / rung.name for rung in open_ladder(root).rungs] if is_ladder(root) else [root]
    for one in roots:
        if is_ladder(root) and not one.is_dir():
            continue
        folder = open_series(one)
        scores = read_scores(folder)
        how = folder.file.endpoint.get("imported")
        source = f"imported: {how.get('source')}" if isinstance(how, dict) else "evalstab"
        series = scores.get("series") or {}
        head = {"series": series.get("id")} | {key: series.get(key) for key in _HEAD[1:4]}
        head |= {"source": source, "context_target": series.get("context_target")}
        for trial in scores.get("trials") or ():
            yield head | dict(_flat(trial))


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        name = f"{before}{key}"
        if key in _LEFT_OUT or key.endswith("_reason"):
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ";".join(_joined(part) for part in value)
        else:
            yield name, value


def _joined(part: Any) -> str:
    text = "=".join(map(str, part)) if isinstance(part, list) else str(part)
    return str(neutral(text))


def neutral(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = value[:CELL]
    return f"'{text}" if _FORMULA.match(text) else text


def _csv(columns: Iterable[str], table: Iterable[Row]) -> str:
    names = list(columns)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([neutral(name) for name in names])
    for row in table:
        writer.writerow([_cell(row[name]) for name in names])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else neutral(value)


def _parquet(columns: Iterable[str], table: list[Json]) -> bytes:
    try:
        pyarrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError(
            "Parquet needs pyarrow, which is not installed: pip install 'evalstab[parquet]', or "
            "export csv"
        ) from error
    names = list(columns)
    data = {name: _column([row[name] for row in table]) for name in names}
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(data), out)
    return out.getvalue()


def _column(values: list[Any]) -> list[Any]:
    """A column of one type: whole numbers, numbers, truth values, else texts; null stays null."""
    known = [value for value in values if value is not None]
    if all(isinstance(v, bool) for v in known):
        return values
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in known):
        if all(isinstance(v, int) and abs(v) < _LARGEST for v in known):
            return values
        return [None if v is None else float(v) for v in values]
    return [None if v is None else neutral(str(v)) for v in values]
