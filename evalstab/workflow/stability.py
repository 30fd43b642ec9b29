"""``evalstab stability``: the stability block for a table that somebody brings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from evalstab.chat import Json
from evalstab.intake.table import STDIN, Table, Values, read_table
from evalstab.report import terminal
from evalstab.report.agreement import stability as stability_section
from evalstab.report.facts import facts_of
from evalstab.report.numbers import plural
from evalstab.report.page import Answer, Report
from evalstab.report.sure import tau_sure
from evalstab.statistics.block import stability_block
from evalstab.statistics.ranks import FloatArray
from evalstab.workflow.request import Announce


def stability_of(path: Path, values: Values | None, announce: Announce) -> Json:
    """The ``stability`` object of scores.json for a CSV or JSON table; InputError says the mend.

    ``announce`` is told where places and totals contradict each other.
    """
    return _block(_read(path, values, announce))


def stability_text(path: Path, values: Values | None, announce: Announce) -> str:
    """The same for people: every number with how sure it is, chance, and one plain sentence."""
    table = _read(path, values, announce)
    block = _block(table)
    facts = facts_of({"series": {}, "trials": _trials(table), "stability": block})
    section = stability_section(facts)
    shape = f"{plural(len(table.trials), 'trial')} of {plural(len(table.candidates), 'candidate')}"
    tau = block["kendall_tau"]
    mean = tau["mean"]
    line = f"{tau.get('mean_reason') if mean is None else f'mean Kendall tau {mean:.2f}'}, "
    line += f"{tau_sure(tau)}."
    if len(table.trials) == 1:
        line = "One trial agrees with nothing: it takes two to compare and three for an interval."
    found = Report(
        title=f"{'stdin' if path == STDIN else path.name}: {shape}",
        question="Do the trials agree?",
        answer=Answer("none", line, ()),
        notices=(),
        sections=(replace(section, brief=True),) if section else (),
    )
    return terminal.render(found, colour=None)


def _read(path: Path, values: Values | None, announce: Announce) -> Table:
    table = read_table(path, values)
    if table.warning is not None:
        announce(f"warning: {table.warning}")
    return table


def _block(table: Table) -> Json:
    made = stability_block(table.places, table.totals, table.candidates)
    return made.to_dict()


def _trials(table: Table) -> list[Json]:
    """Trials as the report reads them."""
    return [
        {
            "index": number,
            "outcome": "completed",
            "ranking": _groups(places, table.candidates),
            "winners": _groups(places, table.candidates)[0] if _any(places) else [],
            "top_score": _top(table.totals, number - 1),
        }
        for number, places in enumerate(table.places, 1)
    ]


def _any(places: FloatArray) -> bool:
    return bool((~np.isnan(places)).any())


def _groups(places: FloatArray, candidates: tuple[str, ...]) -> list[list[str]]:
    known = sorted({float(p) for p in places if not np.isnan(p)})
    return [[c for c, p in zip(candidates, places, strict=True) if p == place] for place in known]


def _top(totals: FloatArray | None, row: int) -> float | None:
    if totals is None or np.isnan(totals[row]).all():
        return None
    return float(np.nanmax(totals[row]))
