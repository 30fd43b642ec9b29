"""The whole tool against the simulator's truth: precision and recall of each finding code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalstab.sim.verify import Row, verify
from tests.cli.program import evalstab

RELATIVE = frozenset({"reasoning.reworded_loop"})
"""Reworded loops are judged against other trials of the task: some are too short for that."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    folder = tmp_path_factory.mktemp("recall")
    out = folder / "series"
    what = ("eleven-profiles", "--endpoint", "sim:faulty", "--out", out, "--quiet")
    options = ("--repeats", "12", "--seed", "5", "--idle-timeout", "2", "--concurrency", "2")
    done = evalstab("run", *what, *options, cwd=folder)
    assert done.returncode in {0, 4, 5, 6}, done.stderr
    return {row.code: row for row in verify(out, out / "truth.json")}


def test_many_kinds_of_faults_were_injected(rows: dict[str, Row]) -> None:
    injected = {code for code, row in rows.items() if row.injected}
    assert len(injected) >= 12
    assert {"text.foreign_script", "text.foreign_language", "reasoning.loop"} <= injected
    assert any(code.startswith("tool.") for code in injected)
    assert any(code.startswith(("stream.", "server.")) for code in injected)


def test_what_was_injected_is_found(rows: dict[str, Row]) -> None:
    missed = {
        code: row.missed
        for code, row in rows.items()
        if row.injected and row.recall != 1 and code not in RELATIVE
    }
    assert missed == {}


def test_what_was_found_was_injected(rows: dict[str, Row]) -> None:
    wrong = {code: row.wrong for code, row in rows.items() if row.wrong}
    assert wrong == {}


def test_the_commands_table_says_the_same(tmp_path: Path) -> None:
    out = tmp_path / "series"
    options = ["--repeats", "2", "--idle-timeout", "2", "--quiet"]
    evalstab("run", "three-notes", "--endpoint", "sim:faulty", "--out", out, *options, cwd=tmp_path)
    done = evalstab("sim", "verify", out, out / "truth.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = {row["code"]: row["injected"] for row in json.loads(done.stdout)["codes"]}
    assert told == {row.code: row.injected for row in verify(out, out / "truth.json")}
