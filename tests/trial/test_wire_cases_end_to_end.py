"""The wire cases through everything: client, loop, tools, record, measures.

What a case expects of the findings must stand in the scores of a series of one trial that the
server of the case answered: no code missing, no false alarm.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalstab.endpoint.base import Attempt
from evalstab.series.folder import SeriesFile
from evalstab.sim.open import open_sim
from evalstab.trial.loop import Watcher
from evalstab.trial.record import Step, TrialEnded
from evalstab.workflow.request import RunRequest
from evalstab.workflow.run import Outcome, People, run
from tests.endpoint.case_server import CaseServer, case_server
from tests.endpoint.cases import Case, all_cases, compare_codes

NOTES = {
    "notes/note_a.md": "Note A. The meeting is on Monday. No owner is named.\n",
    "notes/note_b.md": "Note B. Dates: 4 and 11 May. Owner: the house team. Budget: 300 euros.\n",
    "notes/note_c.md": "Note C. The guests are invited. Owner: the office.\n",
}
TOML = """\
schema_version = 1
name = "wire"
language = "{language}"
prompt = "prompt.md"
offer = ["list_files", "read_file", "write_file", "edit_file"]
points = {{ min = 0, max = 100 }}

[[candidates]]
id = "note_a"
file = "notes/note_a.md"

[[candidates]]
id = "note_b"
file = "notes/note_b.md"

[[candidates]]
id = "note_c"
file = "notes/note_c.md"

[[deliverables]]
path = "ranking.json"
kind = "ranking"
format = "json"
"""
IDLE = 1.0


class Nobody:
    """Watches nothing."""

    def chunks(self, trial: int, count: int) -> None:
        """Nothing."""

    def step(self, trial: int, step: Step) -> None:
        """Nothing."""

    def waiting(self, trial: int, attempt: Attempt, limit: float) -> None:
        """Nothing."""

    def ended(self, trial: int, ended: TrialEnded) -> None:
        """Nothing."""

    def done(self) -> None:
        """Nothing."""


def _nobody(_file: SeriesFile) -> Watcher:
    return Nobody()


@contextmanager
def serving(case: Case) -> Iterator[CaseServer]:
    """The case's server on a loop of its own, in a thread."""
    started = threading.Event()
    over = threading.Event()
    servers: list[CaseServer] = []

    async def serve() -> None:
        async with case_server(case.responses) as server:
            servers.append(server)
            started.set()
            await asyncio.to_thread(over.wait)
            server.release()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait()
    try:
        yield servers[0]
    finally:
        over.set()
        thread.join()


def _task(case: Case, folder: Path) -> Path:
    task = folder / "wire"
    for path, text in (NOTES | case.workspace).items():
        (task / "inputs" / path).parent.mkdir(parents=True, exist_ok=True)
        (task / "inputs" / path).write_text(text, encoding="utf-8")
    (task / "task.toml").write_text(
        TOML.format(language=case.request.get("language", "en")), encoding="utf-8"
    )
    words = " ".join(f"w{number}" for number in range(case.request.get("prompt_estimate", 0)))
    prompt = "\n\n".join(["Rank the notes.", *case.request.get("inputs", ()), words])
    (task / "prompt.md").write_text(prompt, encoding="utf-8")
    return task


def _flags(case: Case, server: CaseServer) -> dict[str, Any]:
    asked = case.request
    flags: dict[str, Any] = {
        "base_url": server.base_url,
        "model": "demo-model",
        "stream": asked["stream"],
        "timeouts.idle": IDLE,
        "timeouts.first_token": 3 * IDLE,
    }
    if asked.get("max_tokens") is not None:
        flags["sampling.max_tokens"] = asked["max_tokens"]
    if asked.get("max_completion_tokens") is not None:
        flags["extra_body.max_completion_tokens"] = asked["max_completion_tokens"]
    if asked.get("temperature") is not None:
        flags["sampling.temperature"] = asked["temperature"]
    if asked.get("thinking") is not None:
        flags["thinking"] = "on" if asked["thinking"] else "off"
    return flags


def _judged(case: Case, server: CaseServer, folder: Path) -> Outcome:
    flags = _flags(case, server)
    overrides = {}
    if not case.id.startswith("seq-"):
        flags["retries"] = 0
        overrides["task.limits.max_steps"] = "1"
    request = RunRequest(
        task=str(_task(case, folder)),
        flags=flags,
        task_overrides=overrides,
        repeats=1,
        out=folder / "series",
    )
    people = People(announce=lambda _line: None, watcher=_nobody, open_sim=open_sim)
    return run(request, people)


def _codes(outcome: Outcome, *, trial_codes: bool) -> set[str]:
    (trial,) = outcome.scores["trials"]
    codes = {found["code"] for found in trial["findings"]}
    return {code for code in codes if trial_codes or not code.startswith("trial.")}


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_findings_in_the_scores(case: Case, tmp_path: Path) -> None:
    sequence = case.id.startswith("seq-")
    with serving(case) as server:
        outcome = _judged(case, server, tmp_path)
    problems = compare_codes(case.expect, _codes(outcome, trial_codes=sequence))
    if sequence and "requests" not in case.expect.get("unchecked", ()):
        wanted = case.expect.get("requests", len(server.requests))
        if len(server.requests) != wanted:
            problems.append(f"{len(server.requests)} requests, expected {wanted}")
    assert not problems, json.dumps(outcome.scores["trials"][0]["findings"], indent=1)[:3000]
