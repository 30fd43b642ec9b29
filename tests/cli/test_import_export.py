"""``evalstab import`` and ``evalstab export`` as their users meet them."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]

from evalstab.workflow.export import neutral
from tests.cli.program import evalstab
from tests.intake.opencode_making import FIXTURES, samples

TASK = """
schema_version = 1
name = "offers"
language = "en"
tools = "free"
prompt = "prompt.md"
[[candidates]]
id = "A"
[[candidates]]
id = "B"
[[candidates]]
id = "C"
[[deliverables]]
path = "ranking.md"
kind = "ranking"
format = "numbered-list"
"""


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = tmp_path / "offers"
    folder.mkdir()
    (folder / "task.toml").write_text(TASK)
    (folder / "prompt.md").write_text("Rank the offers.")
    return folder


def test_sessions_become_series_that_say_what_they_are(task: Path, tmp_path: Path) -> None:
    stores = samples(tmp_path / "stores")
    out = tmp_path / "series"
    options = ("--task", task, "--group-by", "ok|tool_error", "--json")
    done = evalstab("import", "opencode", stores / "v1", "--out", out, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "read from the last answers" in done.stderr
    scores = json.loads(done.stdout)["series"]
    assert [len(one["trials"]) for one in scores] == [1, 1]
    (trial,) = scores[0]["trials"]
    assert trial["active_context_tokens"] == 1290
    assert trial["speed"]["ttft_s"]["p50"] is None
    assert "OpenCode stores when" in trial["speed"]["ttft_s"]["p50_reason"]
    report = (out / "ok" / "report.md").read_text()
    assert "Imported sessions of another agent (opencode 1.18.33)" in report
    resumed = evalstab("resume", out / "ok", cwd=tmp_path)
    assert resumed.returncode == 3
    assert "was imported" in resumed.stderr


def test_what_a_source_cannot_know_is_null_with_its_reason(task: Path, tmp_path: Path) -> None:
    source = FIXTURES / "claude_code_session.jsonl"
    options = ("--out", tmp_path / "out", "--task", task, "--json")
    done = evalstab("import", "claude-code", source, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    calls = json.loads(done.stdout)["trials"][0]["tool_calls"]
    assert calls["unfinished"] is None
    assert "as they were parsed" in calls["unfinished_reason"]


def test_without_a_task_all_is_measured_that_needs_none(tmp_path: Path) -> None:
    stores = samples(tmp_path / "stores")
    out = tmp_path / "out"
    done = evalstab("import", "opencode", stores / "v1", "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no ranking is judged: name the task" in done.stderr
    scores = json.loads((out / "scores.json").read_bytes())
    first = scores["trials"][0]
    assert (first["ranking"], first["deliverables"]["expected"]) == (None, 0)
    assert "no task was named" in first["ranking_reason"]
    assert first["reasoning"]["tokens"] == 40
    assert first["active_context_tokens"] == 1290
    assert first["tool_calls"]["total"] == 1
    assert first["language"]["graphemes_written"] > 0
    assert scores["stability"]["success_rate"] is None
    assert "no task was named" in scores["stability"]["success_rate_reason"]
    codes = {code for trial in scores["trials"] for code in trial["finding_counts"]}
    assert {"tool.unknown_name", "tool.truncated", "context.overflow"} <= codes
    assert not {code for code in codes if code.startswith("trial.deliverable")}
    report = (out / "report.md").read_text()
    assert "No task was named: no ranking is judged" in report
    for wrong in ("resume", "--task unknown", "How stable", "complete deliverables", "usable"):
        assert wrong not in report, wrong
    again = evalstab("score", out, "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["trials"] == scores["trials"]


@pytest.mark.parametrize(
    ("prompt", "options", "trials", "told"),
    [
        ("Rank the offers.", (), 11, "it does not carry the prompt of offers"),
        ("Judge them.", (), 11, "it begins with another prompt than most"),
        ("Rank the offers.", ("--group-by", "^"), 12, None),
    ],
)
def test_sessions_of_another_task_are_left_out_and_named(
    task: Path, tmp_path: Path, prompt: str, options: tuple[str, ...], trials: int, told: str | None
) -> None:
    (task / "prompt.md").write_text(prompt)
    stores = samples(tmp_path / "stores")
    with closing(sqlite3.connect(stores / "v1" / "opencode.db")) as db:
        other = json.dumps({"type": "text", "text": "Say hello."})
        asked = "select id from message where session_id = 'ses_length' order by time_created"
        (first,) = db.execute(f"{asked} limit 1").fetchone()
        db.execute("update part set data = ? where message_id = ?", (other, first))
        db.commit()
    asking: tuple[str | Path, ...] = ("--out", tmp_path / "out", "--task", task, *options)
    done = evalstab("import", "opencode", stores / "v1", "--json", *asking, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["trials"]) == trials
    lines = [line for line in done.stderr.splitlines() if "was left out" in line]
    assert len(lines) == (told is not None)
    for line in lines:
        assert "'ses_length' (1 answer)" in line
        assert str(told) in line
        assert "--group-by" in line


def test_groups_of_odd_names_get_a_folder_each(tmp_path: Path) -> None:
    stores = samples(tmp_path / "stores")
    with closing(sqlite3.connect(stores / "v1" / "opencode.db")) as db:
        for number, title in enumerate(("Rank a/b 1", "Rank a b #2", "RANK A-B", "…", "  ", "=1")):
            query = "update session set title = ? where id = ?"
            db.execute(query, (title, ("ses_ok", "ses_tool_error", "ses_bad_args", "ses_length",
                                       "ses_unknown_tool", "ses_launch")[number]))  # fmt: skip
        db.commit()
    out = tmp_path / "out"
    options = ("--out", out, "--group-by", "task-title", "--json")
    done = evalstab("import", "opencode", stores / "v1", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    groups = {path.name for path in out.iterdir()}
    assert {"Rank-a-b", "Rank-a-b~2", "RANK-A-B~3", "unnamed", "unnamed~2"} <= groups
    series = json.loads(done.stdout)["series"]
    assert sum(len(one["trials"]) for one in series) == 12
    assert len(groups) == len(series)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("import", "opencod", ".", "--out", "o"), 2, "Did you mean 'opencode'"),
        (("import", "codex", "nowhere", "--out", "o"), 3, "does not exist"),
        (("export", "xls", ".", "--output", "o"), 2, "no format 'xls'"),
        (("export", "csv", ".", "--output", "o"), 3, "holds no series.json"),
        (("record", "--upstream", "ftp://x", "--out", "o"), 2, "write an address"),
    ],
)
def test_mistakes_are_named(
    arguments: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    done = evalstab(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert said in done.stderr


def test_a_broken_expression_is_named(tmp_path: Path) -> None:
    source = FIXTURES / "codex_rollout_paginated.jsonl"
    options = ("--out", "o", "--group-by", "(")
    done = evalstab("import", "codex", source, *options, cwd=tmp_path)
    assert done.returncode == 2
    assert "regular expression" in done.stderr


def test_one_flat_row_a_trial(tmp_path: Path) -> None:
    series = tmp_path / "series"
    run = evalstab("run", "three-notes", "--repeats", "2", "--out", series, "--quiet", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    scores = json.loads((series / "scores.json").read_bytes())
    scores["trials"][0]["winner"] = "=HYPERLINK(1)"
    scores["trials"][0]["winners"] = ["a", "@SUM(1)"]
    (series / "scores.json").write_text(json.dumps(scores))
    out = tmp_path / "trials.csv"
    done = evalstab("export", "csv", series, "--output", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["index"] for row in rows] == ["1", "2"]
    assert rows[0]["winner"] == "'=HYPERLINK(1)"
    assert rows[0]["winners"] == "a;'@SUM(1)"
    assert float(rows[1]["seconds"]) > 0
    assert (
        rows[0]["accuracy.mean_abs_error"] == "" or float(rows[0]["accuracy.mean_abs_error"]) >= 0
    )


def test_parquet_keeps_types_and_nulls_and_needs_its_extra(tmp_path: Path) -> None:
    series = tmp_path / "series"
    evalstab("run", "three-notes", "--repeats", "2", "--out", series, "--quiet", cwd=tmp_path)
    scores = json.loads((series / "scores.json").read_bytes())
    scores["trials"][0] |= {"winner": "=HYPERLINK(1)", "top_score": None, "huge": 10**30}
    scores["trials"][1] |= {"resumed": True, "steps": 7, "nothing": None}
    (series / "scores.json").write_text(json.dumps(scores))
    out = tmp_path / "trials.parquet"
    done = evalstab("export", "parquet", series, "--output", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = parquet.read_table(out)
    types = {name: str(table.schema.field(name).type) for name in table.schema.names}
    assert types["index"] == types["steps"] == types["active_context_tokens"] == "int64"
    assert types["seconds"] == types["top_score"] == types["huge"] == "double"
    assert (types["resumed"], types["winner"], types["nothing"]) == ("bool", "string", "null")
    rows = table.to_pylist()
    assert [row["index"] for row in rows] == [1, 2]
    assert (rows[0]["winner"], rows[0]["top_score"], rows[1]["nothing"]) == (
        "'=HYPERLINK(1)", None, None,
    )  # fmt: skip
    assert (rows[1]["resumed"], rows[1]["steps"], rows[1]["huge"]) == (True, 7, None)
    assert rows[1]["seconds"] == scores["trials"][1]["seconds"]
    hidden = tmp_path / "hidden" / "pyarrow"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('not here')")
    env = {"PYTHONPATH": str(hidden.parent)}
    done = evalstab("export", "parquet", series, "--output", out, cwd=tmp_path, env=env)
    assert done.returncode == 3
    assert "evalstab[parquet]" in done.stderr


def test_text_that_looks_like_a_formula_is_neutral_and_numbers_stay() -> None:
    assert neutral(-1.5) == -1.5
    assert neutral("note_b") == "note_b"
    assert neutral("a = b") == "a = b"
    assert neutral("'=1") == "'=1"
    odd = (
        "\t=1",
        " =1",
        "\u00a0=1",
        '"=1"',
        ' " =1',
        "\ufeff=1",
        "\u200b@x",
        "\uff1d1",
        "\r",
        "\n1",
    )
    for text in ("=1", "+1", "-1", "@x", "|x", "%x", *odd):
        assert neutral(text) == f"'{text}"
    assert len(neutral(" " * 100_000 + "=")) <= 8_001
