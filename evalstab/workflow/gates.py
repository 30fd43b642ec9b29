"""Gates in the life of a series: chosen before it, looked at during it, judged after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.gate.looks import require_possible
from evalstab.gate.next import advice, commands
from evalstab.gate.policy import Policy, load_policy, parse_policy, require_known
from evalstab.gate.verdict import Circumstances, judge
from evalstab.measures.score import Judge
from evalstab.report.lost import OVERFLOW, lost_trials, side_of_loss, told_loss
from evalstab.series.files import read_json, write_json
from evalstab.series.folder import SeriesFolder
from evalstab.settings import read_config
from evalstab.task.load import load_task
from evalstab.workflow.again import asked

GATE_FILE = "gate.json"
LAST_LINE = 1 << 20
EXIT_CODES = {"pass": 0, "none": 0, "invalid": 4, "fail": 5, "undecided": 6}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The gate of a series, and after how many judged trials it was chosen (0: before).

    ``look``: as what it was named, where it only looks at a series that was run under another one.
    """

    policy: Policy
    chosen_after: int = 0
    look: str | None = None


def policy_for(name: str, candidates: Sequence[str], repeats: int | None = None) -> Policy:
    """A gate by name or file, for a task with these candidates.

    ConfigError for one that cannot pass as planned, or that names a candidate of no such task.
    """
    policy = load_policy(name, read_config().gates).with_repeats(repeats)
    require_known(policy, candidates)
    require_possible(policy, len(candidates))
    return policy


def gate_of(folder: SeriesFolder) -> Chosen | None:
    """The gate that a series is judged by: the one chosen last, else that of its beginning."""
    path = folder.root / GATE_FILE
    if path.is_file():
        stored: Json = read_json(path, dict, "remove it, and name the gate again")
        try:
            return Chosen(parse_policy(stored["policy"], str(path)), int(stored["chosen_after"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FolderError(
                f"{path} cannot be read: {error}; remove it, and name the gate again"
            ) from error
    return begun_under(folder)


def begun_under(folder: SeriesFolder) -> Chosen | None:
    """The gate that was named before the first trial, None where none was."""
    if folder.file.gate is None:
        return None
    return Chosen(parse_policy(folder.file.gate, f"{folder.root}/series.json: gate"))


def choose(folder: SeriesFolder, policy: Policy, trials: int) -> Chosen:
    """Judge a series by this gate from now on; remembered in its folder where it is another one."""
    before = gate_of(folder)
    if before is not None and before.policy == policy:
        return before
    chosen = Chosen(policy, trials)
    stored = {
        "schema_version": 1,
        "policy": stored_policy(policy),
        "chosen_after": chosen.chosen_after,
    }
    write_json(folder.root / GATE_FILE, stored)
    return chosen


def stored_policy(policy: Policy) -> Json:
    """A policy as plain data, without what is not set."""
    return policy.model_dump(mode="json", exclude_none=True)


def judge_of(folder: SeriesFolder, chosen: Chosen | None = None) -> Judge | None:
    """What makes the verdict of this series, None where no gate was asked for."""
    gate = chosen or gate_of(folder)
    if gate is None:
        return None

    def judged(scores: Json) -> Json:
        about = Circumstances(untestable(scores, folder), gate.chosen_after)
        verdict = judge(gate.policy, scores, about)
        known = replace(asked(folder, scores), gate=gate.look)
        verdict["notes"] += advice(verdict)
        verdict["next"] = commands(verdict, gate.policy, known)
        return verdict

    return judged


def untestable(scores: Json, folder: SeriesFolder) -> str | None:
    """Why these trials say nothing of the model's stability, or ``None``."""
    valid = [t for t in scores["trials"] if t["outcome"] in ("completed", "failed")]
    called = any(t["tool_calls"]["total"] or t["tool_calls"]["unfinished"] for t in valid)
    if not valid or called or any(t["ranking"] for t in valid):
        return None
    if len(lost_trials(valid)) == len(valid):
        last = valid[-1]
        advice = "look at the server with `evalstab check`, then start the series anew"
        if last["cause"] == OVERFLOW:
            advice = "ask for a smaller --context, or start the server with a larger one"
        side = side_of_loss(last)
        return f"no trial came to an answer, by the {side}: {told_loss(last)}; {advice}"
    task = load_task(folder.task_folder, folder.file.task.get("overrides"))
    if task.spec.tools == "none":
        return None
    return (
        "the model never called a tool: start the server with its tool parser, try "
        "--set tool_choice=required, or give the files inline with --set task.tools=none"
    )


def unjudgeable(scores: Json, folder: SeriesFolder) -> str | None:
    """Why nothing can be said about the model at all, or ``None``."""
    if not any(trial["outcome"] in ("completed", "failed") for trial in scores["trials"]):
        return "no valid trial: the endpoint or the rig spoilt all of them"
    return untestable(scores, folder)


def told(verdict: Json) -> list[str]:
    """The verdict in a few lines for people."""
    status = str(verdict["status"]).upper()
    soft = " (provisional)" if verdict.get("provisional") else ""
    lines = [f"gate {verdict['gate']}: {status}{soft}: {verdict['reason']}"]
    width = max((len(rule["name"]) for rule in verdict["rules"]), default=0)
    lines += [
        f"  {rule['status']:<9} {rule['name']:<{width}}  {rule['reason']}"
        for rule in verdict["rules"]
    ]
    lines += verdict["notes"]
    if more := verdict["more_repeats_needed"]:
        total = f"{verdict['trials'] + more} in all"
        lines.append(f"About {more} more trials ({total}) could decide it.")
    if verdict["next"]:
        lines += ["Next, cheapest first:", *(f"  {command}" for command in verdict["next"])]
    return lines
