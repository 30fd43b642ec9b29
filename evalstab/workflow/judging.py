"""``evalstab gate``: the verdict about a series that is there already."""

from __future__ import annotations

from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.gate.evidence import evidence_of
from evalstab.gate.junit import junit
from evalstab.gate.looks import require_possible
from evalstab.gate.policy import Policy, load_policy, require_known
from evalstab.measures.score import SCORES_FILE
from evalstab.report.write import write_report
from evalstab.series.files import write_json, write_whole
from evalstab.series.folder import SeriesFolder, open_series
from evalstab.series.ladder import require_series
from evalstab.series.pruned import PRUNED
from evalstab.settings import read_config
from evalstab.workflow.gates import Chosen, choose, gate_of, judge_of, stored_policy
from evalstab.workflow.request import Announce
from evalstab.workflow.score import read_scores, score

DEFAULT_GATE = "nightly"


def judge_series(
    root: Path, name: str | None, announce: Announce, *, junit_file: Path | None = None
) -> Json:
    """The scores of a series with the verdict of a gate: the one named, else the series' own.

    Scores it first where that has not been done. The verdict goes into scores.json and the report,
    and another gate than the series' own is remembered as chosen afterwards; where the folder
    cannot be written, that is said, and the verdict is given all the same. ConfigError for a gate
    that cannot pass within its planned trials, unless it is the series' own.
    """
    require_series(root)
    folder = open_series(root)
    scores = read_scores(folder) if (root / SCORES_FILE).is_file() else score(root)
    chosen = _chosen(folder, name, scores, announce)
    judge = judge_of(folder, chosen)
    assert judge is not None
    scores["verdict"] = judge(scores)
    try:
        choose(folder, chosen.policy, chosen.chosen_after)
        write_json(root / SCORES_FILE, scores)
        if not (root / PRUNED).is_file():
            write_report(folder, scores)
    except FolderError as error:
        announce(f"the verdict is not written down: {error}")
    if junit_file is not None:
        write_whole(junit_file, junit(scores))
    return scores


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
    evidence = evidence_of(scores, policy.repeats)
    require_possible(policy.with_repeats(evidence.planned), len(candidates) or None)
    return Chosen(policy, evidence.number)


def _same_rules(one: Policy, other: Policy) -> bool:
    """Whether two policies differ in their planned trials at most."""
    return stored_policy(one.with_repeats(1)) == stored_policy(other.with_repeats(1))
