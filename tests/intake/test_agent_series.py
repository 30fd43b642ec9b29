"""Series that an agent program carries out: the same task, judged like trials of our own loop."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from evalstab.errors import UsageError
from evalstab.intake.agent import Errand, environment, filled, template
from evalstab.intake.exchange import LOG_NAME
from evalstab.trial.record import Step, TrialStarted, read_events
from tests.cli.program import evalstab

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
SMALL = f"{shlex.quote(sys.executable)} {Path(__file__).with_name('small_agent.py')}"
AGENT = f"{SMALL} {{base_url}} {{model}} {{prompt}}"


def _run(folder: Path, agent: str, *options: str, code: int = 0) -> tuple[Json, str]:
    command = ["run", "three-notes", "--endpoint", "sim:drifting", "--agent", agent]
    done = evalstab(*command, "--out", folder / "series", "--json", *options, cwd=folder)
    assert done.returncode == code, done.stderr
    return (json.loads(done.stdout) if done.stdout else {}), done.stderr


def test_an_agent_carries_out_the_task_and_is_scored(tmp_path: Path) -> None:
    scores, said = _run(tmp_path, AGENT, "--repeats", "2")
    assert [t["outcome"] for t in scores["trials"]] == ["completed"] * 2
    assert all(t["ranking"] and t["deliverables"]["complete"] == 1 for t in scores["trials"])
    assert all(not t["finding_counts"] for t in scores["trials"]), scores["trials"]
    assert scores["trials"][0]["tokens_source"] == "server"
    assert "no model was judged" in said
    series = json.loads((tmp_path / "series" / "series.json").read_bytes())
    assert series["conditions"]["agent"] == AGENT
    events = list(read_events(tmp_path / "series" / "trials" / "001" / "events.jsonl"))
    assert isinstance(events[0], TrialStarted)
    assert events[0].fields["via_proxy"] is True
    report = (tmp_path / "series" / "report.md").read_text()
    assert "--agent" in report
    again = evalstab("resume", tmp_path / "series", "--repeats", "3", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert len(json.loads(again.stdout)["trials"]) == 3


def test_a_shortened_conversation_is_seen_and_is_no_truncation(tmp_path: Path) -> None:
    scores, _ = _run(tmp_path, f"{AGENT} compact", "--repeats", "1")
    (trial,) = scores["trials"]
    assert trial["outcome"] == "completed"
    assert "context.silent_truncation" not in trial["finding_counts"]
    events = list(read_events(tmp_path / "series" / "trials" / "001" / "events.jsonl"))
    assert isinstance(events[0], TrialStarted)
    assert events[0].variation["compacted_before"] == [3]
    prompts = [
        event.reply.usage.prompt_tokens
        for event in events
        if isinstance(event, Step) and event.reply and event.reply.usage
    ]
    assert prompts[2] is not None
    assert prompts[1] is not None
    assert prompts[2] < prompts[1]


def test_an_agent_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    options = ("--repeats", "1", "--set", "timeouts.trial=4")
    scores, _ = _run(tmp_path, f"{AGENT} hang", *options)
    (trial,) = scores["trials"]
    assert (trial["outcome"], trial["steps"]) == ("failed", 2)
    assert trial["finding_counts"]["trial.time_limit"] == 1
    workspace = str(tmp_path / "series")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            assert not os.readlink(process / "cwd").startswith(workspace)
        except OSError:
            continue


def test_exit_codes_and_silence_are_told(tmp_path: Path) -> None:
    scores, _ = _run(tmp_path, f"{AGENT} fail", "--repeats", "1")
    assert scores["trials"][0]["outcome"] == "failed"
    assert "exit code 7" in scores["trials"][0]["reason"]
    shutil.rmtree(tmp_path / "series")
    _, said = _run(tmp_path, f"{AGENT} silent", "--repeats", "2", code=4)
    assert "asked the endpoint nothing (exit code 3): no address, no question" in said
    told = " ".join((tmp_path / "series" / "report.md").read_text().split())
    assert "It was stopped: the agent asked the endpoint nothing (exit code 3)" in told
    shutil.rmtree(tmp_path / "series")
    _, said = _run(tmp_path, "no-such-program {prompt}", code=2)
    assert "cannot be started" in said
    _, said = _run(tmp_path, AGENT, "--shuffle", code=2)
    assert "shuffle" in said


def test_exchanges_of_a_series_import_to_the_same_trials(tmp_path: Path) -> None:
    scores, _ = _run(tmp_path, AGENT, "--repeats", "2")
    exchanges = tmp_path / "series" / "exchanges"
    assert len(list(exchanges.rglob(LOG_NAME))) == 2
    done = evalstab(
        "import", "proxy", exchanges, "--out", tmp_path / "again", "--task", "three-notes",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    for one, other in zip(scores["trials"], again["trials"], strict=True):
        for key in ("ranking", "totals", "steps", "finding_counts", "active_context_tokens"):
            assert one[key] == other[key], key
    assert again["stability"]["kendall_tau"] == scores["stability"]["kendall_tau"]
    assert "imported" in (tmp_path / "again" / "report.md").read_text().lower()


def _interval(scores: Json) -> tuple[float, float]:
    tau = scores["stability"]["kendall_tau"]
    return tau["ci_low"], tau["ci_high"]


def _agree(loop: Json, agent: Json) -> None:
    """The agent's mean tau lies within the loop's interval, and the other way round."""
    for one, other in ((loop, agent), (agent, loop)):
        low, high = _interval(one)
        assert low <= other["stability"]["kendall_tau"]["mean"] <= high


def _mini() -> str | None:
    own = ROOT / ".venv-agents" / "bin" / "mini"
    return str(own) if own.exists() else shutil.which("mini")


@pytest.mark.system("mini")
@pytest.mark.skipif(_mini() is None, reason="mini-swe-agent is not installed (.venv-agents)")
def test_mini_swe_agent_and_our_own_loop_agree(tmp_path: Path) -> None:
    agent, _ = _run(tmp_path, str(_mini()), "--repeats", "4")
    assert [t["outcome"] for t in agent["trials"]] == ["completed"] * 4
    command = ["run", "three-notes", "--endpoint", "sim:drifting", "--repeats", "4", "--json"]
    done = evalstab(*command, "--out", tmp_path / "loop", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    _agree(json.loads(done.stdout), agent)


def test_our_own_loop_and_a_small_agent_agree(tmp_path: Path) -> None:
    agent, _ = _run(tmp_path, AGENT, "--repeats", "5")
    command = ["run", "three-notes", "--endpoint", "sim:drifting", "--repeats", "5", "--json"]
    done = evalstab(*command, "--out", tmp_path / "loop", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    _agree(json.loads(done.stdout), agent)


def test_places_are_filled_and_known_programs_completed() -> None:
    errand = Errand(
        prompt="a {model} 'b'", base_url="http://h/s/1/v1", model="m", workspace=Path("/w")
    )
    assert filled(template("x --p {prompt} {base_url}"), errand) == [
        "x", "--p", "a {model} 'b'", "http://h/s/1/v1",
    ]  # fmt: skip
    for known in ("opencode run", "codex exec", "claude -p", "mini"):
        words = filled(template(known), errand)
        assert errand.prompt in words
        assert " ".join(words[: len(known.split())]) == known
    for wrong in ("unknown-program", "x {promt}", "", "x '"):
        with pytest.raises(UsageError):
            template(wrong)
    env = environment(errand, {"HOME": "/h", "OLDPWD": "/elsewhere"})
    assert (env["PWD"], env["HOME"]) == ("/w", "/h")
    assert env["ANTHROPIC_BASE_URL"] == "http://h/s/1"
    assert "OLDPWD" not in env
