"""``evalstab gate``: the verdict about a series or a ladder that is there already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.gate.evidence import evidence_of
from evalstab.gate.junit import junit_of
from evalstab.gate.looks import require_possible
from evalstab.gate.policy import Policy, load_policy, require_known
from evalstab.measures.score import SCORES_FILE
from evalstab.report.ladder import write_ladder_report
from evalstab.report.ladder_gate import gate_reason
from evalstab.report.place import here
from evalstab.report.write import write_report
from evalstab.series.files import write_json, write_whole
from evalstab.series.folder import SERIES_FILE, SeriesFolder, open_series
from evalstab.series.ladder import Rung, is_ladder, open_ladder, write_ladder
from evalstab.series.pruned import PRUNED
from evalstab.settings import read_config
from evalstab.workflow.gates import (
    Chosen,
    begun_under,
    choose,
    gate_of,
    judge_of,
    stored_policy,
    told,
)
from evalstab.workflow.request import Announce, once
from evalstab.workflow.rungs import document, with_result
from evalstab.workflow.score import read_scores, score

DEFAULT_GATE = "nightly"


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict: its status, the lines that tell it, and the document for ``--json``."""

    status: str
    lines: list[str]
    document: Json


def judge_folder(
    root: Path, name: str | None, announce: Announce, *, junit_file: Path | None = None
) -> Judged:
    """The verdict about a series, or about a ladder: the worst of its rungs.

    A rung that has not been run passes nothing. Errors as of ``judge_series``; FolderError for a
    ladder of which no rung has begun.
    """
    if not is_ladder(root):
        scores, _ = judge_series(root, name, announce)
        rungs, status = [("", scores)], str(scores["verdict"]["status"])
        judged = Judged(status, told(scores["verdict"]), scores)
    else:
        found = _rungs(root, name, once(announce))
        known = [(rung, scores) for rung, (scores, _) in found]
        rungs = [(rung.name, scores) for rung, scores in known]
        judged = _together(root, known, announce, kept=all(kept for _, (_, kept) in found))
    if junit_file is not None:
        write_whole(junit_file, junit_of(rungs))
    return judged


def _rungs(
    root: Path, name: str | None, announce: Announce
) -> list[tuple[Rung, tuple[Json, bool]]]:
    begun = [r for r in open_ladder(root).rungs if (root / r.name / SERIES_FILE).is_file()]
    if not begun:
        raise FolderError(f"no rung of {root} has begun: run `evalstab resume {root}`")
    return [(rung, judge_series(root / rung.name, name, announce)) for rung in begun]


def _together(
    root: Path, known: list[tuple[Rung, Json]], announce: Announce, *, kept: bool
) -> Judged:
    """The rungs as one verdict, kept in the ladder's own files where they can be written."""
    file = with_result(root, known)
    result = file.result or {}
    try:
        if kept:
            write_ladder(root, file)
            write_ladder_report(file, result, root)
    except FolderError as error:
        announce(f"the verdict is not written down: {error}")
    gate = result["gate"]
    lines = [f"gate {gate['gate']}: {str(gate['status']).upper()}: {gate_reason(gate)}"]
    width = max(len(rung.name) for rung in file.rungs)
    for rung, scores in known:
        verdict = scores["verdict"]
        soft = " (provisional)" if verdict.get("provisional") else ""
        lines.append(f"  {verdict['status']:<9} {rung.name:<{width}}  {verdict['reason']}{soft}")
        blame = [rule for rule in verdict["rules"] if rule["status"] in ("fail", "invalid")]
        lines += [f"  {'':<9} {'':<{width}}  {rule['name']}: {rule['reason']}" for rule in blame]
    names = {rung.name for rung, _ in known}
    missing = [rung.name for rung in file.rungs if rung.name not in names]
    lines += [f"  {'not run':<9} {name}" for name in missing]
    lines += _next(root, known, missing)
    return Judged(gate["status"], lines, document(file, known))


def _next(root: Path, known: list[tuple[Rung, Json]], missing: list[str]) -> list[str]:
    """What could decide it: the rungs that have not been run, and more trials of open ones."""
    commands = [f"evalstab resume {here(root)}"] if missing else []
    verdicts = [scores["verdict"] for _, scores in known]
    commands += [v["next"][0] for v in verdicts if v["status"] == "undecided" and v["next"]]
    return ["Next, cheapest first:", *(f"  {one}" for one in commands)] if commands else []


def judge_series(root: Path, name: str | None, announce: Announce) -> tuple[Json, bool]:
    """The scores of a series with the verdict of a gate, and whether its folder keeps that.

    The gate is the one named, else the series' own: the one that trials were run under. Another one
    only looks, and nothing is written. Where no trial was run under any, the gate named last is
    kept, as chosen afterwards. Scores the series first where that has not been done; where the
    folder cannot be written, that is said, and the verdict is given all the same. ConfigError for a
    gate that cannot pass within its planned trials, unless it is the series' own.
    """
    folder = open_series(root)
    scores = read_scores(folder) if (root / SCORES_FILE).is_file() else score(root)
    chosen = _chosen(folder, name, scores, announce)
    judge = judge_of(folder, chosen)
    assert judge is not None
    before, scores["verdict"] = scores["verdict"], judge(scores)
    if chosen.look is not None:
        return scores, False
    _tell_replaced(before, scores["verdict"], announce)
    try:
        choose(folder, chosen.policy, chosen.chosen_after)
        write_json(root / SCORES_FILE, scores)
        if not (root / PRUNED).is_file():
            write_report(folder, scores)
    except FolderError as error:
        announce(f"the verdict is not written down: {error}")
    return scores, True


def _tell_replaced(before: Json, now: Json, announce: Announce) -> None:
    name = before.get("gate")
    if name and name != now["gate"]:
        announce(
            f"replaces the verdict of gate {name!r} ({before['status']}): name that gate again "
            "with --gate to have it back"
        )


def _chosen(folder: SeriesFolder, name: str | None, scores: Json, announce: Announce) -> Chosen:
    own = gate_of(folder)
    if name is None and own is not None:
        return own
    if name is None:
        announce(f"this series was begun without a gate: judged by {DEFAULT_GATE!r}")
    policy = load_policy(name or DEFAULT_GATE, read_config().gates)
    candidates = list(scores["stability"].get("candidates") or ())
    require_known(policy, candidates)
    if own is not None and _same_rules(own.policy, policy):
        return own
    evidence, begun = evidence_of(scores, policy.repeats), begun_under(folder)
    after = evidence.number
    if begun is not None and _same_rules(begun.policy, policy):
        policy, after = begun.policy, 0
    require_possible(policy.with_repeats(evidence.planned), len(candidates) or None)
    if own is None or own.chosen_after >= evidence.number > 0:
        return Chosen(policy, after)
    announce(
        f"only a look: the series was run under gate {own.policy.name!r}, whose verdict stays; "
        f"to go on under this one: evalstab resume DIR --gate {name}"
    )
    return Chosen(policy, after, look=name)


def _same_rules(one: Policy, other: Policy) -> bool:
    """Whether two policies differ in their planned trials at most."""
    return stored_policy(one.with_repeats(1)) == stored_policy(other.with_repeats(1))
