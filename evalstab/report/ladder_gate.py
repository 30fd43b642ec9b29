"""What the verdicts of a ladder's rungs say together: up to where the gate is passed."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.report import labels, numbers
from evalstab.report.facts import block

_WORDS = {
    "pass": "passed",
    "fail": "failed",
    "undecided": "open",
    "invalid": "not to be judged",
    "not run": "not run yet",
    "none": "not judged",
}
_STATUS = {"pass": "Pass", "fail": "Fail", "undecided": "Undecided", "invalid": "Invalid"}


def gate_line(gate: Json) -> str:
    """One sentence: ``Fail: gate nightly is passed up to 60k of context, failed at 80k.``"""
    named = f"gate {labels.name(gate['gate'])}" if gate.get("gate") else "the gate"
    word = _STATUS.get(str(gate.get("status")), "No verdict")
    return f"{word}: {named} is {gate_reason(gate)}."


def gate_reason(gate: Json) -> str:
    """Up to where the gate is passed, and what ends it: ``passed up to 60k of context, …``."""
    passed, stopped, worst = (block(gate, key) for key in ("passes_up_to", "stopped_by", "worst"))
    soft = " provisionally" if gate.get("provisional") else ""
    if not stopped:
        return f"passed{soft} by every rung, up to {_size(gate, passed)}"
    if passed:
        line = f"passed{soft} up to {_size(gate, passed)}, {_at(stopped)}"
    else:
        line = f"not passed, {_at(stopped)} already"
    if worst and worst.get("rung") != stopped.get("rung"):
        line += f", {_at(worst)}"
    return line


def passes_up_to(gate: Json) -> str:
    """The largest size, or level of load, up to which all rungs pass, in a word or two."""
    passed = block(gate, "passes_up_to")
    return _size(gate, passed) if passed else "none"


def _at(step: Json) -> str:
    told = str(step.get("status"))
    rung = labels.name(step.get("rung"))
    where = "the task's natural size" if rung == "natural" else rung
    return f"{_WORDS.get(told, 'not judged')} at {where}"


def _size(gate: Json, step: Json) -> str:
    if gate.get("cause") == "load":
        return f"{numbers.plural(int(step.get('concurrency') or 0), 'trial')} at once"
    target, active = step.get("context_target"), step.get("active_context")
    if target:
        return f"{numbers.plain(target / 1000)}k of context"
    known = "" if active is None else f" ({numbers.context(active)} of context)"
    return f"the task's natural size{known}"
