"""Whole nights by the program: order, budget, outputs read by their own parsers, notifications."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.program import evalstab
from tests.nightly.night_making import SERIES, series_in, write_config
from tests.text.test_github import commands

DEAD = '[endpoints.dead]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
ENTRIES = (
    '{ task = "eleven-profiles", endpoint = "sim:drifting", gate = "nightly" }',
    SERIES,
    '{ task = "three-notes", endpoint = "dead" }',
    '{ task = "eleven-profiles", endpoint = "dead" }',
)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A night with a failing model, a quiet one and a dead endpoint."""
    folder = tmp_path_factory.mktemp("night")
    files = 'prometheus = "out/night.prom"\njunit = "out/junit.xml"\n'
    write_config(folder, ENTRIES, DEAD)
    text = (folder / "evalstab.toml").read_text()
    (folder / "evalstab.toml").write_text(text.replace("series =", f"{files}series ="))
    summary = folder / "step.md"
    summary.write_text("already here\n")
    github = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true"}
    done = evalstab("nightly", "--json", cwd=folder, env=github)
    return folder, done


def _plain(stderr: str) -> list[str]:
    """What people are told: all lines but those for GitHub's runner."""
    return [line for line in stderr.splitlines() if not line.startswith("::")]


def test_a_dead_endpoint_is_one_line_and_the_others_run(night: tuple[Path, Any]) -> None:
    folder, done = night
    assert done.returncode == 4
    assert "\n".join(_plain(done.stderr)).count("cannot be reached") == 1
    found = json.loads(done.stdout)
    assert found["exit_code"] == 4
    states = {item["name"]: (item["status"], item["exit_code"]) for item in found["items"]}
    assert states == {
        "eleven-profiles on sim:drifting": ("done", 5),
        "three-notes on sim:drifting": ("done", 0),
        "three-notes on dead": ("stopped", 4),
        "eleven-profiles on dead": ("stopped", 4),
    }
    assert len(series_in(folder)) == 2


def test_junit_reads_as_junit_and_agrees_with_the_verdicts(night: tuple[Path, Any]) -> None:
    folder, _ = night
    document = JUnitXml.fromfile(str(folder / "out" / "junit.xml"))
    suites = {suite.name: suite for suite in document}
    own = {case.name: case for case in suites["night"]}
    assert isinstance(own["three-notes on dead"].result[0], Error)
    assert own["eleven-profiles on sim:drifting"].result == []
    gate = suites["eleven-profiles on sim:drifting: gate nightly"]
    verdict = next(case for case in gate if case.name == "verdict")
    assert isinstance(verdict.result[0], Failure)
    assert "eleven-profiles on sim:drifting: eleven-profiles on sim:drifting" in suites
    assert (folder / "out" / "junit.xml").stat().st_mode & 0o777 == 0o644


def test_metrics_read_as_prometheus_text(night: tuple[Path, Any]) -> None:
    folder, _ = night
    text = (folder / "out" / "night.prom").read_text()
    assert text.endswith("\n")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families["evalstab_exit_code"].samples[0].value == 4
    taus = {s.labels["task"]: s.value for s in families["evalstab_kendall_tau"].samples}
    scores = {
        json.loads((place / "series.json").read_text())["task"]["name"]: json.loads(
            (place / "scores.json").read_text()
        )["stability"]["kendall_tau"]["mean"]
        for place in series_in(folder)
    }
    assert taus == scores
    endpoints = {s.labels["endpoint"] for s in families["evalstab_series_exit_code"].samples}
    assert endpoints == {"sim:drifting", "dead"}
    assert all(s.timestamp is None for family in families.values() for s in family.samples)
    assert (folder / "out" / "night.prom").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in (folder / "out").iterdir() if path.name.startswith(".")] == []


def test_a_github_job_gets_an_annotation_for_each_cause(night: tuple[Path, Any]) -> None:
    _, done = night
    read = commands(done.stderr)
    assert [level for level, _, _ in read] == ["error", "error"]
    told = {properties["title"]: message for _, properties, message in read}
    assert told["eleven-profiles on sim:drifting"].startswith("fail: ")
    dead = "2 series: three-notes on dead, eleven-profiles on dead"
    assert "cannot be reached" in told[dead]


def test_the_step_summary_is_appended(night: tuple[Path, Any]) -> None:
    folder, _ = night
    text = (folder / "step.md").read_text()
    assert text.startswith("already here\n# Night of ")
    assert "not kept: winner" in text


def test_the_step_summary_never_outgrows_what_github_takes(tmp_path: Path) -> None:
    write_config(tmp_path)
    summary = tmp_path / "step.md"
    summary.write_bytes(b"x" * (1024 * 1024 - 300))
    done = evalstab("nightly", cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert done.returncode == 0, done.stderr
    assert summary.stat().st_size < 1024 * 1024
    assert summary.read_text().endswith("(cut: the step summary holds 1 MiB)\n")


def test_what_does_not_fit_is_left_out_and_comes_first_next_time(tmp_path: Path) -> None:
    write_config(tmp_path, (SERIES, SERIES.replace("drifting", "steady")))
    assert evalstab("nightly", "--quiet", cwd=tmp_path).returncode == 0
    for place in series_in(tmp_path):
        scores = json.loads((place / "scores.json").read_text())
        for trial in scores["trials"]:
            trial["seconds"] = 1000.0
        (place / "scores.json").write_text(json.dumps(scores))
    text = (tmp_path / "evalstab.toml").read_text().replace('"30m"', '"3010s"')
    (tmp_path / "evalstab.toml").write_text(text)
    plan = evalstab("nightly", "--dry-run", cwd=tmp_path)
    assert plan.returncode == 0, plan.stderr
    first, second = plan.stdout.splitlines()
    assert first.startswith("three-notes on sim:drifting: 50 min (history)")
    assert "left out: takes about 50 min" in second
    done = evalstab("nightly", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "three-notes on sim:steady: left out" in done.stderr
    document = JUnitXml.fromfile(str(tmp_path / "reports" / "nightly" / "junit.xml"))
    cases = {case.name: case for case in next(s for s in document if s.name == "night")}
    assert isinstance(cases["three-notes on sim:steady"].result[0], Skipped)
    again = evalstab("nightly", "--dry-run", cwd=tmp_path).stdout.splitlines()
    assert again[0].startswith("three-notes on sim:steady")


def test_no_trial_begins_after_the_budget(tmp_path: Path) -> None:
    entry = '{ task = "eleven-profiles", endpoint = "sim:drifting", repeats = 200 }'
    write_config(tmp_path, (entry,))
    text = (tmp_path / "evalstab.toml").read_text().replace('"30m"', '"7s"')
    (tmp_path / "evalstab.toml").write_text(text)
    done = evalstab("nightly", "--json", cwd=tmp_path)
    assert done.returncode == 4
    (item,) = json.loads(done.stdout)["items"]
    if item["status"] == "cut":
        assert item["results"][0]["judged"] < 200
        page = (tmp_path / "reports" / "nightly" / "summary.md").read_text()
        assert "of 200 valid, no verdict" in page
    else:  # a machine so busy that the probe alone took the budget
        assert item["status"] == "left_out"


def test_the_second_night_compares_with_both(tmp_path: Path) -> None:
    entry = '{ task = "eleven-profiles", endpoint = "sim:steady", repeats = 5 }'
    write_config(tmp_path, (entry,))
    assert evalstab("nightly", "--quiet", cwd=tmp_path).returncode == 0
    made = evalstab("baseline", "set", series_in(tmp_path)[0], "--name", "good", cwd=tmp_path)
    assert made.stdout == "reports/baselines/good\n"
    write_config(tmp_path, (entry.replace(" }", ', baseline = "reports/baselines/good" }'),))
    done = evalstab("nightly", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["items"][0]["results"]
    assert result["drift"]["baseline"]["stability"] == "not shown"
    assert result["drift"]["last night"]["stability"] == "not shown"
    records = [sorted(p.name for p in s.glob("trials/001/*.*")) for s in series_in(tmp_path)]
    assert records == [["events.jsonl.zst"], ["events.jsonl"]]
    again = evalstab("score", series_in(tmp_path)[0], "--json", cwd=tmp_path)
    assert again.returncode == 0
    assert json.loads(again.stdout)["series"]["repeats_done"] == 5


@contextmanager
def _webhook(statuses: list[int]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Answers with these statuses in turn, the last one for ever; keeps what it was sent."""
    taken: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            taken.append({"path": self.path} | json.loads(body))
            self.send_response(statuses.pop(0) if len(statuses) > 1 else statuses[0])
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook/s3cr3t-token-42", taken
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_one_notification_on_a_change_of_state(tmp_path: Path) -> None:
    write_config(tmp_path)
    with _webhook([503, 200]) as (url, taken):
        env = {"EVALSTAB_WEBHOOK": url}
        first = evalstab("nightly", "--quiet", cwd=tmp_path, env=env)
        assert first.returncode == 0
        assert first.stdout + first.stderr == ""
        assert len(taken) == 2  # refused once, then taken
        assert taken[1]["text"].splitlines()[0].endswith("passed (1 of 1 series done)")
        assert evalstab("nightly", "--quiet", cwd=tmp_path, env=env).returncode == 0
        assert len(taken) == 2
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".md", ".xml", ".prom", ".jsonl"):
            assert b"s3cr3t-token-42" not in path.read_bytes(), path


def test_a_notification_that_was_refused_is_said_without_its_address(tmp_path: Path) -> None:
    write_config(tmp_path)
    with _webhook([404]) as (url, taken):
        done = evalstab("nightly", "--quiet", cwd=tmp_path, env={"EVALSTAB_WEBHOOK": url})
    assert done.returncode == 0
    assert "the notification was not delivered: HTTP 404" in done.stderr
    assert "s3cr3t" not in done.stderr
    assert len(taken) == 1
    assert not (tmp_path / "reports" / "nightly" / "state.json").exists()


def test_a_baseline_that_is_not_set_yet_is_said_and_stops_nothing(tmp_path: Path) -> None:
    write_config(tmp_path, (SERIES.replace(" }", ', baseline = "reports/baselines/rig" }'),))
    done = evalstab("nightly", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = "baseline reports/baselines/rig is not set yet: evalstab baseline set DIR --name rig"
    assert told in done.stderr
    assert told in (tmp_path / "reports" / "nightly" / "summary.md").read_text().replace("\\", "")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('budgett = "6h"\nseries = []', "Did you mean 'budget'?"),
        ('budget = "soon"\nseries = [{task = "three-notes", endpoint = "sim:steady"}]', "no time"),
        ("", "names no series"),
        ('series = [{task = "three-notes", endpont = "sim:steady"}]', "Did you mean 'endpoint'?"),
        ('series = [{task = "nothing", endpoint = "sim:steady"}]', "nothing"),
        ('series = [{task = "three-notes", endpoint = "rig"}]', "unknown endpoint 'rig'"),
        (
            'series = [{task = "three-notes", endpoint = "sim:steady", gate = "x"}]',
            "gate",
        ),
    ],
)
def test_mistakes_are_told_before_any_trial(tmp_path: Path, table: str, told: str) -> None:
    (tmp_path / "evalstab.toml").write_text(f"[nightly]\n{table}\n")
    done = evalstab("nightly", cwd=tmp_path)
    assert done.returncode == 3
    assert told in done.stderr
    assert series_in(tmp_path) == []
