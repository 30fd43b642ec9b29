"""Two series for people: what changed, how sure that is, and both side by side."""

from __future__ import annotations

from collections.abc import Iterator

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.headline import Named, with_interval
from evalstab.report.ladder_tables import signed
from evalstab.report.page import Answer as First
from evalstab.report.page import Bullets, Paragraph, Report, Section, Table
from evalstab.report.side_by_side import Both, places_of_both, side_by_side

_HEADER = ("question", "answer", "base", "new", "how sure", "in plain words")


def comparison_page(found: Json, both: Both | None = None) -> Report:
    """The page of a comparison (the document of ``evalstab compare --json``).

    ``both`` adds what stands side by side: numbers of each series, and places of each candidate.
    """
    base, new = found["base"], found["new"]
    warnings = [labels.sentence(w) for w in found["warnings"]]
    told = [labels.sentence(d["sentence"]) for d in found["differences"]]
    conditions = [sentence for sentence in told if sentence not in warnings]
    none = "No other condition differs." if told else "No condition differs."
    rows = [_stability(found), _worse(found), _consensus(found), _scale(found)]
    rows += [_rate(one) for one in found["criteria"]]
    sections = [
        Section("Conditions", (Bullets(tuple(conditions or [none])),), True),
        Section("Tests", (Table(_HEADER, tuple(rows), ("left",) * 6), Paragraph(_NOTE)), True),
    ]
    if both is not None:
        sections = [side_by_side(both), *sections, places_of_both(both)]
    return Report(
        title=f"{labels.name(base['path'], 60)} against {labels.name(new['path'], 60)}",
        question="Has the judgement changed, and is the new one less stable?",
        answer=First("none", labels.sentence(found["summary"], 400), ()),
        notices=tuple(warnings),
        sections=tuple(sections),
        headline=tuple(_headline(found)),
    )


def _headline(found: Json) -> Iterator[Named]:
    for key, title in (("base", "tau, base (95 %)"), ("new", "tau, new (95 %)")):
        side = found["stability"][key]
        yield title, with_interval({**side, "mean": side["kendall_tau"]})
    stability = found["stability"]
    if stability["difference"] is None:
        yield "difference of tau", numbers.UNKNOWN
    else:
        limits = ""
        if stability["ci_low"] is not None:
            limits = f" ({numbers.interval(stability['ci_low'], stability['ci_high'])})"
        yield "difference of tau (95 %)", signed(stability["difference"]) + limits
    yield "consensus moved", labels.name(found["consensus"]["answer"])


_NOTE = (
    "p values are corrected for asking several questions at once (Holm). Not shown is no proof of "
    "equality: only the row on being less stable can say that the new one is no worse."
)


def comparison_table(found: Json) -> str:
    """The same for a terminal: plain lines."""
    page = comparison_page(found)
    lines = [page.title, page.answer.line, ""]
    lines += [f"! {notice}" for notice in page.notices]
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Bullets):
                lines += [f"- {item}" for item in block.items]
            elif isinstance(block, Table):
                lines += ["", *(_line(row) for row in block.rows)]
            elif isinstance(block, Paragraph):
                lines += ["", block.text]
    return "\n".join(lines)


def _line(row: tuple[str, ...]) -> str:
    question, answer, base, new, sure, words = row
    return f"{question} {answer.upper()}\n    {base} → {new}; {sure}\n    {words}"


def _stability(found: Json) -> tuple[str, ...]:
    one = found["stability"]
    ratio = one["noise_ratio"]
    words = "Mean Kendall tau: how far two trials of the same series agree (0 is chance)."
    if ratio is not None:
        base, new = (_apart(one[key]) for key in ("base", "new"))
        words += (
            f" Two trials of the new one contradict each other on about {new} of all pairs of "
            f"candidates, two of the base on about {base}: {ratio:.2g} times as many."
        )
    return (
        one["question"],
        one["answer"],
        _tau(one["base"]),
        _tau(one["new"]),
        _p(one),
        words,
    )


def _apart(side: Json) -> str:
    return numbers.percent((1 - side["kendall_tau"]) / 2)


def _worse(found: Json) -> tuple[str, ...]:
    one = found["not_worse"]
    sure = labels.sentence(one.get("ci_low_reason") or "")
    if one["ci_low"] is not None:
        limits = numbers.interval(one["ci_low"], one["ci_high"])
        sure = (
            f"difference {numbers.decimal(one['difference'])}, 90 % interval {limits}: that of a "
            "one-sided test at 5 %, while the one on top is the two-sided 95 % interval"
        )
    words = "A difference that was not found is no proof of equality; this row can be one."
    return (
        one["question"],
        one["answer"],
        _tau(found["stability"]["base"]),
        _tau(found["stability"]["new"]),
        sure,
        words,
    )


def _consensus(found: Json) -> tuple[str, ...]:
    one = found["consensus"]
    firsts = (one["base_first"], one["new_first"])
    cells = [f"first: {' or '.join(map(labels.name, first[:4])) or 'nobody'}" for first in firsts]
    words = "Whether the two series agree on another order than each other, taken all trials."
    if one["tau_between"] is not None:
        words = (
            f"Tau between the two consensus orders is {numbers.decimal(one['tau_between'])} "
            "(1: the same order)."
        )
    moved = [
        (labels.name(m["candidate"]), *map(numbers.points, (m["base"], m["new"])))
        for m in one["moved"]
    ]
    if moved and firsts[0] == firsts[1]:
        cells = [", ".join(f"{m[0]} at {m[side]}" for m in moved) for side in (1, 2)]
    told = (f"{who} {base} → {new}" for who, base, new in moved)
    words += f" Median places that changed most: {', '.join(told)}." if moved else _NONE_MOVED
    return one["question"], one["answer"], *cells, _p(one), words


_NONE_MOVED = " No median place differs: a yes comes from single trials, or from the spread alone."


def _scale(found: Json) -> tuple[str, ...]:
    one = found["scale"]
    means = [one["base_mean"], one["new_mean"]]
    told = [numbers.points(m) if m is not None else numbers.UNKNOWN for m in means]
    words = "Mean of the highest total that each trial awarded."
    return one["question"], one["answer"], told[0], told[1], _p(one), words


def _rate(one: Json) -> tuple[str, ...]:
    told = [f"{hits} of {trials} trials" for hits, trials in (one["base"], one["new"])]
    words = "Trials with it, counted."
    return labels.sentence(one["question"]), one["answer"], told[0], told[1], _p(one), words


def _tau(side: Json) -> str:
    if side["kendall_tau"] is None:
        return f"unknown ({side['ranked']} ranked)"
    limits = ""
    if side["ci_low"] is not None:
        limits = f" ({numbers.interval(side['ci_low'], side['ci_high'])})"
    return f"{numbers.decimal(side['kendall_tau'])}{limits}, {side['ranked']} trials"


def _p(one: Json) -> str:
    if one["p"] is None:
        return labels.sentence(one["p_reason"])
    tail = f", at least {one['smallest_p']:.2g} possible" if "smallest_p" in one else ""
    return f"p = {one['p_holm']:.2g} after Holm (alone {one['p']:.2g}{tail})"
