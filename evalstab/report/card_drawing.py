"""Draws a results card: 1,200 × 630 pixels, the size that posts show whole."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from evalstab.report import numbers
from evalstab.report.card import Card
from evalstab.report.colours import DARK, GREY, LEADER, SOFT
from evalstab.report.curves import tick
from evalstab.report.page import BumpData, CurveData, Trajectory
from evalstab.report.plots import OTHER_WINNERS, STYLE

Picture = Literal["svg", "png"]
WIDTH, HEIGHT, DPI = 12.0, 6.3, 100
VERDICT = {"pass": "#116329", "fail": "#a40e26", "undecided": "#6b4a00", "invalid": "#5a32a3"}
WORDS = {"pass": "PASS", "fail": "FAIL", "undecided": "UNDECIDED", "invalid": "INVALID"}
MUTED, BAND = "#57606a", "#f4f6f8"
_LEFT = 0.04
_PLACES_BOX, _CURVE_BOX = (0.555, 0.315, 0.27, 0.42), (0.545, 0.315, 0.4, 0.42)
_FOOT = 0.19
_WIDEST = 31
"""Characters of a value that have room beside the plot at full size."""


def draw_card(card: Card, picture: Picture = "svg") -> bytes:
    """The card as an SVG document or a PNG of 1,200 × 630 pixels; the same bytes each time."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Glyph .* missing", category=UserWarning)
        warnings.filterwarnings("ignore", message="(?s)Matplotlib currently does not support")
        canvas = Canvas(figsize=(WIDTH, HEIGHT), dpi=DPI, facecolor="white")
        _bands(canvas, VERDICT.get(card.status, LEADER))
        _head(canvas, card)
        _rates(canvas, card.rates)
        _foot(canvas, card)
        if isinstance(card.plot, BumpData):
            _places(canvas, card.plot)
        else:
            _curve(canvas, card.plot)
        file = io.BytesIO()
        metadata: Any = {"Title": card.title} | (
            {"Date": None, "Creator": None} if picture == "svg" else {"Software": None}
        )
        canvas.savefig(file, format=picture, metadata=metadata, dpi=DPI)
    return file.getvalue()


def _bands(canvas: Canvas, colour: str) -> None:
    for box, fill in (((0, 0.982, 1, 0.018), colour), ((0, 0, 1, _FOOT), BAND)):
        x, y, width, height = box
        canvas.add_artist(
            Rectangle(
                (x, y), width, height, facecolor=fill, linewidth=0, transform=canvas.transFigure
            )
        )


def _head(canvas: Canvas, card: Card) -> None:
    size = 21 if len(card.title) < 56 else 15 if len(card.title) < 80 else 11
    canvas.text(_LEFT, 0.915, card.title, fontsize=size, fontweight="bold", va="center")
    x = _LEFT
    if word := WORDS.get(card.status):
        pill = canvas.text(
            _LEFT + 0.012, 0.828, word, fontsize=12, fontweight="bold", color="white", va="center"
        )
        pill.set_bbox({"facecolor": VERDICT[card.status], "boxstyle": "round,pad=0.45", "lw": 0})
        x += 0.034 + 0.0098 * len(word)
    verdict = card.verdict
    if word and verdict.lower().startswith(f"{word.lower()}: "):
        verdict = verdict[len(word) + 2 :]
        verdict = verdict[:1].upper() + verdict[1:]
    lines = textwrap.wrap(verdict, int(118 * (0.96 - x)))[:2]
    canvas.text(x, 0.828, "\n".join(lines), fontsize=12.5, va="center", linespacing=1.35)


def _rates(canvas: Canvas, rates: Sequence[tuple[str, str]]) -> None:
    for row, (name, value) in enumerate(rates):
        y = 0.715 - row * 0.0665
        size = 12.5 * min(1.0, _WIDEST / len(value))
        canvas.text(_LEFT, y, name, fontsize=11.5, color=MUTED, va="center")
        canvas.text(0.235, y, value, fontsize=size, va="center", fontweight="bold")


def _foot(canvas: Canvas, card: Card) -> None:
    about = [f"launch: {card.launch}", f"rig:    {card.rig}"]
    wrapped = [
        part for line in about for part in textwrap.wrap(line, 138, break_on_hyphens=False)[:2]
    ]
    canvas.text(
        _LEFT, 0.162, "\n".join(wrapped), fontsize=9.2, va="top", family="monospace",
        linespacing=1.35,
    )  # fmt: skip
    canvas.text(_LEFT, 0.03, card.small, fontsize=9.5, color=MUTED, va="center")
    canvas.text(
        0.96, 0.03, "evalstab", fontsize=11, color=MUTED, va="center", ha="right", fontweight="bold"
    )


def _places(canvas: Canvas, data: BumpData) -> None:
    if not data.lines:
        return
    axes = _axes(canvas, _PLACES_BOX, "trial", "place (1 = first)")
    others = iter(OTHER_WINNERS)
    ends: list[tuple[float, str, str]] = []
    for line in data.lines:
        colour = LEADER if line.leader else next(others, DARK) if line.wins else GREY
        heights = [float("nan") if place is None else place for place in line.places]
        axes.plot(
            heights, marker="o", color=colour, linewidth=2.6 if line.wins else 1, markersize=5
        )
        known = [place for place in line.places if place is not None]
        if known:
            ends.append((known[-1], _end(line), colour if line.wins else DARK))
    lowest = max((p for line in data.lines for p in line.places if p is not None), default=1)
    axes.set_ylim(lowest + 0.6, 0.4)
    step = max(1, round(lowest / 6))
    axes.set_yticks(sorted({1, *range(step, int(lowest) + 1, step)}))
    height = -10.0
    for place, told, colour in sorted(ends):
        height = max(place, height + lowest / 15)
        axes.annotate(
            told, (len(data.trials) - 1, height), xytext=(10, 0), textcoords="offset points",
            va="center", fontsize=9.5, annotation_clip=False,
        ).set_color(colour)  # fmt: skip
    if data.more:
        told = f"{numbers.plural(data.more, 'more candidate')} not drawn"
        canvas.text(0.96, 0.755, told, fontsize=9.5, color=MUTED, ha="right")
    axes.set_xlim(-0.2, len(data.trials) - 0.8)
    if len(data.trials) <= 12:
        axes.set_xticks(range(len(data.trials)), data.trials)


def _end(line: Trajectory) -> str:
    told = f"{line.label}, {line.wins}× first" if line.wins else line.label
    return told if len(told) <= 24 else line.label


def _curve(canvas: Canvas, data: CurveData) -> None:
    curve = data.curves[0]
    if not curve.points:
        return
    axes = _axes(canvas, _CURVE_BOX, data.x_label, curve.quantity)
    xs, ys = [x for x, _ in curve.points], [y for _, y in curve.points]
    axes.plot(xs, ys, marker="o", color=LEADER, linewidth=2.6, markersize=7)
    for x, between in zip(xs, curve.intervals, strict=True):
        if between is not None:
            axes.plot([x, x], between, color=LEADER, linewidth=1.6, alpha=0.6)
    ends = [end for between in curve.intervals if between is not None for end in between]
    low = min(0.0, *ys, *ends)
    axes.set_ylim(low - 0.06 if low < 0 else 0, 1.09)
    axes.set_xlim(0, max(xs) * 1.05)
    axes.xaxis.set_major_formatter(lambda x, _: tick(x))
    axes.xaxis.get_major_locator().set_params(integer=True)
    for x, y in curve.points:
        last = len(xs) > 1 and x == xs[-1]
        axes.annotate(
            numbers.decimal(y), (x, y), xytext=(-8 if last else 8, 7), textcoords="offset points",
            ha="right" if last else "left", fontsize=10, fontweight="bold", color=LEADER,
        )  # fmt: skip


def _axes(
    canvas: Canvas, box: tuple[float, float, float, float], x_label: str, y_label: str
) -> Any:
    axes: Any = canvas.add_axes(box)
    axes.grid(axis="y", color=SOFT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return axes
