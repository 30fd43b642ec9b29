"""What to do about a verdict that is no pass: commands to paste, the cheapest first."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from evalstab.chat import Json
from evalstab.gate.looks import impossible, next_look
from evalstab.gate.policy import Policy, load_policy

SHORT = 16_000
FEW_TRIALS = 5
WORTH_SPLITTING = 6
"""Candidates from which judging them in groups may help."""

_NEUTRAL = {
    "repetition_penalty": ("extra_body.repetition_penalty", 1.0),
    "frequency_penalty": ("sampling.frequency_penalty", 0.0),
    "presence_penalty": ("sampling.presence_penalty", 0.0),
}
LONGER = "acceptance"
_READ = (
    (
        ("tool.",),
        "Tool calls: see in the transcripts where they break off; the server's tool parser, its "
        "chat template or a max_tokens that cuts them may be behind it.",
    ),
    (
        ("text.", "reasoning."),
        "Leaks and loops: see in the transcripts where they begin; other sampling or another chat "
        "template may help.",
    ),
    (
        ("deliverables_", "ranked"),
        "Files: see in the transcripts what was written in place of what was asked for.",
    ),
)
"""What to look for in the transcripts, by what stands in the key of a rule that failed."""

_ORDER = ("stability.", "winner", "order_echo", "constant_scores", "accuracy.")
"""What stands in the key of a rule about the order, which groups and shuffled inputs bear on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How a series was asked for, so that it can be asked for again with one thing changed.

    ``target`` are the options that name the endpoint, ``options`` all others, each with its value;
    ``rung`` is where such a series lies in its folder, since large contexts come with a control;
    ``conditions`` those of series.json; ``gates`` the ``[gates]`` of evalstab.toml; ``gate`` the
    one to go on under, None for the series' own.
    """

    folder: str
    task: str
    target: tuple[str, ...]
    endpoint: str
    conditions: Json
    candidates: int
    simulated: bool = False
    gates: Mapping[str, Json] = field(default_factory=dict)
    options: tuple[tuple[str, ...], ...] = ()
    rung: str = ""
    gate: str | None = None


def commands(verdict: Json, policy: Policy, asked: Asked) -> list[str]:
    """The commands for a verdict; none for a pass that is not provisional."""
    status = verdict["status"]
    if status == "invalid":
        return [*_check(asked), _line("resume", asked.folder)]
    if status == "undecided":
        return list(_undecided(verdict, policy, asked))
    if status == "fail":
        return list(_failed(verdict, asked))
    if status == "pass" and verdict["provisional"]:
        return list(_longer(verdict, policy, asked))
    return []


def advice(verdict: Json) -> list[str]:
    """What to look for in the transcripts, a sentence for each kind of rule that failed."""
    failed = _failed_keys(verdict)
    return [sentence for signs, sentence in _READ if _about(failed, signs)]


def _failed_keys(verdict: Json) -> set[str]:
    return {str(rule["key"]) for rule in verdict["rules"] if rule["status"] == "fail"}


def _undecided(verdict: Json, policy: Policy, asked: Asked) -> Iterator[str]:
    done, planned = int(verdict["trials"]), int(verdict["planned"])
    following = next_look(policy, planned, done)
    if impossible(policy.with_repeats(planned), asked.candidates):
        following = None
    if following is not None:
        under = () if asked.gate is None else ("--gate", asked.gate)
        yield _line("resume", asked.folder, *under, "--repeats", str(following))
        return
    yield from _longer(verdict, policy, asked)
    if any("determinism" in rule["reason"] for rule in verdict["rules"]):
        yield _again(asked, "shuffle", ("--shuffle",))


def _longer(verdict: Json, policy: Policy, asked: Asked) -> Iterator[str]:
    """More trials under the longer gate, where this one's plan is used up."""
    longer = longer_gate(policy, asked.candidates, asked.gates)
    if longer is not None and int(verdict["trials"]) < 20:
        yield _line("resume", asked.folder, "--gate", LONGER, "--repeats", "20")


def longer_gate(policy: Policy, candidates: int, gates: Mapping[str, Json]) -> Policy | None:
    """The gate to go on under after this one; None where it is this one, or it cannot pass."""
    if policy.name == LONGER:
        return None
    longer = load_policy(LONGER, gates).with_repeats(20)
    return None if impossible(longer, candidates) else longer


def _failed(verdict: Json, asked: Asked) -> Iterator[str]:
    failed = _failed_keys(verdict)
    if advice(verdict):
        yield _line("view", asked.folder)
    if _about(failed, ("tool.",)):
        yield from _check(asked)
    split = asked.candidates >= WORTH_SPLITTING and asked.conditions.get("groups", 1) in (1, None)
    moved = _about(failed, _ORDER)
    echoed = _about(failed, ("order_echo",)) or (moved and not split)
    if echoed and not asked.conditions.get("shuffle"):
        yield _again(asked, "shuffle", ("--shuffle",))
    context = asked.conditions.get("context")
    size = max(context) if isinstance(context, list) and context else context
    if isinstance(size, int) and size > SHORT:
        yield _again(asked, "context", ("--context", "16k"))
    penalties = [
        f"{key}={neutral:g}"
        for name, (key, neutral) in _NEUTRAL.items()
        if (asked.conditions.get("sampling") or {}).get(name) not in (None, neutral, int(neutral))
    ]
    if penalties:
        yield _again(asked, "sampling", *(("--set", penalty) for penalty in penalties))
    if moved and split:
        yield _again(asked, "groups", ("--groups", "2"))
    if not asked.simulated:
        yield _line("launch", "show", asked.folder)
        yield _again(asked, "launch")


def _about(keys: Collection[str], signs: Collection[str]) -> bool:
    return any(sign in key for key in keys for sign in signs)


def _check(asked: Asked) -> list[str]:
    return [] if asked.simulated else [_line("check", *asked.target)]


def _again(asked: Asked, factor: str, *changes: tuple[str, ...]) -> str:
    """A short series with one thing changed, and its comparison with this one."""
    out = f"{asked.folder}-{factor}"
    changed = {_named(option) for option in changes}
    kept = [option for option in asked.options if _named(option) not in changed]
    options = [*kept, ("--repeats", str(FEW_TRIALS)), *changes, ("--out", out)]
    run = _line("run", asked.task, *asked.target, *(word for option in options for word in option))
    new = f"{out}/{asked.rung}" if asked.rung and "--context" not in changed else out
    return f"{run} && {_line('compare', asked.folder, new, '--vary', factor)}"


def _named(option: tuple[str, ...]) -> str:
    """What an option sets: itself, or the key of a ``--set``."""
    return option[1].partition("=")[0] if option[0] == "--set" else option[0]


def _line(*words: str) -> str:
    return shlex.join(("evalstab", *words))
