"""Holds what was found in a simulated series against what was put into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError

_SLACK = 2
_SAME_TEXT = frozenset({"arguments", "file"})
_ANYWHERE = frozenset({"transport", "series"})
_BROKEN_OFF = frozenset(
    {"stream.dropped", "stream.stalled", "server.error_in_stream", "server.restarted"}
)
_CONSEQUENCES = {
    "tool.truncated": _BROKEN_OFF,
    "reasoning.unclosed": _BROKEN_OFF,
    "stream.dropped": frozenset({"server.restarted"}),
    "server.loading": frozenset({"server.restarted"}),
    "text.special_token": frozenset({"tool.leaked_markup", "tool.in_reasoning"}),
    "tool.retry_storm": frozenset(
        {"tool.repeated", "tool.truncated", "tool.malformed_arguments", "tool.unknown_name"}
    ),
}
"""What else an injected fault brings about by itself: neither right nor wrong to report."""
_AFTER = 6
BESIDE = 8
"""Other trials that a reworded loop is measured against; with fewer only extreme ones are found."""
_REWORDED = "reasoning.reworded_loop"


@dataclass(frozen=True, slots=True)
class Row:
    """Precision and recall of one finding code.

    ``injected`` and ``reported`` count injections and findings; ``found`` the injections that
    some finding reports, ``right`` the findings that some injection explains. ``precision`` is
    ``right / reported``, ``recall`` ``found / injected``, both from 0 to 1 and higher is better;
    ``None`` where nothing was reported or injected. ``missed`` and ``wrong`` name the others.
    ``reason`` says why a low recall was to be expected of such a series, where it was.
    """

    code: str
    injected: int
    reported: int
    found: int
    right: int
    precision: float | None
    recall: float | None
    missed: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    reason: str | None = None


def table(rows: Sequence[Row]) -> str:
    """The rows as text, one line a code, a dash where a share is undefined; then the reasons."""
    lines = [f"{'code':34} {'injected':>8} {'reported':>8} {'precision':>9} {'recall':>6}"]
    lines += [
        f"{row.code:34} {row.injected:8} {row.reported:8} "
        f"{_share(row.precision):>9} {_share(row.recall):>6}"
        for row in rows
    ]
    lines += [f"{row.code}: {row.reason}" for row in rows if row.reason]
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def verify(series_dir: Path, truth_file: Path) -> list[Row]:
    """One row for each code that was injected or reported.

    Codes of ``series.*``, ``trial.*`` and ``context.*`` are left out: they follow from what a
    trial did, not from one injection; and so do findings that an injection of another code brings
    about by itself (a call cut by a dropped stream). Attempts that were not scored are left out as
    well. Raises FolderError where a file is missing or no JSON of ours.
    """
    scores = _read(series_dir / "scores.json")
    truth = _read(truth_file)
    return compare(scores, truth)


def compare(scores: Json, truth: Json) -> list[Row]:
    """The rows for the contents of scores.json and of a truth file."""
    try:
        scored = {(t["index"], t["attempt"]): t["findings"] for t in scores["trials"]}
        series = scores["series"]["id"]
        injected: dict[str, list[Json]] = {}
        for trial in truth["trials"]:
            key = (trial["trial"], trial["attempt"])
            if key in scored and trial["series"] in {series, "-"}:
                for injection in trial["injections"]:
                    injected.setdefault(injection["code"], []).append(injection | {"at": key})
    except (KeyError, TypeError) as error:
        raise FolderError(f"scores or truth are not of the expected form: {error}") from error
    reported: dict[str, list[Json]] = {}
    for key, findings in scored.items():
        for finding in findings:
            here = finding | {"at": key}
            if not _brought_about(here, injected):
                reported.setdefault(finding["code"], []).append(here)
    codes = {code for code in {*injected, *reported} if code and not _follows(code)}
    rows = [_row(code, injected.get(code, []), reported.get(code, [])) for code in sorted(codes)]
    return [_reasoned(row, len(scored)) for row in rows]


def _reasoned(row: Row, trials: int) -> Row:
    if row.code != _REWORDED or not row.missed or trials > BESIDE:
        return row
    reason = (
        f"what is reworded and no copy shows only beside {BESIDE} or more other trials of the same "
        f"task with reasoning of 1,500 tokens and more; here there are {trials - 1}"
    )
    return replace(row, reason=reason)


def _follows(code: str) -> bool:
    return code.startswith(("series.", "trial.", "context."))


def _row(code: str, injected: Sequence[Json], reported: Sequence[Json]) -> Row:
    missed = [i for i in injected if not any(explains(i, f) for f in reported)]
    wrong = [f for f in reported if not any(explains(i, f) for i in injected)]
    return Row(
        code=code,
        injected=len(injected),
        reported=len(reported),
        found=len(injected) - len(missed),
        right=len(reported) - len(wrong),
        precision=1 - len(wrong) / len(reported) if reported else None,
        recall=1 - len(missed) / len(injected) if injected else None,
        missed=tuple(_named(i) for i in missed),
        wrong=tuple(_named(f) for f in wrong),
    )


def explains(injection: Mapping[str, Any], finding: Mapping[str, Any]) -> bool:
    """Whether a finding of the same code reports this injection.

    Same trial and attempt, step and channel; where both have offsets in the same text, they must
    overlap, two characters of slack included. A written file is seen as such or as arguments. A
    finding without a step speaks for the whole trial.
    """
    if injection["at"] != finding["at"]:
        return False
    first, last = injection["step"], injection.get("last_step") or injection["step"]
    if finding.get("step") is not None and not first <= finding["step"] <= last:
        return False
    here, there = injection["channel"], finding.get("channel")
    if here != there and here not in _ANYWHERE and there not in _ANYWHERE:
        return {here, there} == _SAME_TEXT
    return here != there or _overlap(injection, finding)


def _brought_about(finding: Json, injected: Mapping[str, Sequence[Json]]) -> bool:
    """Whether another fault explains a finding that no injection of its own code does."""
    if any(explains(injection, finding) for injection in injected.get(finding["code"], [])):
        return False
    step = finding.get("step")
    return any(
        injection["at"] == finding["at"]
        and (step is None or injection["step"] <= step <= injection["step"] + _AFTER)
        for code in _CONSEQUENCES.get(finding["code"], ())
        for injection in injected.get(code, [])
    )


def _overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    places = (one.get("start"), one.get("end"), other.get("start"), other.get("end"))
    if any(place is None for place in places):
        return True
    return bool(one["start"] < other["end"] + _SLACK and other["start"] < one["end"] + _SLACK)


def _named(fault: Mapping[str, Any]) -> str:
    trial, attempt = fault["at"]
    place = f"trial {trial}/{attempt} step {fault.get('step')} {fault.get('channel')}"
    return f"{place}: {str(fault.get('excerpt') or '')[:80]}".rstrip(": ")


def _read(path: Path) -> Json:
    try:
        value = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise FolderError(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise FolderError(f"{path}: an object is expected")
    return value
