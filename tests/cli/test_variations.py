"""Declared variations by running the program: reading order, cold starts, groups."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from evalstab.task.grouping import split
from evalstab.task.load import find_task, load_task
from evalstab.task.variation import COLD_START, in_order, shuffled_order
from tests.cli.program import evalstab

TASK = "eleven-profiles"


def _run(cwd: Path, *options: str, persona: str = "steady") -> dict[str, Any]:
    done: subprocess.CompletedProcess[str] = evalstab(
        *("run", TASK, "--endpoint", f"sim:{persona}", "--seed", "7", "--out", "out", "--json"),
        *options,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    scores: dict[str, Any] = json.loads(done.stdout)
    return scores


def _started(root: Path, trial: int) -> dict[str, Any]:
    line = (root / f"trials/{trial:03d}/events.jsonl").read_text().split("\n", 1)[0]
    started: dict[str, Any] = json.loads(line)
    return started


def _reading(root: Path, trial: int) -> list[str]:
    """Profiles in the order in which a trial read them."""
    paths = []
    for line in (root / f"trials/{trial:03d}/events.jsonl").read_text().splitlines():
        for result in json.loads(line).get("results", ()):
            if result["name"] == "read_file" and "profiles" in result.get("path", ""):
                paths.append(result["path"])
    return list(dict.fromkeys(paths))


def test_pairs_share_their_reading_order(tmp_path: Path) -> None:
    scores = _run(tmp_path, "--shuffle", "--repeats", "6")
    out = tmp_path / "out"
    orders = [tuple(_started(out, trial)["variation"]["order"]) for trial in range(1, 7)]
    assert orders[0::2] == orders[1::2]
    assert len(set(orders)) == 3
    for trial, order in enumerate(orders, 1):
        assert _reading(out, trial) == [f"profiles/{person}.md" for person in order]
    position = scores["position"]
    assert position["orders"] == 3
    assert position["tau_same_order"] is not None
    assert [f["code"] for f in scores["findings"] if "mixed" in f["code"]] == []
    assert "Order of reading" in (out / "report.md").read_text()


def test_a_shuffled_series_goes_on_in_the_same_orders(tmp_path: Path) -> None:
    _run(tmp_path, "--shuffle", "--repeats", "2")
    before = [_started(tmp_path / "out", trial)["variation"] for trial in (1, 2)]
    done = evalstab("resume", "out", "--repeats", "4", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = [_started(tmp_path / "out", trial)["variation"] for trial in range(1, 5)]
    assert after[:2] == before
    assert after[2] == after[3] != after[0]


def test_an_echo_of_a_shuffled_order_is_seen(tmp_path: Path) -> None:
    scores = _run(tmp_path, "--shuffle", "--repeats", "2", persona="echo")
    codes = [set(trial["finding_counts"]) for trial in scores["trials"]]
    assert all("trial.order_echo" in found for found in codes)


def test_the_digest_does_not_know_of_variations(tmp_path: Path) -> None:
    task = load_task(find_task(TASK))
    order = shuffled_order(task.candidates, 7, 1)
    assert in_order(task, order).digest == task.digest
    assert in_order(task, order).candidates == order
    works = []
    for number, option in enumerate((["--shuffle"], ["--cache", "cold"], ["--groups", "2"])):
        folder = tmp_path / str(number)
        folder.mkdir()
        _run(folder, *option, "--repeats", "1")
        works.append(json.loads((folder / "out/series.json").read_text())["work"])
    assert works[0] == works[1] == works[2]


@pytest.mark.parametrize("candidates", [3, 4, 11])
def test_orders_differ_as_long_as_there_are_others(candidates: int) -> None:
    names = [f"c{number}" for number in range(candidates)]
    orders = [shuffled_order(names, 1, trial) for trial in range(1, 13)]
    assert orders[0::2] == orders[1::2]
    assert len(set(orders)) == 6
    assert all(set(order) == set(names) for order in orders)


def test_every_trial_of_a_cold_series_is_cold(tmp_path: Path) -> None:
    scores = _run(tmp_path, "--cache", "cold", "--repeats", "3")
    rows = [trial["speed"]["by_context"][0] for trial in scores["trials"]]
    assert [row["cached_tokens"] for row in rows] == [0, 0, 0]
    assert not any(found["code"] == "series.cold_first_run" for found in scores["findings"])
    firsts = [_started(tmp_path / "out", trial)["messages"][0]["content"] for trial in (1, 2)]
    assert all(COLD_START.match(first) for first in firsts)
    assert firsts[0] != firsts[1]


def test_a_deterministic_persona_is_cold_in_every_cold_trial(tmp_path: Path) -> None:
    warm, cold = tmp_path / "warm", tmp_path / "cold"
    for folder in (warm, cold):
        folder.mkdir()
    scores = _run(warm, "--repeats", "3", persona="cold-first")
    assert scores["speed"]["cold_first"]["trial"] == 1
    assert scores["divergence"]["identical_throughout"] == pytest.approx(1 / 3)
    outputs = _run(cold, "--repeats", "3", "--cache", "cold", persona="cold-first")
    assert outputs["stability"]["distinct_outputs"] == 1


def test_groups_are_joined_to_one_ranking(tmp_path: Path) -> None:
    scores = _run(tmp_path, "--groups", "3", "--repeats", "2", persona="perfect")
    out = tmp_path / "out"
    for trial in scores["trials"]:
        assert trial["outcome"] == "completed"
        assert sum(len(group) for group in trial["ranking"]) == 11
        assert trial["accuracy"]["kendall_tau_truth"] == pytest.approx(1.0)
    variation = _started(out, 1)["variation"]
    parted = split(load_task(find_task(TASK)).candidates, 3, 7)
    assert [set(group) for group in variation["groups"]] == [set(g) for g in parted.groups]
    record = (out / "trials/001/events.jsonl").read_text()
    steps = [json.loads(line) for line in record.splitlines()]
    assert [s["number"] for s in steps if s["type"] == "step"] == list(
        range(1, len([s for s in steps if s["type"] == "step"]) + 1)
    )
    assert (out / "trials/001/groups/2/events.jsonl").is_file()


def test_an_interrupted_group_goes_on(tmp_path: Path) -> None:
    _run(tmp_path, "--groups", "2", "--repeats", "1")
    trial = tmp_path / "out/trials/001"
    joined = (trial / "events.jsonl").read_bytes()
    (trial / "events.jsonl").unlink()
    second = trial / "groups/2/events.jsonl"
    second.write_bytes(b"".join(second.read_bytes().splitlines(keepends=True)[:-2]))
    done = evalstab("resume", "out", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"][0]["outcome"] == "completed"
    again = (trial / "events.jsonl").read_bytes()
    assert again.count(b'"type":"step"') == joined.count(b'"type":"step"')


def test_compare_shows_whether_splitting_helped(tmp_path: Path) -> None:
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    for folder, options in ((whole, []), (parted, ["--groups", "2"])):
        folder.mkdir()
        _run(folder, "--repeats", "4", *options, persona="drifting")
    done = evalstab("compare", whole / "out", parted / "out", "--vary", "groups", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "groups" in done.stdout
    assert "tau" in done.stdout.lower()


def test_too_few_candidates_to_split(tmp_path: Path) -> None:
    done = evalstab("run", "three-notes", "--groups", "3", cwd=tmp_path)
    assert done.returncode == 2
    assert "too few" in done.stderr
    assert not (tmp_path / "reports").exists()
