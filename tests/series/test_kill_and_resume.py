"""A series is gone on with as it was begun: from torn records, under the same conditions, alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.cli.program import environment, evalstab
from tests.series.kills import steady_part

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


def test_a_torn_last_line_is_dropped_on_resuming(tmp_path: Path) -> None:
    reference = _undisturbed(tmp_path / "whole")
    series = tmp_path / "whole"
    record = series / "trials" / "002" / "events.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(lines[:2]) + lines[2][: len(lines[2]) // 2])
    done = evalstab("resume", series, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    assert steady_part(scores) == steady_part(reference)
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
