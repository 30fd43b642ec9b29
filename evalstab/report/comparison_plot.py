"""The plot of a comparison: where each candidate stood in both series, trial by trial."""

from __future__ import annotations

import io
import warnings
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from evalstab.report import labels
from evalstab.report.plots import GREY, LEADER, STYLE

NEW_COLOUR = "#D55E00"
MOST_ROWS = 40
Places = list[list[float]]
"""One list of places for each candidate: a place a trial that ranked it."""


def comparison_plot(candidates: list[str], base: Places, new: Places) -> str:
    """An SVG with a row a candidate, best median of ``base`` on top; ``new`` stands below it.

    Rows beyond 40 are left out, the lowest ones.
    """
    order = sorted(range(len(candidates)), key=lambda i: (_median(base[i]), candidates[i]))
    rows = order[:MOST_ROWS]
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Glyph .* missing", category=UserWarning)
        canvas = Canvas(figsize=(8.0, max(2.2, 0.34 * len(rows) + 1.2)), layout="constrained")
        axes: Any = canvas.subplots()
        for y, column in enumerate(rows):
            axes.axhline(y, color=GREY, linewidth=0.4, zorder=0)
            _dots(axes, base[column], y - 0.15, LEADER, "o", "base")
            _dots(axes, new[column], y + 0.15, NEW_COLOUR, "D", "new")
        axes.set_yticks(range(len(rows)), [labels.name(candidates[i]) for i in rows])
        axes.invert_yaxis()
        axes.set_xlabel("place in a trial (1 is best); a larger mark: more trials")
        axes.set_xlim(0.4, len(candidates) + 0.6)
        handles = [
            axes.plot([], [], marker, color=colour, label=name, linestyle="")[0]
            for marker, colour, name in (("o", LEADER, "base"), ("D", NEW_COLOUR, "new"))
        ]
        canvas.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False)
        file = io.StringIO()
        title = "Places of each candidate in both series"
        metadata = {"Date": None, "Creator": None, "Title": title}
        canvas.savefig(file, format="svg", metadata=metadata)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _dots(axes: Any, places: list[float], y: float, colour: str, marker: str, gid: str) -> None:
    for place in sorted(set(places)):
        size = 4 + 2.2 * min(places.count(place), 8)
        axes.plot([place], [y], marker, markersize=size, color=colour, alpha=0.75, gid=gid)


def _median(places: list[float]) -> float:
    ordered = sorted(places)
    return ordered[len(ordered) // 2] if ordered else float("inf")
