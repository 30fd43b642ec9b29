"""The plot of a track: one panel a number, one point a night, marks where the server changed."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from evalstab.report import labels, numbers
from evalstab.report.colours import DARK, GREY, LEADER, SOFT
from evalstab.report.plots import STYLE

CHANGED = "#D55E00"
MOST = 120
"""Nights shown: the latest."""

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP, _GAP = 7.4, 1.15, 0.8, 0.35, 0.85, 0.65, 0.42


@dataclass(frozen=True, slots=True)
class TrendPanel:
    """One number over the nights: its values (None where unknown), their intervals, its levels.

    ``levels`` are (first night, last night, median) between steps; ``baseline`` is the number in
    the frozen baseline.
    """

    name: str
    values: tuple[float | None, ...]
    intervals: tuple[tuple[float, float] | None, ...] = ()
    levels: tuple[tuple[int, int, float], ...] = ()
    baseline: float | None = None


@dataclass(frozen=True, slots=True)
class TrendData:
    """A track: the dates of its nights, the panels, and the positions where the server changed."""

    title: str
    nights: tuple[str, ...]
    panels: tuple[TrendPanel, ...]
    changes: tuple[int, ...]


def trend_plot(data: TrendData) -> str:
    """An SVG with a panel for every number that was ever known; the latest nights only."""
    first = max(0, len(data.nights) - MOST)
    panels = [p for p in data.panels if any(v is not None for v in p.values[first:])]
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Glyph .* missing", category=UserWarning)
        height = _BOTTOM + _TOP + max(1, len(panels)) * (_HEIGHT + _GAP) - _GAP
        whole = _LEFT + _WIDTH + _RIGHT
        canvas = Canvas(figsize=(whole, height))
        for number, panel in enumerate(panels):
            bottom = height - _TOP - (number + 1) * _HEIGHT - number * _GAP
            box = (_LEFT / whole, bottom / height, _WIDTH / whole, _HEIGHT / height)
            axes: Any = canvas.add_axes(box)
            _panel(axes, panel, data, first)
            _dates(axes, data.nights, first, shown=number == len(panels) - 1)
        file = io.StringIO()
        title = labels.name(data.title, 90)
        top = 1 - 0.08 / height
        canvas.text(_LEFT / whole, top, title, va="top", fontsize=10, color=DARK)
        canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _panel(axes: Any, panel: TrendPanel, data: TrendData, first: int) -> None:
    known = [(x, v) for x, v in enumerate(panel.values) if v is not None and x >= first]
    axes.grid(axis="y", color=SOFT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(panel.name, loc="left", fontsize=9, color=DARK)
    if panel.baseline is not None:
        axes.axhline(panel.baseline, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    for x in data.changes:
        if x >= first:
            axes.axvline(x - 0.5, color=CHANGED, linewidth=1.0, linestyle=":", zorder=1)
    for start, end, level in panel.levels:
        if end >= first:
            axes.plot([max(start, first), end], [level, level], color=DARK, linewidth=1.4, zorder=2)
    for x, between in enumerate(panel.intervals):
        if between is not None and x >= first:
            axes.plot([x, x], between, color=LEADER, linewidth=1.1, alpha=0.55, zorder=2)
    points = {"color": LEADER, "markersize": 4, "zorder": 3, "clip_on": False}
    axes.plot([x for x, _ in known], [v for _, v in known], "o", **points)
    _limits(axes, panel, known)


def _limits(axes: Any, panel: TrendPanel, known: Sequence[tuple[int, float]]) -> None:
    heights = [v for _, v in known] + [end for pair in panel.intervals if pair for end in pair]
    heights += [panel.baseline] if panel.baseline is not None else []
    low, high = min(heights), max(heights)
    room = (high - low) * 0.15 or abs(high) * 0.1 or 1.0
    floor = low - room if low < 0 else 0.0
    axes.set_ylim(floor, high + max(room, 0.08 * (high - floor)))
    axes.locator_params(axis="y", nbins=4)
    axes.yaxis.set_major_formatter(lambda y, _: numbers.plain(y))


def _dates(axes: Any, nights: Sequence[str], first: int, *, shown: bool) -> None:
    axes.set_xlim(first - 0.6, len(nights) - 0.4)
    stride = max(1, (len(nights) - first + 11) // 12)
    places = list(range(first, len(nights), stride))
    axes.set_xticks(places, [nights[x] for x in places] if shown else [""] * len(places))
    axes.tick_params(axis="x", rotation=30)
    if shown:
        axes.set_xlabel("night (dotted: the server changed; dashed: baseline; bar: level)")
