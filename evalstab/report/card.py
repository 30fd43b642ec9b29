"""The results card: what stands on the one picture to post, for a series and for a ladder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import msgspec

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.candidates import leader, places_of
from evalstab.report.facts import Facts
from evalstab.report.headline import Named, headline, with_interval
from evalstab.report.ladder_speed import speeds_of
from evalstab.report.ladder_tables import by_size, verdict_of
from evalstab.report.launch_line import public, shared_launch, shared_rig
from evalstab.report.page import Answer, BumpData, Curve, CurveData, Trajectory
from evalstab.series.folder import SeriesFolder
from evalstab.series.ladder import LadderFile

MAX_LINES = 8
MAX_RUNGS = 7


@dataclass(frozen=True, slots=True)
class Card:
    """What stands on the card; all strings are one line of plain text.

    ``plot`` is where the candidates stood in the trials of a series, or the curve of a ladder.
    """

    title: str
    status: str
    verdict: str
    launch: str
    rig: str
    rates: tuple[Named, ...]
    plot: BumpData | CurveData
    small: str


def build_card(
    folder: SeriesFolder, facts: Facts, answer: Answer, origin: SeriesFolder | None = None
) -> Card:
    """The card of a scored series.

    Launch line and rig are those of ``origin``, the series that a shared one was made from, as far
    as they may be shared; without it the series' own, with folders, accounts and addresses taken
    out. What is not known is said to be not captured.
    """
    trials, places = places_of(facts)
    first, wins = leader(facts), facts.wins
    best = sorted(places, key=lambda who: (who != first, -wins.get(who, 0), _mean(places[who])))
    lines = tuple(
        Trajectory(labels.name(who, 24), places[who], wins.get(who, 0), who == first)
        for who in best[:MAX_LINES]
    )
    return Card(
        title=_title(folder, facts.series.get("model")),
        status=answer.status,
        verdict=labels.sentence(answer.line, 220),
        launch=_launch(origin or folder, share=origin is not None),
        rig=_rig(origin or folder, share=origin is not None),
        rates=headline(facts),
        plot=BumpData(trials, lines, more=len(best) - len(lines)),
        small=_small(
            folder.file.created,
            simulated=bool(facts.series.get("simulated")),
            what=f"{labels.name(facts.series.get('task') or 'task')} · "
            f"{len(facts.valid)} of {facts.planned} trials valid",
        ),
    )


def build_ladder_card(
    file: LadderFile,
    result: Json,
    answer: Answer,
    control: SeriesFolder,
    origin: SeriesFolder | None = None,
) -> Card:
    """The card of a ladder: the curve of tau over its rungs.

    Model, launch line and rig are those of the control rung; ``origin`` as of ``build_card``.
    """
    rows = result["rungs"]
    sized = by_size(rows)
    return Card(
        title=_title(control, None),
        status=answer.status,
        verdict=labels.sentence(answer.line, 220),
        launch=_launch(origin or control, share=origin is not None),
        rig=_rig(origin or control, share=origin is not None),
        rates=tuple(_rungs(rows, simulated=file.simulated)),
        plot=CurveData(
            "active context, tokens" if sized else "trials at once",
            (_tau_curve(rows, sized=sized),),
        ),
        small=_small(
            file.created,
            simulated=file.simulated,
            what=f"{labels.name(file.task)} · {numbers.plural(len(rows), 'rung')} of "
            f"{numbers.plural(file.repeats, 'trial')}",
        ),
    )


def _rungs(rows: list[Json], *, simulated: bool) -> Iterator[Named]:
    """Tau and verdict of each rung; of very many the first and the last ones."""
    shown = rows if len(rows) <= MAX_RUNGS else [*rows[:4], *rows[4 - MAX_RUNGS :]]
    for row in shown:
        word = "" if row["verdict"] == "none" else f"  {verdict_of(row)}"
        yield f"tau at {labels.name(row['name'], 16)}", with_interval(row["kendall_tau"]) + word
    if 0 < len(rows) < MAX_RUNGS - 1:
        yield from speeds_of(rows, simulated=simulated)


def _tau_curve(rows: list[Json], *, sized: bool) -> Curve:
    known = [row for row in rows if row["kendall_tau"]["mean"] is not None]
    placed = [
        (float(row["active_context"]["median"]) if sized else float(row["concurrency"]), row)
        for row in known
        if row["active_context"] is not None or not sized
    ]
    placed.sort(key=lambda pair: pair[0])
    taus = [row["kendall_tau"] for _, row in placed]
    return Curve(
        "tau",
        "mean Kendall tau, 95 % interval",
        tuple((x, row["kendall_tau"]["mean"]) for x, row in placed),
        tuple(None if t["ci_low"] is None else (t["ci_low"], t["ci_high"]) for t in taus),
    )


def _title(folder: SeriesFolder, model: object) -> str:
    conditions = folder.file.conditions
    parts = [model or conditions.get("model") or "model not stated"]
    parts += [v for k in ("quant", "engine") if (v := conditions.get(k)) and v != "unknown"]
    return " · ".join(labels.name(part, 60) for part in parts)


def _small(created: str, *, simulated: bool, what: str) -> str:
    first = "simulated endpoint, no model was judged · " if simulated else ""
    return f"{first}{what} · {labels.name(created)[:10]}"


def _launch(folder: SeriesFolder, *, share: bool) -> str:
    try:
        launch = msgspec.json.decode((folder.root / "launch.json").read_bytes(), type=dict)
    except (OSError, msgspec.MsgspecError):
        return "not captured"
    command = launch.get("command")
    if not isinstance(command, str):
        return "not captured"
    return labels.sentence(shared_launch(command) if share else public(command), 300)


def _rig(folder: SeriesFolder, *, share: bool) -> str:
    known = folder.file.conditions.get("hardware")
    if isinstance(known, dict):
        known = ", ".join(f"{key} {value}" for key, value in known.items() if value is not None)
    if not isinstance(known, str) or known in ("", "unknown"):
        return "not captured"
    return labels.sentence(shared_rig(known) if share else public(known), 200)


def _mean(places: tuple[float | None, ...]) -> float:
    known = [place for place in places if place is not None]
    return fmean(known) if known else float("inf")
