"""Curves over the rungs of a ladder: one panel a quantity, points at the rungs."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure as Canvas

from evalstab.report import numbers
from evalstab.report.colours import DARK, GREY, LEADER, SOFT
from evalstab.report.page import Curve, CurveData

COLOURS = (LEADER, "#D55E00", "#009E73", "#CC79A7")
MARKERS = ("o", "s", "^", "D")
_WIDTH, _HEIGHT = 5.2, 1.7
_LEFT, _RIGHT, _BOTTOM, _TOP, _GAP = 0.75, 1.7, 0.55, 0.3, 0.35


def curves(data: CurveData) -> Canvas:
    """All panels, one below the other, over a common x axis."""
    panels = list(dict.fromkeys(curve.quantity for curve in data.curves))
    height = _BOTTOM + _TOP + len(panels) * (_HEIGHT + _GAP) - _GAP
    width = _LEFT + _WIDTH + _RIGHT
    canvas = Canvas(figsize=(width, height))
    reach = [x for curve in data.curves for x, _ in curve.points]
    for number, quantity in enumerate(panels):
        bottom = height - _TOP - (number + 1) * _HEIGHT - number * _GAP
        box = (_LEFT / width, bottom / height, _WIDTH / width, _HEIGHT / height)
        axes: Any = canvas.add_axes(box)
        _panel(axes, data, [c for c in data.curves if c.quantity == quantity])
        axes.set_title(quantity, loc="left", fontsize=9, color=DARK)
        axes.set_xlim(0, max(reach) * 1.03)
        axes.yaxis.set_major_formatter(lambda y, _: numbers.plain(y))
        axes.xaxis.set_major_formatter(lambda x, _: tick(x))
        axes.xaxis.get_major_locator().set_params(integer=True)
        if number == len(panels) - 1:
            axes.set_xlabel(data.x_label)
        else:
            axes.tick_params(axis="x", labelbottom=False)
    return canvas


def _panel(axes: Any, data: CurveData, shown: list[Curve]) -> None:
    axes.grid(axis="y", color=SOFT, linewidth=0.6)
    axes.set_axisbelow(True)
    if data.control is not None:
        axes.axvline(data.control, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for number, curve in enumerate(shown):
        colour = COLOURS[number % len(COLOURS)]
        xs, ys = [x for x, _ in curve.points], [y for _, y in curve.points]
        axes.plot(
            xs, ys, marker=MARKERS[number % len(MARKERS)], color=colour, linewidth=1.6,
            markersize=5, zorder=3, gid=f"curve-{curve.label}",
        )  # fmt: skip
        for x, between in zip(xs, curve.intervals, strict=False):
            if between is not None:
                axes.plot([x, x], between, color=colour, linewidth=1.2, alpha=0.7, zorder=2)
        text = axes.annotate(
            curve.label, (xs[-1], ys[-1]), xytext=(8, 0), textcoords="offset points", va="center"
        )
        text.set(color=colour)
    low = min(y for curve in shown for y in _heights(curve))
    high = max(y for curve in shown for y in _heights(curve))
    room = (high - min(low, 0.0)) * 0.12 or 1.0
    axes.set_ylim(low - room if low < 0 else 0, high + room)


def _heights(curve: Curve) -> list[float]:
    ends = [end for between in curve.intervals if between is not None for end in between]
    return [y for _, y in curve.points] + ends


def tick(x: float) -> str:
    """A number on an axis: ``60k`` from a thousand on."""
    return f"{numbers.plain(x / 1000)}k" if x >= 1000 else numbers.plain(x)
