"""The plot of a comparison: where each candidate stood in both series, trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure as Canvas

from evalstab.report import labels
from evalstab.report.colours import LEADER, SOFT
from evalstab.report.page import PairData

NEW_COLOUR = "#D55E00"
MOST_ROWS = 40
_WIDTH, _ROW, _AROUND = 8.0, 0.34, 1.2


def pair(data: PairData) -> Canvas:
    """A row a candidate, best median of the base on top; the new series stands below it.

    Rows beyond 40 are left out, the lowest ones.
    """
    base, new = data.base, data.new
    order = sorted(
        range(len(data.candidates)), key=lambda i: (_median(base[i]), data.candidates[i])
    )
    rows = order[:MOST_ROWS]
    size = (_WIDTH, max(2.2, _ROW * len(rows) + _AROUND))
    canvas = Canvas(figsize=size, layout="constrained")
    axes: Any = canvas.subplots()
    for y, column in enumerate(rows):
        axes.axhline(y, color=SOFT, linewidth=0.6, zorder=0)
        _dots(axes, base[column], y - 0.15, LEADER, "o", "base")
        _dots(axes, new[column], y + 0.15, NEW_COLOUR, "D", "new")
    axes.set_yticks(range(len(rows)), [labels.name(data.candidates[i]) for i in rows])
    axes.invert_yaxis()
    axes.set_xlabel("place in a trial (1 is best); a larger mark: more trials")
    axes.set_xlim(0.4, len(data.candidates) + 0.6)
    if len(data.candidates) <= 20:
        axes.set_xticks(range(1, len(data.candidates) + 1))
    handles = [
        axes.plot([], [], marker, color=colour, label=name, linestyle="")[0]
        for marker, colour, name in (("o", LEADER, "base"), ("D", NEW_COLOUR, "new"))
    ]
    canvas.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False)
    return canvas


def _dots(axes: Any, places: Sequence[float], y: float, colour: str, marker: str, gid: str) -> None:
    for place in sorted(set(places)):
        size = 4 + 2.2 * min(places.count(place), 8)
        axes.plot([place], [y], marker, markersize=size, color=colour, alpha=0.75, gid=gid)


def _median(places: Sequence[float]) -> float:
    ordered = sorted(places)
    return ordered[len(ordered) // 2] if ordered else float("inf")
