"""One line for each endpoint and quantisation: how the newest series of each stands."""

from __future__ import annotations

from collections.abc import Sequence

from evalstab.chat import Json
from evalstab.report import labels, markdown, numbers

HEADER = (
    "endpoint", "quantisation", "engine", "task", "context", "series", "trials", "tau",
    "95 % interval", "winner agreement", "scale CV", "leaks", "unfinished", "tok/s", "verdict",
    "date",
)  # fmt: skip


def standing_table(tracks: Sequence[Json]) -> str:
    """A Markdown table: a row for every endpoint × quantisation of every task and context.

    Rows are ordered by task, context and falling tau; what is not known is a dash.
    """
    rows: dict[tuple[str, ...], tuple[Json, int]] = {}
    for track in tracks:
        for night in track["nights"]:
            key = (track["task"], str(track["context"]), track["endpoint"], night["quant"])
            rows[key] = (night, rows.get(key, (night, 0))[1] + 1)
    ordered = sorted(
        rows.values(),
        key=lambda row: (row[0]["task"], row[0]["context"] or 0, -(row[0]["tau"] or -2)),
    )
    lines = [HEADER, tuple("---" for _ in HEADER), *(_cells(*row) for row in ordered)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cells(night: Json, series: int) -> tuple[str, ...]:
    low, high = night["tau_low"], night["tau_high"]
    endpoint = labels.name(night["endpoint"])
    cells = (
        f"{endpoint} (simulated)" if night["simulated"] else endpoint,
        labels.name(night["quant"]),
        labels.name(night["engine"]),
        labels.name(night["task"]),
        numbers.context(night["context"]) if night["context"] else "natural",
        str(series),
        f"{night['judged']} of {night['planned']}",
        _two(night["tau"]),
        "–" if low is None or high is None else numbers.interval(low, high),
        _two(night["winner"]),
        _two(night["scale"]),
        _share(night["leaks"]),
        _share(night["unfinished"]),
        "–" if night["decode"] is None else numbers.significant(night["decode"]),
        night["verdict"],
        night["created"][:10],
    )
    return tuple(markdown.escape(cell) for cell in cells)


def _two(value: float | None) -> str:
    return "–" if value is None else numbers.decimal(value)


def _share(value: float | None) -> str:
    return "–" if value is None else numbers.percent(value)
