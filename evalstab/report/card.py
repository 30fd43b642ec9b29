"""The results card: one picture to post, with model, launch line, rig, verdict, ranks and rates."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal

import matplotlib as mpl
import msgspec
from matplotlib.figure import Figure as Canvas

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.candidates import leader, places_of
from evalstab.report.colours import DARK, GREY, LEADER, SOFT
from evalstab.report.facts import Facts, block, number, numbers_of
from evalstab.report.page import Answer
from evalstab.report.plots import OTHER_WINNERS, STYLE
from evalstab.series.folder import SeriesFolder

Picture = Literal["svg", "png"]
WIDTH, HEIGHT, DPI = 12.0, 6.3, 100
VERDICT = {"pass": "#116329", "fail": "#a40e26", "undecided": "#6b4a00", "invalid": "#5a32a3"}
MAX_LINES = 8
_PATH = re.compile(r"(?<![\w/:.-])~?(?:/[\w.@+-]+){2,}/?|\b[\w.-]+@[\w.-]+")
_ADDRESS = re.compile(r"\bhttps?://\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b", re.I)


@dataclass(frozen=True, slots=True)
class Card:
    """What stands on the card; all strings are one line of plain text."""

    title: str
    status: str
    verdict: str
    launch: str
    rig: str
    rates: tuple[tuple[str, str], ...]
    trials: tuple[str, ...]
    lines: tuple[tuple[str, tuple[float | None, ...], bool, int], ...]
    small: str


def build_card(
    folder: SeriesFolder, facts: Facts, answer: Answer, origin: SeriesFolder | None = None
) -> Card:
    """The card of a scored series.

    Launch line and rig are those of ``origin`` (by default the series itself), with folders,
    accounts and addresses taken out; what is not known is said to be not captured.
    """
    conditions = folder.file.conditions
    trials, places = places_of(facts)
    first = leader(facts)
    wins = facts.wins
    best = sorted(places, key=lambda who: (who != first, -wins.get(who, 0), _mean(places[who])))
    parts = [facts.series.get("model") or conditions.get("model") or "model not stated"]
    parts += [v for k in ("quant", "engine") if (v := conditions.get(k)) and v != "unknown"]
    simulated = (
        "simulated endpoint, no model was judged · " if facts.series.get("simulated") else ""
    )
    created = labels.name(folder.file.created)[:10]
    return Card(
        title=" · ".join(labels.name(part, 60) for part in parts),
        status=answer.status,
        verdict=labels.sentence(answer.line, 220),
        launch=_launch(origin or folder),
        rig=_rig(origin or folder),
        rates=tuple(_rates(facts)),
        trials=trials,
        lines=tuple(
            (labels.name(who, 24), places[who], who == first, wins.get(who, 0))
            for who in best[:MAX_LINES]
        ),
        small=f"{simulated}{labels.name(facts.series.get('task') or 'task')} · "
        f"{len(facts.valid)} of {facts.planned} trials valid · {created} · evalstab",
    )


def draw_card(card: Card, picture: Picture = "svg") -> bytes:
    """The card as an SVG document or a PNG of 1,200 × 630 pixels; the same bytes each time."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Glyph .* missing", category=UserWarning)
        warnings.filterwarnings("ignore", message="(?s)Matplotlib currently does not support")
        canvas = Canvas(figsize=(WIDTH, HEIGHT), dpi=DPI, facecolor="white")
        _words(canvas, card)
        _places(canvas, card)
        file = io.BytesIO()
        metadata: Any = {"Title": card.title} | (
            {"Date": None, "Creator": None} if picture == "svg" else {"Software": None}
        )
        canvas.savefig(file, format=picture, metadata=metadata, dpi=DPI)
    return file.getvalue()


def _words(canvas: Canvas, card: Card) -> None:
    colour = VERDICT.get(card.status, DARK)
    size = 19 if len(card.title) < 64 else 13
    canvas.text(0.04, 0.925, card.title, fontsize=size, fontweight="bold", va="center")
    lines = textwrap.wrap(card.verdict, 108)[:2]
    canvas.text(
        0.04, 0.845, "\n".join(lines), fontsize=12.5, color=colour, va="top", fontweight="bold"
    )
    for row, (name, value) in enumerate(card.rates):
        y = 0.69 - row * 0.068
        canvas.text(0.04, y, name, fontsize=11.5, color="#57606a", va="center")
        canvas.text(0.225, y, value, fontsize=12.5, va="center", fontweight="bold")
    about = [f"launch: {card.launch}", f"rig: {card.rig}"]
    wrapped = [
        part for line in about for part in textwrap.wrap(line, 136, break_on_hyphens=False)[:2]
    ]
    canvas.text(
        0.04, 0.185, "\n".join(wrapped), fontsize=9.5, va="top", family="monospace", linespacing=1.4
    )
    canvas.text(0.04, 0.035, card.small, fontsize=9.5, color="#57606a", va="center")


def _places(canvas: Canvas, card: Card) -> None:
    if not card.lines:
        return
    axes = canvas.add_axes((0.55, 0.27, 0.29, 0.44))
    axes.grid(axis="y", color=SOFT, linewidth=0.6)
    others = iter(OTHER_WINNERS)
    ends: list[tuple[float, str, str]] = []
    for name, places, first, wins in card.lines:
        colour = LEADER if first else next(others, DARK) if wins else GREY
        heights = [float("nan") if place is None else place for place in places]
        axes.plot(heights, marker="o", color=colour, linewidth=2.6 if wins else 1, markersize=5)
        known = [place for place in places if place is not None]
        if known:
            told = f"{name}, first {numbers.times(wins)}" if wins else name
            ends.append((known[-1], told if len(told) <= 30 else name, colour if wins else DARK))
    lowest = max((p for _, places, _, _ in card.lines for p in places if p is not None), default=1)
    axes.set_ylim(lowest + 0.6, 0.4)
    height = -10.0
    for place, told, colour in sorted(ends):
        height = max(place, height + lowest / 15)
        axes.annotate(
            told, (len(card.trials) - 1, height), xytext=(10, 0), textcoords="offset points",
            va="center", fontsize=9.5, annotation_clip=False,
        ).set_color(colour)  # fmt: skip
    axes.set_xlim(-0.2, len(card.trials) - 0.8)
    if len(card.trials) <= 12:
        axes.set_xticks(range(len(card.trials)), card.trials)
    axes.set_xlabel("trial")
    axes.set_ylabel("place (1 = first)")


def _rates(facts: Facts) -> Iterator[tuple[str, str]]:
    valid = len(facts.valid)
    stability = facts.stability
    tau = number(stability, "kendall_tau", "mean")
    low, high = (number(stability, "kendall_tau", end) for end in ("ci_low", "ci_high"))
    told = numbers.UNKNOWN if tau is None else numbers.decimal(tau)
    if tau is not None and low is not None and high is not None:
        told += f"  (95 % {numbers.interval(low, high)})"
    yield "Kendall tau, mean", told
    distinct = number(stability, "winner", "distinct")
    shown = numbers.UNKNOWN if distinct is None else numbers.count(distinct)
    yield "different first places", f"{shown} in {numbers.plural(len(facts.ranked), 'ranking')}"
    tops = numbers_of(facts.valid, "top_score")
    yield (
        "highest total",
        f"{numbers.points(min(tops))} to {numbers.points(max(tops))}" if tops else numbers.UNKNOWN,
    )
    for name, path in (("with leaks", ("language", "spans")), ("with unfinished calls", (
        "tool_calls", "unfinished"))):  # fmt: skip
        known = numbers_of(facts.valid, *path)
        hits = sum(value > 0 for value in known)
        yield f"trials {name}", f"{hits} of {len(known)}" if known else numbers.UNKNOWN
    loops = sum(any(".loop" in c or "reworded" in c for c in _codes(t)) for t in facts.valid)
    yield "trials with loops", f"{loops} of {valid}" if valid else numbers.UNKNOWN
    speeds = numbers_of(facts.valid, "speed", "decode_tok_s", "p50")
    context = facts.context
    at = f" at {numbers.context(context)}" if context is not None else ""
    yield "decode rate", f"{numbers.rate(median(speeds))}{at}" if speeds else (numbers.UNKNOWN)


def _codes(trial: Json) -> set[str]:
    return set(block(trial, "finding_counts"))


def _launch(folder: SeriesFolder) -> str:
    try:
        launch = msgspec.json.decode((folder.root / "launch.json").read_bytes(), type=dict)
    except (OSError, msgspec.MsgspecError):
        return "not captured"
    command = launch.get("command")
    if not isinstance(command, str):
        return "not captured"
    return labels.sentence(public(command), 300)


def public(command: str) -> str:
    """A command line without folders, accounts and addresses: of paths the last part is left."""
    bare = _ADDRESS.sub("…", command[:4000])
    return _PATH.sub(
        lambda m: "…" if "@" in m[0] else "…/" + m[0].rstrip("/").rpartition("/")[2], bare
    )


def _rig(folder: SeriesFolder) -> str:
    known = folder.file.conditions.get("hardware")
    if isinstance(known, dict):
        known = ", ".join(f"{key} {value}" for key, value in known.items() if value is not None)
    if not isinstance(known, str) or known in ("", "unknown"):
        return "not captured"
    return labels.sentence(public(known), 200)


def _mean(places: tuple[float | None, ...]) -> float:
    known = [place for place in places if place is not None]
    return fmean(known) if known else float("inf")
