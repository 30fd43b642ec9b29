"""A series is gone on with as it was begun: from torn records, under the same conditions, alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.program import environment, evalstab
from tests.series.kills import Victims, comparable, rig

TASK = "three-notes"
REPEATS = 3
PERSONA = "sim:drifting"


RUN = ("run", TASK, "--quiet", "--out", "series", "--repeats")


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


def test_a_torn_last_line_is_dropped_on_resuming(some: Victims, url: str, tmp_path: Path) -> None:
    (tmp_path / "evalstab.toml").write_text(rig(url))
    assert some.plain(tmp_path, *RUN, "3", "--endpoint", "rig") == (0, "")
    series = tmp_path / "series"
    reference = comparable(series)
    record = series / "trials" / "002" / "events.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    for torn in (lines[2][: len(lines[2]) // 2], lines[-1][:-1]):
        record.write_bytes(b"".join(lines[:2]) + torn)
        assert some.plain(tmp_path, "resume", "series", "--quiet") == (0, "")
        assert comparable(series) == reference
        scores = json.loads((series / "scores.json").read_text())
        assert [trial["resumed"] for trial in scores["trials"]] == [False, True, False]


def test_an_ending_without_its_line_break_is_torn(some: Victims, url: str, tmp_path: Path) -> None:
    (tmp_path / "evalstab.toml").write_text(rig(url))
    assert some.plain(tmp_path, *RUN, "2", "--endpoint", "rig") == (0, "")
    series = tmp_path / "series"
    reference = comparable(series)
    record = series / "trials" / "002" / "events.jsonl"
    record.write_bytes(record.read_bytes()[:-1])
    assert some.plain(tmp_path, "resume", "series", "--quiet") == (0, "")
    assert comparable(series) == reference
    assert record.read_bytes().endswith(b"\n")


def test_resuming_a_finished_series_computes_and_succeeds(some: Victims, tmp_path: Path) -> None:
    assert some.plain(tmp_path, *RUN, "2", "--endpoint", PERSONA) == (0, "")
    scores = tmp_path / "series" / "scores.json"
    first = scores.read_bytes()
    records = {p: p.read_bytes() for p in tmp_path.rglob("events.jsonl")}
    scores.unlink()
    assert some.plain(tmp_path, "resume", "series", "--quiet") == (0, "")
    assert scores.read_bytes() == first
    assert {p: p.read_bytes() for p in tmp_path.rglob("events.jsonl")} == records


def test_a_changed_configuration_is_refused_by_name(
    some: Victims, url: str, tmp_path: Path
) -> None:
    config = tmp_path / "evalstab.toml"
    config.write_text(rig(url) + "sampling = { temperature = 0.6 }\n")
    assert some.plain(tmp_path, *RUN, "2", "--endpoint", "rig") == (0, "")
    (tmp_path / "series" / "trials" / "002" / "events.jsonl").unlink()
    config.write_text(rig(url) + "sampling = { temperature = 0.7 }\n")
    code, said = some.plain(tmp_path, "resume", "series")
    assert code == 3
    assert "sampling" in said
    assert "0.7" in said
    config.write_text(rig(url) + "sampling = { temperature = 0.6 }\n")
    assert some.plain(tmp_path, "resume", "series", "--quiet") == (0, "")


def test_a_ladder_under_a_changed_configuration_is_refused(
    some: Victims, url: str, tmp_path: Path
) -> None:
    config = tmp_path / "evalstab.toml"
    config.write_text(rig(url))
    levels = ("2", "--endpoint", "rig", "--concurrency", "1,2")
    assert some.plain(tmp_path, *RUN, *levels) == (0, "")
    ladder = tmp_path / "series" / "ladder.json"
    stored = json.loads(ladder.read_text())
    stored["rungs"][1]["status"] = "planned"
    ladder.write_text(json.dumps(stored))
    shutil.rmtree(tmp_path / "series" / "c2")
    config.write_text(rig(url) + "sampling = { temperature = 0.7 }\n")
    code, said = some.plain(tmp_path, "resume", "series")
    assert code == 3
    assert "series/c1: [endpoints.rig] has changed since this series began: sampling" in said
    config.write_text(rig(url))
    assert some.plain(tmp_path, "resume", "series", "--quiet") == (0, "")
    assert (tmp_path / "series" / "c2" / "scores.json").is_file()


def test_a_changed_task_is_refused(some: Victims, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for name in ("anna", "bo", "cy"):
        (tmp_path / "files" / f"{name}.txt").write_text(f"{name} plays the cello.\n")
    made = evalstab("task", "new", "mine", "--from", "files", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    run = ("run", "./mine", "--repeats", "2", "--out", "series", "--quiet")
    assert some.plain(tmp_path, *run) == (0, "")
    prompt = tmp_path / "mine" / "prompt.md"
    prompt.write_text(prompt.read_text() + "\nBe quick.\n")
    code, said = some.plain(tmp_path, "resume", "series")
    assert code == 3
    assert "task" in said


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
