"""A kill at any moment costs at most the step in flight; the resumed series is the same series."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import environment, evalstab

TASK = "three-notes"
REPEATS = 3
PERSONA = "sim:drifting"


def _undisturbed(folder: Path) -> dict[str, Any]:
    done = evalstab(
        "run",
        TASK,
        "--endpoint",
        PERSONA,
        "--repeats",
        str(REPEATS),
        "--out",
        folder,
        "--json",
        cwd=folder.parent,
    )
    assert done.returncode == 0, done.stderr
    scores: dict[str, Any] = json.loads(done.stdout)
    return scores


def _events(series: Path) -> list[dict[str, Any]]:
    events = []
    for record in sorted(series.glob("trials/*/events.jsonl")):
        for line in record.read_bytes().split(b"\n")[:-1]:
            events.append({"trial": record.parent.name, **json.loads(line)})
    return events


def _steps(series: Path) -> list[tuple[str, int]]:
    return [(e["trial"], e["number"]) for e in _events(series) if e["type"] == "step"]


def _comparable(scores: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on interruptions: judgements, findings, lengths; not times."""
    keep = (
        "index",
        "outcome",
        "steps",
        "ranking",
        "totals",
        "winner",
        "deliverables",
        "reasoning",
        "language",
        "tool_calls",
        "active_context_tokens",
        "finding_counts",
    )
    return {
        "trials": [{key: trial[key] for key in keep} for trial in scores["trials"]],
        "stability": scores["stability"],
    }


def _start(series: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "evalstab",
            "run",
            TASK,
            "--endpoint",
            PERSONA,
            "--repeats",
            str(REPEATS),
            "--out",
            str(series),
            "--quiet",
        ],
        cwd=series.parent,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _kill_at(series: Path, moment: float) -> None:
    """Start a series and kill it once a share of its events is on disk (or before the first)."""
    running = _start(series)
    wanted = int(moment * 18)
    deadline = time.monotonic() + 60
    while running.poll() is None and time.monotonic() < deadline:
        if series.exists() and len(_events(series)) >= wanted:
            break
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()


def _check(folder: Path, moments: list[float]) -> None:
    reference = _comparable(_undisturbed(folder / "undisturbed"))
    for number, moment in enumerate(moments):
        series = folder / f"killed-{number}"
        _kill_at(series, moment)
        if not (series / "series.json").exists():
            continue
        before = _events(series)
        done = evalstab("resume", series, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        after = _events(series)
        for trial in {event["trial"] for event in before}:
            old = [event for event in before if event["trial"] == trial]
            new = [event for event in after if event["trial"] == trial]
            assert new[: len(old)] == old
        assert len(_steps(series)) == len(set(_steps(series)))
        assert _comparable(json.loads(done.stdout)) == reference


def test_a_killed_series_resumes_to_the_same_scores(tmp_path: Path) -> None:
    _check(tmp_path, [0.0, 0.2, 0.45, 0.7, 0.95])


@pytest.mark.nightly
def test_a_series_killed_at_a_hundred_moments(tmp_path: Path) -> None:
    dice = random.Random(20260101)
    _check(tmp_path, [dice.random() for _ in range(100)])


def test_a_torn_last_line_is_dropped_on_resuming(tmp_path: Path) -> None:
    reference = _undisturbed(tmp_path / "whole")
    series = tmp_path / "whole"
    record = series / "trials" / "002" / "events.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(lines[:2]) + lines[2][: len(lines[2]) // 2])
    done = evalstab("resume", series, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    assert _comparable(scores) == _comparable(reference)
    assert [trial["resumed"] for trial in scores["trials"]] == [False, True, False]


def test_resuming_a_finished_series_computes_and_succeeds(tmp_path: Path) -> None:
    first = _undisturbed(tmp_path / "whole")
    records = {p: p.read_bytes() for p in tmp_path.rglob("events.jsonl")}
    done = evalstab("resume", tmp_path / "whole", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == first
    assert {p: p.read_bytes() for p in tmp_path.rglob("events.jsonl")} == records


def test_a_changed_configuration_is_refused_by_name(tmp_path: Path) -> None:
    config = tmp_path / "evalstab.toml"
    server = subprocess.Popen(
        [sys.executable, "-m", "evalstab", "sim", "--persona", "steady"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert server.stdout is not None
    url = server.stdout.readline().split()[1]
    table = f'[endpoints.rig]\nbase_url = "{url}/v1"\n'
    config.write_text(table + "sampling = { temperature = 0.6 }\n")
    series = tmp_path / "series"
    try:
        done = evalstab(
            "run", TASK, "--endpoint", "rig", "--repeats", "2", "--out", series, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        (series / "trials" / "002" / "events.jsonl").unlink()
        config.write_text(table + "sampling = { temperature = 0.7 }\n")
        refused = evalstab("resume", series, cwd=tmp_path)
        assert refused.returncode == 3
        assert "sampling" in refused.stderr
        assert "0.7" in refused.stderr
        config.write_text(table + "sampling = { temperature = 0.6 }\n")
        assert evalstab("resume", series, cwd=tmp_path).returncode == 0
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def test_a_changed_task_is_refused(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for name in ("anna", "bo", "cy"):
        (tmp_path / "files" / f"{name}.txt").write_text(f"{name} plays the cello.\n")
    made = evalstab("task", "new", "mine", "--from", "files", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    series = tmp_path / "series"
    done = evalstab("run", "./mine", "--repeats", "2", "--out", series, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    prompt = tmp_path / "mine" / "prompt.md"
    prompt.write_text(prompt.read_text() + "\nBe quick.\n")
    refused = evalstab("resume", series, cwd=tmp_path)
    assert refused.returncode == 3
    assert "task" in refused.stderr


def test_two_processes_do_not_write_one_series(tmp_path: Path) -> None:
    series = tmp_path / "series"
    running = _start(series)
    try:
        deadline = time.monotonic() + 30
        while not (series / ".lock").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        second = evalstab("resume", series, cwd=tmp_path)
    finally:
        running.kill()
        running.wait()
    assert second.returncode in (0, 3)
    if second.returncode == 3:
        assert "another evalstab" in second.stderr
