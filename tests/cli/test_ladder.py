"""Ladders by running the program: sizes, levels, one JSON document, resume, memory and time."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evalstab.sim.open import running
from tests.cli.program import environment, evalstab

REACHED = 0.03
LADDER_SECONDS = 300
LADDER_MEGABYTES = 600


def _json(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """A ladder of a fixed task with ballast, on the steady persona."""
    cwd = tmp_path_factory.mktemp("small")
    options = ["--endpoint", "sim:steady", "--context", "4k,9k", "--repeats", "3", "--seed", "1"]
    done = evalstab("run", "three-notes", *options, "--out", "out", "--json", cwd=cwd)
    return cwd / "out", _json(done), done.stderr


def test_the_median_trial_lands_on_each_target(
    small: tuple[Path, dict[str, Any], str],
) -> None:
    rungs = small[1]["ladder"]["result"]["rungs"]
    assert [rung["context_target"] for rung in rungs] == [4_000, 9_000]
    for rung in rungs:
        assert abs(rung["deviation"]["median"]) <= REACHED
        assert rung["target_missed"] == 0
    for scores in small[1]["series"]:
        assert all(trial["tokens_source"] == "server" for trial in scores["trials"])


def test_the_control_comes_first_and_others_are_held_against_it(
    small: tuple[Path, dict[str, Any], str],
) -> None:
    result = small[1]["ladder"]["result"]
    assert result["control"] == "4k"
    first, second = result["rungs"]
    assert first["change"] is None
    assert first["change_reason"] == "the control"
    assert second["change"]["reading"] in ("too few trials", "undecided", "not less stable")


def test_ballast_is_a_condition_outside_the_digest(
    small: tuple[Path, dict[str, Any], str],
) -> None:
    files = [json.loads((small[0] / name / "series.json").read_text()) for name in ("4k", "9k")]
    assert files[0]["work"] == files[1]["work"]
    assert files[0]["conditions"]["ballast"] < files[1]["conditions"]["ballast"]
    started = (small[0] / "9k/trials/001/events.jsonl").read_text().split("\n", 1)[0]
    event = json.loads(started)
    assert event["variation"]["ballast"] == len(event["messages"]) - 1
    stored = json.loads((small[0] / "9k/ballast.json").read_text())["messages"]
    assert event["messages"][: len(stored)] == stored


def test_what_to_expect_is_said_before_the_first_trial(
    small: tuple[Path, dict[str, Any], str],
) -> None:
    lines = small[2].splitlines()
    kv = next(number for number, line in enumerate(lines) if line.startswith("KV cache"))
    assert kv < next(number for number, line in enumerate(lines) if "series" in line)


def test_the_report_stands_at_the_parent(small: tuple[Path, dict[str, Any], str]) -> None:
    report = (small[0] / "report.md").read_text()
    assert "Is it the context that makes this judgement unstable?" in report
    assert "| 9k |" in report
    assert (small[0] / "plots/by-rung.svg").read_text().startswith("<?xml")
    shown = evalstab("report", small[0], "--output", "-", cwd=small[0].parent)
    assert shown.stdout == report
    again = evalstab("score", small[0], "--json", cwd=small[0].parent)
    assert _json(again)["ladder"]["result"] == small[1]["ladder"]["result"]


def test_a_task_larger_than_the_control_is_its_own_control(tmp_path: Path) -> None:
    options = ["--endpoint", "sim:perfect", "--context", "40k", "--repeats", "1"]
    done = evalstab("run", "eleven-profiles", *options, "--out", "out", "--json", cwd=tmp_path)
    rungs = _json(done)["ladder"]["result"]["rungs"]
    assert [rung["name"] for rung in rungs] == ["natural", "40k"]
    assert rungs[0]["deviation"] is None
    assert abs(rungs[1]["deviation"]["median"]) <= REACHED
    assert "natural size" in done.stderr
    assert "probe gave no rates" not in done.stderr


def test_one_size_up_to_the_control_is_one_series(tmp_path: Path) -> None:
    options = ["--endpoint", "sim:perfect", "--context", "6k", "--repeats", "1", "--json"]
    scores = _json(evalstab("run", "three-notes", *options, "--out", "out", cwd=tmp_path))
    assert scores["series"]["context_target"] == 6_000
    assert abs(scores["trials"][0]["context_deviation"]) <= REACHED


def test_levels_of_load_are_rungs_too(tmp_path: Path) -> None:
    options = ["--endpoint", "sim:loaded", "--concurrency", "1,4", "--repeats", "4", "--seed", "3"]
    done = evalstab("run", "three-notes", *options, "--out", "out", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    rungs = document["ladder"]["result"]["rungs"]
    assert [(rung["name"], rung["concurrency"]) for rung in rungs] == [("c1", 1), ("c4", 4)]
    for rung in rungs:
        assert rung["speed"]["latency_s"]["p99"] >= rung["speed"]["latency_s"]["p50"] > 0
    assert rungs[1]["speed"]["latency_s"]["steps"] > 0
    assert "Does load change this judgement?" in (tmp_path / "out/report.md").read_text()


def test_an_interrupted_ladder_goes_on(tmp_path: Path) -> None:
    with running(["--persona", "slowing", "--time-scale", "30"]) as url:
        options = ["--base-url", f"{url}/v1", "--context", "3k,4k", "--repeats", "1", "--quiet"]
        command = [sys.executable, "-m", "evalstab", "run", "three-notes", *options, "--out", "out"]
        process = subprocess.Popen(command, cwd=tmp_path, env=environment(), start_new_session=True)
        wanted = tmp_path / "out/3k/trials/001/events.jsonl"
        end = time.monotonic() + 120
        while not wanted.exists() and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        planned = json.loads((tmp_path / "out/ladder.json").read_text())
        assert {rung["status"] for rung in planned["rungs"]} == {"planned"}
        done = evalstab("resume", "out", "--json", cwd=tmp_path)
    rungs = _json(done)["ladder"]["rungs"]
    assert [rung["status"] for rung in rungs] == ["done", "done"]


def test_a_ladder_resumed_for_more_trials_plans_them_everywhere(tmp_path: Path) -> None:
    options = ["--endpoint", "sim:perfect", "--concurrency", "1,2", "--repeats", "1", "--quiet"]
    assert evalstab("run", "three-notes", *options, "--out", "out", cwd=tmp_path).returncode == 0
    done = evalstab("resume", "out", "--repeats", "2", "--json", cwd=tmp_path)
    ladder = _json(done)["ladder"]
    assert (ladder["repeats"], ladder["request"]["repeats"]) == (2, 2)
    assert "1 trial kept, 2 planned" in done.stderr
    assert "trial 1 of" not in done.stderr
    assert "--repeats 2 --seed" in (tmp_path / "out/report.md").read_text()
    card = evalstab("report", "out", "--format", "card", "--output", "card.svg", cwd=tmp_path)
    assert card.returncode == 0, card.stderr
    assert "2 rungs of 2 trials" in (tmp_path / "card.svg").read_text()


@pytest.mark.parametrize(
    ("context", "sign", "how_to_go_on"),
    [
        ("3k,4k", signal.SIGTERM, "go on with `evalstab resume out`"),
        ("4k", signal.SIGINT, "give the same command with `--out out`"),
    ],
)
def test_an_interrupted_calibration_goes_on(
    tmp_path: Path, context: str, sign: signal.Signals, how_to_go_on: str
) -> None:
    with running(["--persona", "slowing", "--time-scale", "20"]) as url:
        options = ["--base-url", f"{url}/v1", "--context", context, "--repeats", "1"]
        given = ["run", "three-notes", *options, "--out", "out"]
        command = [sys.executable, "-m", "evalstab", *given]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
        )
        wanted = tmp_path / "out/calibration/trials/001/events.jsonl"
        end = time.monotonic() + 120
        while not wanted.exists() and time.monotonic() < end:
            time.sleep(0.005)
        process.send_signal(sign)
        told = process.communicate(timeout=60)[1]
    assert process.returncode == 130, told
    assert how_to_go_on in told
    if "," not in context:
        refused = evalstab("resume", "out", cwd=tmp_path)
        assert "holds a calibration only" in refused.stderr
    port = url.rpartition(":")[2]
    with running(["--persona", "slowing", "--port", port, "--time-scale", "3000"]):
        done = evalstab(*(["resume", "out"] if "," in context else given), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_server_with_too_little_context_is_warned_of(tmp_path: Path) -> None:
    with running(["--persona", "perfect", "--context", "12400"]) as url:
        done = evalstab(
            *("run", "three-notes", "--base-url", f"{url}/v1", "--context", "4k,20k"),
            *("--repeats", "1", "--out", "out"),
            cwd=tmp_path,
        )
    assert "the server's context is 12,400 tokens: 20k cannot be reached" in done.stderr
    rungs = json.loads((tmp_path / "out/ladder.json").read_text())["result"]["rungs"]
    assert [rung["ranked"] for rung in rungs] == [1, 0]


def test_bad_sizes_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    for option, value, words in (
        ("--context", "60x", "is no size"),
        ("--context", ",", "write a size"),
        ("--concurrency", "1,0", "--concurrency"),
        ("--groups", "4", "--groups"),
        ("--cache", "tepid", "--cache"),
    ):
        done = evalstab("run", "three-notes", option, value, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr
    too_small = ["--endpoint", "sim:perfect", "--context", "2k", "--out", "out"]
    done = evalstab("run", "eleven-profiles", *too_small, cwd=tmp_path)
    assert done.returncode == 2
    assert "the task alone comes to about" in done.stderr


def test_a_full_ladder_to_200k_in_bounded_memory(tmp_path: Path) -> None:
    """The personas drifting, at once, and slowing, three thousand times as fast."""
    options = ["--context", "60k,80k,100k,200k", "--repeats", "2", "--seed", "1", "--json"]
    drifting = evalstab(
        *("run", "eleven-profiles", "--endpoint", "sim:drifting", "--out", "drifting"),
        *options,
        cwd=tmp_path,
        timeout=LADDER_SECONDS,
    )
    server = ["--persona", "slowing", "--dialect", "llamacpp", "--time-scale", "3000"]
    with running(server) as url:
        slowing = evalstab(
            *("run", "three-notes", "--base-url", f"{url}/v1", "--out", "slowing"),
            *options,
            cwd=tmp_path,
            timeout=LADDER_SECONDS,
        )
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    assert largest < LADDER_MEGABYTES
    for done in (drifting, slowing):
        rungs = _json(done)["ladder"]["result"]["rungs"]
        assert [rung["context_target"] for rung in rungs][1:] == [60_000, 80_000, 100_000, 200_000]
        assert all(abs(rung["deviation"]["median"]) <= REACHED for rung in rungs[1:])
    _slower_with_depth(rungs)


def _slower_with_depth(rungs: list[dict[str, Any]]) -> None:
    """The server's own clock runs at the persona's pace: 12.3 and 4.6 tok/s at 100k and 200k."""
    timings = {
        rung["context_target"]: next(
            source["decode_tok_s"]
            for source in rung["speed"]["sources"]
            if source["source"] == "server timings"
        )
        for rung in rungs
    }
    assert timings[100_000] == pytest.approx(12.3, rel=0.05)
    assert timings[200_000] == pytest.approx(4.6, rel=0.05)
    assert timings[60_000] > timings[80_000] > timings[100_000]
