"""Whole series on a rig that fails: spoilt trials leave the scores, are kept, and are repeated."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalstab.sim.open import open_sim
from tests.cli.program import environment, evalstab
from tests.hardware.rig import fake_nvml, play

PATIENCE = 120.0
SLOW = 40.0
"""Simulated seconds in a real one: a trial takes some seconds, long enough to be hit."""


@pytest.fixture
def rig(tmp_path: Path) -> dict[str, str]:
    env = fake_nvml(tmp_path, "loaded_8")
    return env | {"XDG_CONFIG_HOME": str(tmp_path / "config")}


@contextmanager
def _running(url: str, folder: Path, env: dict[str, str], *more: str) -> Iterator[Any]:
    words = [sys.executable, "-m", "evalstab", "run", "three-notes", "--base-url", f"{url}/v1"]
    words += ["--out", "series", "--json", *more]
    with subprocess.Popen(
        words,
        cwd=folder,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _until(there: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < limit, f"waited in vain for {what}"
        time.sleep(0.05)


def _events(series: Path) -> list[dict[str, Any]]:
    lines = (series / "hardware.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == "event"]


def test_a_card_lost_in_mid_series(tmp_path: Path, rig: dict[str, str]) -> None:
    series = tmp_path / "series"
    with (
        open_sim("steady", time_scale=SLOW) as url,
        _running(url, tmp_path, rig, "--repeats", "2") as process,
    ):
        first = series / "trials" / "001" / "events.jsonl"
        _until(lambda: first.is_file() and first.read_bytes().count(b"\n") > 1, "a step")
        play(tmp_path, "lost_gpu")
        _until((series / "trials" / "001.invalid-1").is_dir, "the spoilt attempt")
        play(tmp_path, "loaded_8")
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    scores = json.loads(out)
    assert scores["series"]["attrition"] == {"series.hardware_unhealthy": 1}
    assert (scores["series"]["repeats_done"], scores["series"]["invalid"]) == (2, 1)
    assert [(t["index"], t["attempt"], t["outcome"]) for t in scores["trials"]] == [
        (1, 2, "completed"),
        (2, 1, "completed"),
    ]
    unwell = [f for f in scores["findings"] if f["code"] == "series.hardware_unhealthy"]
    assert unwell[0]["detail"]["first"] == "card 61:00 no longer answers: lost"
    event = _events(series)[0]
    assert event["last_good"] < event["at"]
    assert "kernel_log" in event["evidence"]
    conditions = json.loads((series / "series.json").read_text())["conditions"]
    assert conditions["hardware"].startswith("8x NVIDIA GeForce RTX 3090")
    report = (series / "report.md").read_text()
    assert "Lost to series.hardware" in report
    assert "watched, see hardware.jsonl" in report


def test_a_card_that_stays_lost_ends_the_series(tmp_path: Path, rig: dict[str, str]) -> None:
    series = tmp_path / "series"
    with (
        open_sim("steady", time_scale=SLOW) as url,
        _running(url, tmp_path, rig, "--repeats", "3") as process,
    ):
        first = series / "trials" / "001" / "events.jsonl"
        _until(lambda: first.is_file() and first.read_bytes().count(b"\n") > 1, "a step")
        play(tmp_path, "lost_late")
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 4
    assert "2 attempts in a row were spoilt (card 61:00 no longer answers: lost)" in err
    assert sorted(p.name for p in (series / "trials").iterdir())[:2] == [
        "001.invalid-1",
        "001.invalid-2",
    ]


def test_an_unfit_rig_runs_no_trial(tmp_path: Path, rig: dict[str, str]) -> None:
    play(tmp_path, "reset_required")
    with open_sim("steady") as url:
        done = evalstab(
            "run", "three-notes", "--base-url", f"{url}/v1", "--out", "s", cwd=tmp_path, env=rig
        )
    assert done.returncode == 4
    assert "22:00: reset required" in done.stderr
    assert not (tmp_path / "s").exists()


def test_without_a_card_one_calm_line(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "PATH": "/usr/bin:/bin"}
    with open_sim("steady") as url:
        done = evalstab(
            "run", "three-notes", "--base-url", f"{url}/v1", "--out", "s", "--repeats", "1",
            cwd=tmp_path, env=env,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("hardware")]
    if lines != ["hardware: no graphics card on this machine: nothing to watch"]:
        pytest.skip("this machine has a graphics card")
    assert not (tmp_path / "s" / "hardware.jsonl").exists()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def _server(port: int, program: list[str]) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, *program, "--persona", "steady", "--port", str(port)]
    with subprocess.Popen(
        [*words, "--time-scale", str(SLOW)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready")
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("known", [False, True], ids=["by its metrics", "by its process"])
def test_a_restarted_server_spoils_the_trial(tmp_path: Path, known: bool) -> None:
    port = _free_port()
    program = ["-m", "evalstab.sim"]
    if known:
        named = tmp_path / "llama-server"
        named.write_text("import runpy\nrunpy.run_module('evalstab.sim', run_name='__main__')\n")
        program = [str(named)]
    url, series = f"http://127.0.0.1:{port}", tmp_path / "series"
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with (
        _server(port, program) as server,
        _running(url, tmp_path, env, "--repeats", "2") as process,
    ):
        first = series / "trials" / "001" / "events.jsonl"
        _until(lambda: first.is_file() and first.read_bytes().count(b"\n") > 1, "a step")
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        with _server(port, program):
            out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert ("launch captured (process)" in err) == known
    scores = json.loads(out)
    assert scores["series"]["attrition"] == {"server.restarted": 1}
    assert scores["trials"][0]["attempt"] == 2
    assert scores["series"]["repeats_done"] == 2
