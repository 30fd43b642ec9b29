"""The plots as SVG; only this room imports matplotlib.

Text stays text, so files are small, searchable and the same on every machine; a fixed hash salt and
no date make them the same twice. Colours are Okabe and Ito's, told apart by colour-blind readers;
who led is also told by line width and marker, so that print in grey still reads.
"""

from __future__ import annotations

import io
import warnings
from collections import defaultdict
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from evalstab.report import colours, numbers
from evalstab.report.comparison_plot import pair
from evalstab.report.curves import curves
from evalstab.report.page import BumpData, CurveData, Figure, PairData, StripData

GREY, DARK, SOFT, LEADER = colours.GREY, colours.DARK, colours.SOFT, colours.LEADER
OTHER_WINNERS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STYLE: Any = {
    "svg.hashsalt": "evalstab",
    "svg.fonttype": "none",
    "font.family": ["sans-serif"],
    "font.size": 9,
    "text.parse_math": False,
    "text.color": DARK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": DARK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": DARK,
    "ytick.labelcolor": DARK,
}
TIE_STEP = 0.16
"""Distance between tied candidates around their common place, so that both can be seen."""
_INCH_A_CHARACTER = 0.09


def draw(figure: Figure) -> str:
    """The figure as an SVG document."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # Labels may hold any script; the reader's fonts show what matplotlib's own cannot measure.
        warnings.filterwarnings("ignore", message="(?s).*Glyph .* missing", category=UserWarning)
        warnings.filterwarnings("ignore", message="(?s)Matplotlib currently does not support")
        data = figure.data
        canvas = _canvas(data)
        file = io.StringIO()
        metadata = {"Date": None, "Creator": None, "Title": figure.title}
        canvas.savefig(file, format="svg", metadata=metadata)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _canvas(data: BumpData | StripData | CurveData | PairData) -> Canvas:
    match data:
        case BumpData():
            return _bump(data)
        case StripData():
            return _strips(data)
        case CurveData():
            return curves(data)
        case PairData():
            return pair(data)


def _bump(data: BumpData) -> Canvas:
    many, trials = len(data.lines), len(data.trials)
    margin = 0.4 + _INCH_A_CHARACTER * max(
        (len(_end_name(data, i)) for i in range(many)), default=0
    )
    inner = min(11.0, max(4.6, 0.7 * trials))
    canvas, axes = _axes((inner, min(13.0, max(2.0, 0.27 * many))), margin)
    colours = _colours(data)
    heights = _heights(data, TIE_STEP)
    best = [_best(data, x) for x in range(trials)]
    for number, line in enumerate(data.lines):
        thick = 2.8 if line.leader else 1.9 if line.wins else 0.9
        order = 5 if line.leader else 4 if line.wins else 2
        style = {"color": colours[number], "linewidth": thick, "zorder": order}
        axes.plot(heights[number], marker="o", markersize=thick + 2, gid=f"line-{number}", **style)
        won = [x for x, place in enumerate(line.places) if place is not None and place == best[x]]
        spots = [heights[number][x] for x in won]
        axes.plot(
            won, spots, "o", markersize=10, color=colours[number], markeredgecolor=DARK, zorder=6,
            gid=f"first-{number}",
        )  # fmt: skip
    _end_labels(axes, data, colours)
    axes.set_ylim(many + 0.7, 0.3)
    axes.set_yticks([p for p in range(1, many + 1) if many <= 20 or p == 1 or p % 5 == 0])
    axes.set_ylabel("place (1 = first)")
    axes.tick_params(axis="y", length=0)
    _name_trials(axes, data.trials)
    _mark_empty(axes, [x for x in range(trials) if best[x] is None], "no ranking")
    return canvas


def _strips(data: StripData) -> Canvas:
    trials = len(data.trials)
    canvas, axes = _axes((min(11.0, max(4.6, 0.7 * trials)), 2.9), 0.9)
    tops = [max(column) if column else float("nan") for column in data.columns]
    for x, column in enumerate(data.columns):
        axes.plot(
            [x] * len(column), column, "o", color=GREY, alpha=0.65, markersize=5,
            markeredgewidth=0, gid=f"totals-{x}",
        )  # fmt: skip
    axes.plot(tops, color=LEADER, linewidth=0.8, linestyle=(0, (4, 3)), alpha=0.6, zorder=3)
    axes.plot(tops, "D", color=LEADER, markersize=7, zorder=4, gid="highest")
    for x, column in enumerate(data.columns):
        if column:
            _write(axes, x, max(column), numbers.points(max(column)), (0, 7), LEADER)
    known = [total for column in data.columns for total in column]
    low = min(0.0, *known)
    room = (max(known) - low) * 0.14 or 1.0
    axes.set_ylim(low - (room if low < 0 else 0), max(known) + room)
    axes.set_ylabel("total awarded (points)")
    last = max(x for x, column in enumerate(data.columns) if column)
    text = axes.annotate(
        "highest", (last, max(data.columns[last])), xytext=(10, -3), textcoords="offset points"
    )
    text.set(color=LEADER, fontsize=9)
    _name_trials(axes, data.trials)
    empty = [x for x, column in enumerate(data.columns) if not column]
    _mark_empty(axes, empty, "no totals")
    return canvas


def _axes(inner: tuple[float, float], right: float) -> tuple[Canvas, Any]:
    """A canvas whose axes measure ``inner`` inches, with ``right`` inches for labels."""
    left, bottom, top = 0.65, 0.55, 0.15
    width, height = left + inner[0] + right, bottom + inner[1] + top
    canvas = Canvas(figsize=(width, height))
    box = (left / width, bottom / height, inner[0] / width, inner[1] / height)
    axes = canvas.add_axes(box)
    axes.grid(axis="y", color=SOFT, linewidth=0.6)
    axes.set_axisbelow(True)
    return canvas, axes


def _colours(data: BumpData) -> list[str]:
    """Blue for the leader, other colours for who ever stood first, grey for the rest."""
    others = iter(OTHER_WINNERS)
    return [
        LEADER if line.leader else next(others, DARK) if line.wins else GREY for line in data.lines
    ]


def _best(data: BumpData, x: int) -> float | None:
    return min((p for line in data.lines if (p := line.places[x]) is not None), default=None)


def _heights(data: BumpData, step: float) -> list[list[float]]:
    """Height of every line in every trial: its place, tied ones spread by ``step`` around it."""
    heights = [[float("nan")] * len(data.trials) for _ in data.lines]
    for x in range(len(data.trials)):
        tied: dict[float, list[int]] = defaultdict(list)
        for number, line in enumerate(data.lines):
            if (place := line.places[x]) is not None:
                tied[place].append(number)
        for place, group in tied.items():
            for rank, number in enumerate(group):
                heights[number][x] = place + step * (rank - (len(group) - 1) / 2)
    return heights


def _end_labels(axes: Any, data: BumpData, colours: list[str]) -> None:
    """Names at the right: tied ones fill the places they share, so no two names collide."""
    ranked = [x for x in range(len(data.trials)) if _best(data, x) is not None]
    if not ranked:
        return
    last = ranked[-1]
    heights = _heights(data, 1.0)
    for number, line in enumerate(data.lines):
        known = [x for x, place in enumerate(line.places) if place is not None]
        if not known:
            continue
        x, offset = known[-1], (10, 0) if known[-1] == last else (5, 5)
        colour = colours[number] if line.wins else DARK
        text = axes.annotate(
            _end_name(data, number), (x, heights[number][x]), xytext=offset,
            textcoords="offset points", va="center",
        )  # fmt: skip
        text.set(color=colour, fontweight="bold" if line.leader else "normal")


def _end_name(data: BumpData, number: int) -> str:
    line = data.lines[number]
    return f"{line.label}, first {numbers.times(line.wins)}" if line.wins else line.label


def _write(axes: Any, x: float, y: float, text: str, offset: tuple[int, int], colour: str) -> None:
    label = axes.annotate(text, (x, y), xytext=offset, textcoords="offset points", ha="center")
    label.set(color=colour, fontweight="bold")
    label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8})


def _name_trials(axes: Any, trials: tuple[str, ...]) -> None:
    axes.set_xlim(-0.3, len(trials) - 0.7)
    axes.set_xticks(range(len(trials)), trials)
    axes.set_xlabel("trial")


def _mark_empty(axes: Any, empty: list[int], why: str) -> None:
    middle = sum(axes.get_ylim()) / 2
    for x in empty:
        axes.axvspan(x - 0.25, x + 0.25, color=SOFT, linewidth=0, zorder=1)
        axes.text(x, middle, why, rotation=90, ha="center", va="center", color=DARK, zorder=7)
