"""Another process of the same server is told by container, unit, process, and metrics."""

from __future__ import annotations

import pytest

from evalstab.launch.container import mark_of
from evalstab.launch.mark import mark_now, read_metrics, restarted
from evalstab.launch.model import Mark

METRICS = """\
# TYPE vllm:request_success_total counter
vllm:request_success_total{finished_reason="stop",model="m"} 5.0
vllm:request_success_total{finished_reason="length",model="m"} 2.0
process_start_time_seconds 1.7960e+09
vllm:num_requests_running 3
# TYPE kv_slots_total gauge
kv_slots_total 9
broken line {
vllm:prompt_tokens_total NaNsense
"""


def test_counters_of_one_name_are_added_up() -> None:
    assert read_metrics(METRICS) == (1.796e9, {"vllm:request_success_total": 7.0})


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (Mark(restart_count=0), Mark(restart_count=1), "restart count grew to 1"),
        (Mark(container_started="a"), Mark(container_started="b"), "started again"),
        (Mark(running=True), Mark(running=False), "is not running"),
        (Mark(container="a"), Mark(container="b"), "another one"),
        (Mark(unit_restarts=2), Mark(unit_restarts=3), "systemd has restarted"),
        (Mark(pid=5, pid_started=10), Mark(pid=5, pid_started=11), "process is another one"),
        (Mark(pid=5, pid_started=10), Mark(pid=5), "is gone"),
        (Mark(process_started=100.0), Mark(process_started=170.0), "started at 170"),
        (Mark(counters={"x_total": 9.0}), Mark(counters={"x_total": 1.0}), "fell from 9 to 1"),
    ],
)
def test_a_restart_is_told_with_its_reason(before: Mark, after: Mark, told: str) -> None:
    assert told in str(restarted(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Mark(), Mark()),
        (Mark(container_started="a", restart_count=1), Mark()),
        (Mark(counters={"x_total": 1.0}), Mark(counters={"x_total": 5.0, "y_total": 0.0})),
        (Mark(process_started=100.0), Mark(process_started=100.4)),
        (Mark(counters={"x_total": 1.0}), Mark(counters={})),
    ],
)
def test_what_cannot_be_seen_is_no_restart(before: Mark, after: Mark) -> None:
    assert restarted(before, after) is None


def test_a_container_killed_for_memory_is_told_while_it_is_down() -> None:
    state = {"Running": False, "Status": "exited", "ExitCode": 137, "OOMKilled": True}
    after = mark_of({"Id": "a", "State": state})
    told = restarted(Mark(container="a", running=True), after)
    assert told == (
        "the server's container is not running (exited, exit code 137, killed for memory)"
    )


def test_nothing_to_ask_is_an_empty_mark() -> None:
    assert mark_now({}, None, None) == Mark()
