"""Codex, Claude Code and OpenCode against the simulated endpoint, and what they leave behind."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalstab.trial.record import TrialStarted, read_events
from tests.cli.program import evalstab

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
AGENTS = ROOT / ".venv-agents" / "node_modules" / ".bin"
CALLS = {"codex": "exec", "claude": "-p", "opencode": "run"}
STORES = {
    "codex": ("codex", ".codex/sessions"),
    "claude": ("claude-code", ".claude/projects"),
    "opencode": ("opencode", ".local/share/opencode"),
}
SAME = ("outcome", "ranking", "totals", "steps", "finding_counts", "active_context_tokens")


def _program(name: str) -> str:
    """Where a program is; skips where it is not."""
    own = AGENTS / name
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: npm install --prefix .venv-agents (see .ci/run)")
    return found


def _scores(folder: Path, *command: str | Path) -> Json:
    done = evalstab(*command, "--json", cwd=folder, env={"HOME": str(folder)})
    assert done.returncode == 0, done.stderr
    scores: Json = json.loads(done.stdout)
    return scores


def _carried_out(folder: Path, name: str, repeats: int, *options: str) -> Json:
    program = f"{_program(name)} {CALLS[name]}"
    task = ("run", "three-notes", "--endpoint", "sim:drifting", "--repeats", str(repeats))
    return _scores(folder, *task, "--agent", program, "--out", folder / "series", *options)


def _stored(folder: Path, name: str) -> Json:
    source, place = STORES[name]
    out = ("--out", folder / "past", "--task", "three-notes")
    return _scores(folder, "import", source, folder / place, *out)


def _alike(series: Json, past: Json) -> None:
    """Every trial that the proxy saw was also read from the store, with the same outcome."""
    assert len(series["trials"]) == len(past["trials"])
    for one, other in zip(series["trials"], past["trials"], strict=True):
        assert {key: one[key] for key in SAME} == {key: other[key] for key in SAME}
        assert one["tool_calls"]["total"] == other["tool_calls"]["total"]
        # Where no server counts it, it is estimated from texts that JSON spells otherwise.
        assert one["reasoning"]["tokens"] == pytest.approx(other["reasoning"]["tokens"], rel=0.01)
        assert one["deliverables"]["complete"] == 1
        assert not one["finding_counts"]


@pytest.mark.system("codex")
def test_codex_its_store_and_our_own_loop_agree(tmp_path: Path) -> None:
    series = _carried_out(tmp_path, "codex", 3)
    _alike(series, _stored(tmp_path, "codex"))
    assert "series.mixed_conditions" not in {found["code"] for found in series["findings"]}
    task = ("run", "three-notes", "--endpoint", "sim:drifting", "--repeats", "3")
    loop = _scores(tmp_path, *task, "--out", tmp_path / "loop")
    for one, other in ((loop, series), (series, loop)):
        tau = one["stability"]["kendall_tau"]
        assert tau["ci_low"] <= other["stability"]["kendall_tau"]["mean"] <= tau["ci_high"]
    assert [t["totals"] for t in series["trials"]] == [t["totals"] for t in loop["trials"]]


@pytest.mark.nightly
@pytest.mark.system("codex")
def test_a_conversation_that_codex_shortens_is_no_truncation(tmp_path: Path) -> None:
    words = [
        _program("codex"), "exec", "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox", "-c", "model_provider=evalstab",
        "-c", 'model_providers.evalstab.name="evalstab"',
        "-c", 'model_providers.evalstab.base_url="{base_url}"',
        "-c", "model_auto_compact_token_limit=22000", "-m", "{model}", "{prompt}",
    ]  # fmt: skip
    task = ("run", "eleven-profiles", "--endpoint", "sim:drifting", "--repeats", "1")
    out = ("--agent", shlex.join(words), "--out", tmp_path / "series")
    (trial,) = _scores(tmp_path, *task, *out)["trials"]
    assert trial["deliverables"]["complete"] == 6
    assert trial["winner"] == "person_11"
    assert not trial["finding_counts"]
    begun = next(read_events(tmp_path / "series" / "trials" / "001" / "events.jsonl"))
    assert isinstance(begun, TrialStarted)
    assert begun.variation["compacted_before"]
    past = tmp_path / "past"
    _scores(tmp_path, "import", "codex", tmp_path / ".codex" / "sessions", "--out", past)
    read = next(read_events(past / "trials" / "001" / "events.jsonl"))
    assert isinstance(read, TrialStarted)
    assert read.variation == begun.variation


@pytest.mark.system("claude")
def test_claude_code_and_its_transcripts_agree(tmp_path: Path) -> None:
    series = _carried_out(tmp_path, "claude", 2)
    _alike(series, _stored(tmp_path, "claude"))
    assert "series.mixed_conditions" not in {found["code"] for found in series["findings"]}


@pytest.mark.nightly
@pytest.mark.system("opencode")
def test_opencode_and_its_store_agree(tmp_path: Path) -> None:
    _alike(_carried_out(tmp_path, "opencode", 2), _stored(tmp_path, "opencode"))
