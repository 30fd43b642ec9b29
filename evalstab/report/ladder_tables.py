"""The tables of a ladder: what each rung is, how it was judged, and how right it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import quote

from evalstab.chat import Json
from evalstab.measures.ladder import FEW_TRIALS
from evalstab.report import numbers
from evalstab.report.page import Align, Block, Paragraph, Section, Table

NONE = "–"
Column = tuple[str, Callable[[Json], str]]
"""Title of a column, and its cell for the row of a rung."""

_READINGS = {
    "less stable": "less stable than the control",
    "more stable": "more stable than the control",
    "not less stable": "not less stable than the control (by more than 0.10)",
    "too few trials": "too few trials to tell",
    "undecided": "no difference shown",
}
_LEFT = ("rung", "verdict", "reading", "source")


def by_size(rows: Sequence[Json]) -> bool:
    """Whether the rungs differ in their size of context, and not in their load alone."""
    return len({row["context_target"] for row in rows}) > 1


def by_level(rows: Sequence[Json]) -> bool:
    """Whether the rungs differ in how many trials were asked at once."""
    return len({row["concurrency"] for row in rows}) > 1


def table_of(columns: Sequence[Column], rows: Sequence[Json], links: Sequence[str] = ()) -> Table:
    """One line a rung; columns of words stand to the left, those of numbers to the right."""
    header = tuple(title for title, _ in columns)
    body = tuple(tuple(cell(row) for _, cell in columns) for row in rows)
    return Table(header, body, aligned(header), tuple(links))


def aligned(header: Sequence[str]) -> tuple[Align, ...]:
    """Columns of words stand to the left, all others to the right."""
    return tuple("left" if title in _LEFT else "right" for title in header)


def least_ranked(row: Json, control: Json | None) -> int:
    """Ranked trials of a rung or of its control, whichever has fewer."""
    return min(int(one["ranked"]) for one in (row, control) if one is not None)


def too_few_for_interval(row: Json, control: Json | None) -> bool:
    """Whether the interval of a rung's change says nothing: few trials, and nothing was shown."""
    reading = (row["change"] or {}).get("reading")
    return least_ranked(row, control) < FEW_TRIALS and reading in ("too few trials", "undecided")


def judged(rows: Sequence[Json], control: str | None, *, linked: bool) -> Section:
    """Stability by rung, each held against ``control``; ``linked``: rungs lead to their pages."""
    columns: list[Column] = [("rung", lambda row: str(row["name"]))]
    if by_level(rows):
        columns.append(("trials at once", lambda row: numbers.count(row["concurrency"])))
    if by_size(rows):
        columns += [("active context, median", _active), ("off target", _off_target)]
    columns += [
        ("trials", lambda row: numbers.count(row["trials"])),
        ("ranked", lambda row: numbers.count(row["ranked"])),
        ("complete", lambda row: numbers.count(row["complete"])),
    ]
    if any(row["verdict"] != "none" for row in rows):
        columns.append(("verdict", verdict_of))
    columns += [
        ("tau", lambda row: _decimal(row["kendall_tau"]["mean"])),
        ("95 % interval", lambda row: _between(row["kendall_tau"])),
        ("change against control", lambda row: signed((row["change"] or {}).get("difference"))),
        ("95 % interval of it", partial(_change_between, control=_named(rows, control))),
        ("reading", _reading),
    ]
    note = (
        "Change is mean tau of the rung less that of the control, with the interval of the "
        "difference; the reading is one-sided where it says not less stable. "
        f"With {numbers.plural(min((r['ranked'] for r in rows), default=0), 'ranked trial')} at "
        "the least, small changes cannot be seen."
    )
    links = [f"{quote(str(row['name']))}/" for row in rows] if linked else []
    blocks: list[Block] = [table_of(columns, rows, links), Paragraph(note)]
    if by_level(rows):
        blocks.append(
            Paragraph(
                "Levels of load differ in how many trials were asked at once. Batches of another "
                "make-up may change the answers themselves, not only their time."
            )
        )
    return Section("Stability by rung", tuple(blocks), brief=True)


def accuracy(rows: Sequence[Json]) -> Section | None:
    """How right each rung was, where the task knows a truth."""
    if not any(row["accuracy"] for row in rows):
        return None

    def known(row: Json, key: str, write: Callable[[float], str]) -> str:
        value = (row["accuracy"] or {}).get(key)
        return NONE if value is None else write(value)

    columns: list[Column] = [
        ("rung", lambda row: str(row["name"])),
        ("tau to the truth", lambda row: known(row, "kendall_tau_truth", numbers.decimal)),
        ("mean absolute error, points", lambda row: known(row, "mean_abs_error", numbers.plain)),
        ("winner right", lambda row: known(row, "winner_right", numbers.percent)),
    ]
    note = "Medians of the trials. A judge can be stable and wrong: this stands beside stability."
    return Section("Against the known truth, by rung", (table_of(columns, rows), Paragraph(note)))


def signed(value: float | None) -> str:
    """A difference with its sign, a dash where there is none."""
    if value is None:
        return NONE
    text = numbers.decimal(value)
    return f"+{text}" if value > 0 else text


def _active(row: Json) -> str:
    active = row["active_context"]
    return NONE if active is None else numbers.count(active["median"])


def _off_target(row: Json) -> str:
    deviation = row["deviation"]
    return NONE if deviation is None else f"{numbers.decimal(100 * deviation['median'], 1)} %"


def verdict_of(row: Json) -> str:
    """The verdict of a rung; a provisional pass says after how many trials."""
    if row.get("provisional") and row["verdict"] == "pass":
        return f"pass (provisional, {numbers.plural(row['trials'], 'trial')})"
    return str(row["verdict"])


def _named(rows: Sequence[Json], name: str | None) -> Json | None:
    return next((row for row in rows if row["name"] == name), None)


def _change_between(row: Json, control: Json | None) -> str:
    few = too_few_for_interval(row, control)
    return "too few trials" if few else _between(row["change"] or {})


def _reading(row: Json) -> str:
    change = row["change"] or {}
    return _READINGS.get(change.get("reading", ""), "control" if row["change"] is None else NONE)


def _decimal(value: float | None) -> str:
    return NONE if value is None else numbers.decimal(value)


def _between(values: Json) -> str:
    low, high = values.get("ci_low"), values.get("ci_high")
    return NONE if low is None or high is None else numbers.interval(low, high)
