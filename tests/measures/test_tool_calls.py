"""Repetition and retry storms, on records as the loop writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalstab.chat import ToolCall
from evalstab.findings import finding
from evalstab.measures import tool_calls
from evalstab.measures.base import Measured
from evalstab.measures.view import read_trial
from evalstab.task.load import load_task
from evalstab.trial.record import ToolResult
from tests.measures.series_making import (
    Written,
    call,
    make_series,
    make_step,
    make_task,
    write_trial,
)

Made = tuple[ToolCall, ToolResult]


def measure(root: Path, made: Sequence[Made]) -> Measured:
    task = make_task(root / "task")
    series = make_series(root / "series", task)
    steps = [
        make_step(number, calls=[one[0]], results=[one[1]]) for number, one in enumerate(made, 1)
    ]
    write_trial(series, 1, Written(steps))
    return tool_calls.compute(read_trial(series.trial(1), load_task(series.task_folder)))


def read(path: str) -> Made:
    return call("read_file", path=path), ToolResult(call_id="c1", name="read_file", path=path)


def write(path: str, text: str, *, error: str | None = None) -> Made:
    result = ToolResult(
        call_id="c1", name="write_file", path=path, wrote=error is None, error=error
    )
    return call("write_file", path=path, content=text), result


def edit(path: str, old: str, new: str, *, error: str | None = None) -> Made:
    result = ToolResult(call_id="c1", name="edit_file", path=path, wrote=error is None, error=error)
    return call("edit_file", path=path, old=old, new=new), result


def codes(measured: Measured) -> list[str]:
    return [found.code for found in measured.findings]


def test_three_equal_calls_in_a_row_are_a_repetition(tmp_path: Path) -> None:
    measured = measure(tmp_path, [read("a"), read("a"), read("a"), read("b")])
    assert codes(measured) == ["tool.repeated"]
    assert measured.values["tool_calls"] == {
        "total": 4,
        "completed": 4,
        "unfinished": 0,
        "repeated": 2,
    }
    assert measured.findings[0].detail["count"] == 3


def test_the_order_of_arguments_does_not_matter(tmp_path: Path) -> None:
    one = ToolCall(id="c1", name="read_file", arguments='{"path":"a","limit":1}')
    other = ToolCall(id="c1", name="read_file", arguments='{"limit": 1, "path": "a"}')
    result = ToolResult(call_id="c1", name="read_file", path="a")
    measured = measure(tmp_path, [(one, result), (other, result), (one, result)])
    assert codes(measured) == ["tool.repeated"]


def test_two_equal_calls_are_none(tmp_path: Path) -> None:
    measured = measure(tmp_path, [read("a"), read("a"), read("b"), read("a")])
    assert measured.findings == []
    assert measured.values["tool_calls"]["repeated"] == 0


def test_failing_edits_of_one_path_are_a_storm(tmp_path: Path) -> None:
    made = [
        write("r.md", "Eins"),
        edit("r.md", "Zwei", "Drei", error="not found"),
        read("r.md"),
        edit("r.md", "Zwo", "Drei", error="not found"),
        edit("r.md", "Eins", "Drei"),
    ]
    measured = measure(tmp_path, made)
    assert codes(measured) == ["tool.retry_storm"]
    detail = measured.findings[0].detail
    assert (detail["path"], detail["attempts"], detail["in_vain"]) == ("r.md", 4, 2)


def test_restoring_what_stood_before_is_in_vain(tmp_path: Path) -> None:
    made = [
        write("r.md", "A"),
        edit("r.md", "A", "B"),
        edit("r.md", "B", "A"),
        edit("r.md", "A", "B"),
    ]
    assert codes(measure(tmp_path, made)) == ["tool.retry_storm"]


def test_one_long_storm_is_one_finding(tmp_path: Path) -> None:
    made = [write("r.md", f"Fassung {n % 2}") for n in range(12)]
    assert codes(measure(tmp_path, made)) == ["tool.retry_storm"]


def test_honest_piecewise_writing_is_no_storm(tmp_path: Path) -> None:
    made = [write("r.md", "Teil 1")]
    made += [edit("r.md", f"Teil {n}", f"Teil {n}\nTeil {n + 1}") for n in range(1, 9)]
    assert measure(tmp_path, made).findings == []


def test_writing_many_files_is_no_storm(tmp_path: Path) -> None:
    made = [write(f"{n}.md", "Text", error="full") for n in range(6)]
    assert measure(tmp_path, made).findings == []


def test_unfinished_counts_findings_of_the_reader(tmp_path: Path) -> None:
    task = make_task(tmp_path / "task")
    series = make_series(tmp_path / "series", task)
    cut = ToolCall(id="c1", name="write_file", arguments='{"path":"a","cont', complete=False)
    step = make_step(1, calls=[cut], findings=[finding("tool.truncated", channel="arguments")])
    leaked = make_step(2, content="<tool_call>", findings=[finding("tool.leaked_markup")])
    write_trial(series, 1, Written([step, leaked]))
    trial = read_trial(series.trial(1), load_task(series.task_folder))
    values: dict[str, Any] = tool_calls.compute(trial).values["tool_calls"]
    assert values == {"total": 1, "completed": 0, "unfinished": 2, "repeated": 0}
