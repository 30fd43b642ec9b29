"""Pace: what the server's own clock says; nothing here looks at real time."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.sim import tokens
from evalstab.sim.counting import prompt_of
from evalstab.sim.dialect import dialect
from evalstab.sim.open import running
from evalstab.sim.pace import fixed_schedule, linear, log_linear, model_schedule
from evalstab.sim.persona import load
from evalstab.task.brief import opening_messages
from evalstab.task.load import load_task
from tests.sim.agent_loop import post, run

TASK = Path(__file__).parents[2] / "tasks" / "three-notes"


def test_slowing_runs_through_the_measured_points() -> None:
    pace = load("slowing").pace
    for context, decode, prefill in ((100_000, 12.3, 643), (200_000, 4.6, 216)):
        assert log_linear(pace.decode, context) == pytest.approx(decode)
        assert log_linear(pace.prefill, context) == pytest.approx(prefill)
    assert log_linear(pace.decode, 500) == pytest.approx(44.8)
    rates = [log_linear(pace.decode, context) for context in range(0, 300_000, 5_000)]
    assert all(one >= other for one, other in itertools.pairwise(rates))


def test_a_schedule_is_prefill_and_then_decode() -> None:
    pace = load("slowing").pace
    plan = model_schedule(pace, 100_000, 0, 200)
    first = pace.overhead + 100_000 / 643 + 1 / 12.3
    assert plan.due[0] == pytest.approx(first)
    assert 199 / (plan.due[-1] - plan.due[0]) == pytest.approx(12.3, rel=0.01)
    cached = model_schedule(pace, 100_000, 99_000, 200)
    assert cached.prefill == pytest.approx(1000 / 643)


def test_a_fixed_rate_is_exact() -> None:
    plan = fixed_schedule(2000, 0.25, 2001)
    assert plan.due[0] == 0.25
    assert plan.due[-1] == pytest.approx(1.25)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.floats(-10, 1e6))
def test_rates_stay_between_their_points(values: list[float], context: float) -> None:
    curve = tuple((1000.0 * place, value) for place, value in enumerate(values))
    assert min(values) - 1e-9 <= linear(curve, context) <= max(values) + 1e-9


@given(st.text(max_size=400))
def test_tokens_give_the_text_again(text: str) -> None:
    pieces = tokens.pieces(text)
    assert "".join(pieces) == text
    assert len(pieces) == tokens.count(text)


def test_a_token_has_about_four_characters() -> None:
    text = (TASK / "prompt.md").read_text()
    for path in sorted((TASK / "inputs").rglob("*.md")):
        text += path.read_text()
    assert 3 < len(text) / tokens.count(text) < 5


def test_the_prefix_cache_holds_what_an_earlier_step_sent() -> None:
    said = [
        {"role": "user", "content": "word " * 500},
        {"role": "assistant", "content": "yes " * 100},
        {"role": "user", "content": "more " * 50},
    ]
    vllm = dialect("vllm")
    cold = prompt_of(vllm, {"messages": said[:1]}, warm=False)
    warm = prompt_of(vllm, {"messages": said[:1]}, warm=True)
    later = prompt_of(vllm, {"messages": said}, warm=False)
    assert cold.cached == 0
    assert warm.tokens - 16 <= warm.cached < warm.tokens
    assert later.cached % 16 == 0
    assert cold.tokens + 90 < later.cached < later.tokens - 50


def test_earlier_talk_of_the_session_is_cold_in_the_first_trial() -> None:
    said = [
        {"role": "user", "content": "word " * 500},
        {"role": "assistant", "content": "yes " * 100},
        {"role": "user", "content": "the task"},
    ]
    vllm = dialect("vllm")
    assert prompt_of(vllm, {"messages": said}, warm=False, begin=2).cached == 0
    assert prompt_of(vllm, {"messages": said}, warm=True, begin=2).cached > 500


def test_timings_and_truth_state_simulated_seconds(tmp_path: Path) -> None:
    task = load_task(TASK, {"task.tools": "none"})
    body = {"model": "sim-slowing", "messages": opening_messages(task), "max_tokens": 90}
    options = ["--persona", "slowing", "--dialect", "llamacpp", "--time-scale", "50"]
    with running([*options, "--truth", str(tmp_path / "t.json")]) as url:
        answer = json.loads(post(f"{url}/v1/chat/completions", body))
    timings = answer["timings"]
    assert timings["predicted_per_second"] == pytest.approx(44.8, rel=0.01)
    assert timings["prompt_n"] + timings["cache_n"] == answer["usage"]["prompt_tokens"]
    step = json.loads((tmp_path / "t.json").read_bytes())["trials"][0]["steps"][0]
    assert step["decode_s"] == pytest.approx(90 / 44.8, rel=0.01)
    assert step["ttft_s"] == pytest.approx(0.12 + timings["prompt_ms"] / 1000 + 1 / 44.8)


def test_stamps_say_when_each_token_left(tmp_path: Path) -> None:
    task = load_task(TASK)
    truth = tmp_path / "t.json"
    options = ["--persona", "steady", "--rate", "2000", "--first", "0.01", "--stamps"]
    with running([*options, "--truth", str(truth)]) as url:
        trial = run(url, "sim-steady", task, tmp_path / "w", "s/1/1")
    steps = json.loads(truth.read_bytes())["trials"][0]["steps"]
    assert len(steps) == len(trial.answers)
    for step in steps:
        sent = [count for _, count in step["sends"]]
        times = [at for at, _ in step["sends"]]
        assert sent == sorted(sent)
        assert sent[-1] == step["completion_tokens"]
        assert times == sorted(times)
        for at, count in step["sends"]:
            due = step["received"] + 0.01 + (count - 1) / 2000
            assert at >= due - 0.001
