"""From a series folder and its scores to one ``Report``: all wording is decided here, once."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.report import (
    agreement,
    answer,
    candidates,
    conditions,
    labels,
    numbers,
    order,
    overview,
    place,
    truth,
)
from evalstab.report.facts import Facts, block, facts_of, number
from evalstab.report.faults import findings
from evalstab.report.headline import headline
from evalstab.report.page import Align, Block, Command, Paragraph, Report, Section, Table
from evalstab.report.speed import by_context
from evalstab.series.folder import SeriesFolder

_RULE_HEADER = ("rule", "status", "value", "limits", "threshold", "reason")
_RULE_ALIGN: tuple[Align, ...] = ("left", "left", "right", "right", "right", "left")


def build_report(folder: SeriesFolder, scores: Json, named: str | None = None) -> Report:
    """Everything a reader is told about a series, in reading order.

    ``scores`` is the content of scores.json; whatever is null or missing in it is said to be not
    known, with its reason. Records are read only where excerpts need their surroundings. ``named``
    is the folder as commands say it, None for a page's own way.
    """
    named = place.named(folder.root) if named is None else named
    facts = facts_of(scores)
    sections = (
        candidates.trajectories(facts),
        _gate(facts),
        conditions.what_ran(folder, facts),
        overview.in_short(facts),
        overview.trials(facts),
        candidates.places(facts),
        agreement.stability(facts),
        order.order_and_sampling(facts),
        truth.accuracy(facts),
        by_context(facts),
        findings(folder, facts),
        overview.attrition(facts),
        conditions.settings(folder),
        conditions.again(folder, named),
    )
    return Report(
        title=_title(folder, facts),
        question=answer.question(facts),
        answer=answer.answer(facts),
        notices=answer.notices(facts, folder, named),
        sections=tuple(section for section in sections if section is not None),
        headline=headline(facts),
    )


def _title(folder: SeriesFolder, facts: Facts) -> str:
    task = labels.name(facts.series.get("task") or folder.file.task.get("name") or "task")
    endpoint = facts.series.get("endpoint") or folder.file.endpoint.get("name") or "endpoint"
    return f"{task} on {labels.name(endpoint)}, {numbers.plural(facts.planned, 'trial')}"


def _gate(facts: Facts) -> Section | None:
    verdict = block(facts.scores, "verdict")
    rules = [rule for rule in verdict.get("rules") or () if isinstance(rule, dict)]
    commands = tuple(labels.visible(command) for command in verdict.get("next") or ())
    blocks: list[Block] = []
    if rules:
        blocks.append(Table(_RULE_HEADER, tuple(map(_rule, rules)), _RULE_ALIGN))
    if commands:
        blocks += [Paragraph("Next, cheapest first:"), Command(commands)]
    return Section("Gate", tuple(blocks), brief=True) if blocks else None


def _rule(rule: Json) -> tuple[str, ...]:
    value, threshold = number(rule, "value"), number(rule, "threshold")
    low, high = number(rule, "ci_low"), number(rule, "ci_high")
    return (
        labels.name(rule.get("name")),
        labels.name(rule.get("status")),
        numbers.UNKNOWN if value is None else numbers.plain(value),
        "–" if low is None or high is None else numbers.interval(low, high),
        "–" if threshold is None else numbers.plain(threshold),
        labels.sentence(rule.get("reason") or ""),
    )
