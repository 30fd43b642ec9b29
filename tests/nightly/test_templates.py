"""The templates in docs/nightly/, each read by a parser of its kind."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import environment
from tests.nightly.night_making import write_config
from tests.text.test_github import commands

DOCS = Path(__file__).parents[2] / "docs" / "nightly"
LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def _unit(name: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(strict=False, delimiters=("=",), interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read(DOCS / name)
    return unit


def _yaml(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((DOCS / name).read_text())
    return found


def test_the_crontab_is_one() -> None:
    jobs = []
    for line in (DOCS / "crontab").read_text().splitlines():
        if not line.strip() or line.startswith("#") or re.match(r"^[A-Z]+=", line):
            continue
        *times, command = line.split(None, 5)
        assert len(times) == 5
        for field, (low, high) in zip(times, LIMITS, strict=True):
            assert field == "*" or low <= int(field) <= high
        assert "%" not in command  # cron would cut there
        assert shlex.split(command)[0] == "cd"
        jobs.append((times, command))
    (times, night), (_, disk) = jobs
    assert times[0] not in ("0", "*")
    assert night.endswith("evalstab nightly --quiet")
    assert "evalstab prune" in disk


def test_service_and_timer_are_units() -> None:
    service, timer = _unit("evalstab-nightly.service"), _unit("evalstab-nightly.timer")
    assert service["Service"]["Type"] == "oneshot"
    assert service["Service"]["KillSignal"] == "SIGINT"
    assert service["Service"]["ExecStart"].split()[1:] == ["nightly"]
    assert service["Service"]["SuccessExitStatus"] == "6"
    assert timer["Timer"]["Persistent"] == "true"
    assert re.fullmatch(r"\*-\*-\* \d\d:\d\d:\d\d", timer["Timer"]["OnCalendar"])
    assert timer["Install"]["WantedBy"] == "timers.target"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program at a path of its own, and a folder with a short night to run it in."""
    (tmp_path / "srv").mkdir()
    write_config(
        tmp_path / "srv", ('{ task = "three-notes", endpoint = "sim:steady", repeats = 1 }',)
    )
    place = tmp_path / "evalstab"
    place.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m evalstab "$@"\n')
    place.chmod(0o755)
    return place


def _adapted(text: str, program: Path) -> str:
    """A template with the paths of this machine in place of those it names."""
    text = text.replace("/usr/local/bin/evalstab", str(program))
    return text.replace("/srv/evalstab", str(program.parent / "srv"))


def _shell(line: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", line],
        cwd=cwd,
        env=environment(env),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_lines_of_the_crontab_run_as_they_stand_and_are_silent(program: Path) -> None:
    lines = (DOCS / "crontab").read_text().splitlines()
    for line in (line for line in lines if line[:1].isdigit()):
        done = _shell(_adapted(line.split(None, 5)[5], program), cwd=Path("/"))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(list(program.parent.glob("srv/reports/2*/scores.json"))) == 1


def test_the_night_of_the_github_job_runs_as_it_stands(program: Path, tmp_path: Path) -> None:
    night = _yaml("github.yml")["jobs"]["stability"]["steps"][1]
    summary = tmp_path / "summary.md"
    done = _shell(
        night["run"],
        cwd=Path(_adapted(night["working-directory"], program)),
        PATH=f"{program.parent}:{os.environ['PATH']}",
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(summary),
        GITHUB_WORKSPACE=str(program.parent / "srv"),
        EVALSTAB_WEBHOOK="",  # a secret that is not set
    )
    assert done.returncode == 0, done.stderr
    assert summary.read_text().startswith("# Night of ")
    ((level, _, message),) = commands(done.stdout + done.stderr)
    assert (level, message.endswith("passed (1 of 1 series done)")) == ("notice", True)


@pytest.mark.system("systemd-analyze")
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_itself_takes_the_units(program: Path, tmp_path: Path) -> None:
    units = [tmp_path / f"evalstab-nightly.{kind}" for kind in ("service", "timer")]
    for unit in units:
        unit.write_text(_adapted((DOCS / unit.name).read_text(), program))
    told = subprocess.run(
        ["systemd-analyze", "verify", *map(str, units)], capture_output=True, text=True, check=False
    )
    about = [line for line in told.stderr.splitlines() if "evalstab" in line]
    assert (told.returncode, about) == (0, []), told.stderr


@pytest.mark.system("systemd-analyze")
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_itself_takes_the_calendar() -> None:
    calendar = _unit("evalstab-nightly.timer")["Timer"]["OnCalendar"]
    subprocess.run(["systemd-analyze", "calendar", calendar], check=True, capture_output=True)


def test_the_github_workflow_is_one() -> None:
    flow = _yaml("github.yml")
    when = flow[True]  # YAML 1.1 reads the key `on` as true
    assert "pull_request" not in when
    minute = when["schedule"][0]["cron"].split()[0]
    assert int(minute) not in (0, 30)
    assert flow["concurrency"]["cancel-in-progress"] is False
    job = flow["jobs"]["stability"]
    assert "self-hosted" in job["runs-on"]
    night, keep = job["steps"][1:]
    assert night["run"].startswith("evalstab nightly")
    assert keep["if"] == "always()"
    assert "run_attempt" in keep["with"]["name"]


def test_the_gitlab_job_is_one() -> None:
    job = _yaml("gitlab-ci.yml")["stability"]
    assert job["script"] == ["evalstab nightly"]
    assert job["resource_group"]
    assert job["allow_failure"]["exit_codes"] == [4, 6]
    assert job["retry"] == {"max": 1, "exit_codes": [4]}
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["reports"]["junit"] == "reports/nightly/junit.xml"
