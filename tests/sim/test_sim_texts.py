"""What the simulated model writes of its own accord sets off no detector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalstab.sim.open import open_sim
from evalstab.task.load import load_task
from evalstab.task.model import Task
from evalstab.text.degenerate import degenerate
from evalstab.text.entropy import compression_ratio, low_entropy
from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import scan_languages
from evalstab.text.periodic import verbatim_loop
from evalstab.text.scripts import scan_scripts
from evalstab.text.special_tokens import special_tokens
from tests.sim.agent_loop import Trial, run

TASKS = Path(__file__).parents[2] / "tasks"


def _texts(task: Task, trial: Trial) -> Iterator[tuple[str, str]]:
    for answer in trial.answers:
        yield "reasoning", answer.reasoning
        yield "content", answer.content
    for path, data in trial.files.items():
        if path not in task.inputs:
            yield "file", data.decode()


@pytest.mark.parametrize(
    ("name", "persona", "trials"),
    [("eleven-profiles", "drifting", (4, 6)), ("three-notes", "steady", (1, 2, 3))],
)
def test_nothing_is_found_in_honest_text(
    name: str, persona: str, trials: tuple[int, ...], tmp_path: Path
) -> None:
    task = load_task(TASKS / name)
    expected = Expectation(task.spec.language)
    with open_sim(persona) as url:
        for number in trials:
            trial = run(url, f"sim-{persona}", task, tmp_path / str(number), f"s/{number}/1")
            inputs = InputIndex()
            for text in [*task.inputs.values(), str(trial.messages[-1]).encode()]:
                inputs.add(text.decode())
            inputs.add("\n".join(str(m["content"]) for m in trial.messages if m["role"] == "user"))
            for channel, text_ in _texts(task, trial):
                assert verbatim_loop(text_) is None
                assert low_entropy(text_) is None
                assert degenerate(text_) == []
                assert scan_scripts(text_, expected, inputs, channel) == []
                assert scan_languages(text_, expected, inputs) == []
                assert special_tokens(text_, inputs) == []


def test_a_very_long_thought_stays_varied(tmp_path: Path) -> None:
    task = load_task(TASKS / "eleven-profiles")
    with open_sim("drifting") as url:
        trial = run(url, "sim-drifting", task, tmp_path / "w", "s/4/1")
    longest = max((answer.reasoning for answer in trial.answers), key=len)
    assert len(longest) > 35_000
    ratio = compression_ratio(longest)
    assert ratio is not None
    assert ratio > 0.21
