"""Whole trials over HTTP: the simulated model reads, thinks and delivers through the tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalstab.sim.open import open_sim
from evalstab.task.brief import opening_messages
from evalstab.task.deliverables import check_deliverables
from evalstab.task.load import load_task
from evalstab.task.model import ANSWER_FILE, Task
from evalstab.tools.toolbox import Toolbox
from evalstab.tools.workspace import Workspace
from tests.sim.agent_loop import Trial, ask, body_for, post, run

TASKS = Path(__file__).parents[2] / "tasks"


def _checked(task: Task, trial: Trial) -> list[str]:
    """The order that was delivered, after making sure that nothing is wrong with it."""
    files = dict(trial.files)
    if task.spec.tools == "none":
        files = {ANSWER_FILE: trial.answers[-1].content.encode()}
    report = check_deliverables(task, files)
    assert report.complete == report.expected, (report.missing, report.invalid)
    assert report.contradictions == ()
    assert not any(report.arithmetic.values())
    return [candidate for group in report.rankings[task.ranking.path].groups for candidate in group]


def test_drifting_delivers_the_five_run_table(tmp_path: Path) -> None:
    task = load_task(TASKS / "eleven-profiles")
    truth = tmp_path / "truth.json"
    with open_sim("drifting", truth=truth) as url:
        five = [run(url, "sim-drifting", task, tmp_path / str(n), f"s/{n}/1") for n in range(1, 6)]
    orders = [_checked(task, trial) for trial in five]
    reports = [check_deliverables(task, t.files).rankings["ranking.json"] for t in five]
    assert [max(r.totals.values()) for r in reports] == [158, 79, 75, 105, 80]
    assert [order[0] for order in orders].count("person_11") == 3
    assert [order.index("person_09") + 1 for order in orders] == [5, 6, 3, 1, 7]
    thought = [sum(trial.reasoning_tokens) for trial in five]
    assert 6_700 <= min(thought) <= 7_000
    assert 12_500 <= max(thought) <= 12_900
    assert max(max(trial.reasoning_tokens) for trial in five) == pytest.approx(10_070, abs=30)
    told = json.loads(truth.read_bytes())
    assert [trial["order"] for trial in told["trials"]] == orders
    assert all(trial["injections"] == [] for trial in told["trials"])


@pytest.mark.parametrize("tools", ["free", "typed", "none"])
def test_three_notes_is_carried_out_in_every_mode(tools: str, tmp_path: Path) -> None:
    task = load_task(TASKS / "three-notes", {"task.tools": tools})
    with open_sim("steady", task_truth=TASKS / "three-notes" / "truth.json") as url:
        trial = run(url, "sim-steady", task, tmp_path / "1", "s/1/1")
    assert _checked(task, trial) == ["note_c", "note_a", "note_b"]
    assert trial.answers[-1].finish == ("tool_calls" if tools == "typed" else "stop")
    read = [c for a in trial.answers for c in a.calls if c["name"] == "read_file"]
    assert len(read) == (0 if tools == "none" else 3)


def _own_task(folder: Path, form: str, language: str, candidates: int, extra: str = "") -> Task:
    """A task as a user would write it: one table of candidates, or one file for each."""
    (folder / "inputs").mkdir(parents=True)
    rows = []
    for number in range(candidates):
        rows.append(f'{{ id = "x-{number}", file = "x{number}.md" }}')
        text = f"Entry {number} has {number * 7 % 11} rooms and was built in {1900 + number}.\n"
        (folder / "inputs" / f"x{number}.md").write_text(text * 3)
    (folder / "prompt.md").write_text("Rank the entries.\n")
    (folder / "task.toml").write_text(
        f'schema_version = 1\nname = "own"\nlanguage = "{language}"\nprompt = "prompt.md"\n'
        f"candidates = [{', '.join(rows)}]\n{extra}\n"
        f'[[deliverables]]\npath = "out.md"\nkind = "ranking"\nformat = "{form}"\n'
        '[[deliverables]]\npath = "note.md"\nkind = "form"\nfields = ["Winner", "Why"]\n'
    )
    return load_task(folder)


@pytest.mark.parametrize(
    ("form", "language", "candidates", "extra"),
    [
        ("json", "de", 2, ""),
        ("markdown-table", "en", 60, "points = { min = 0, max = 10 }"),
        ("numbered-list", "fr", 7, "points = { min = 1, max = 5 }"),
        ("json", "en", 30, 'criteria = [{ id = "size", title = "Size", max = 3 }]'),
        ("numbered-list", "de", 5, ""),
    ],
)
def test_tasks_of_a_users_own(
    form: str, language: str, candidates: int, extra: str, tmp_path: Path
) -> None:
    task = _own_task(tmp_path / "task", form, language, candidates, extra)
    with open_sim("steady") as url:
        trials = [run(url, "sim-steady", task, tmp_path / str(n), f"s/{n}/1") for n in (1, 2)]
    orders = [_checked(task, trial) for trial in trials]
    assert orders[0][0] == orders[1][0]
    assert sorted(orders[0]) == sorted(task.candidates)


_SCRIPT = """
import sys
from pathlib import Path
from evalstab.sim.open import open_sim
from evalstab.task.load import load_task
from evalstab.tools.toolbox import Toolbox
from evalstab.tools.workspace import Workspace
from tests.sim.agent_loop import run
task = load_task(Path(sys.argv[1]))
with open_sim(sys.argv[2]) as url:
    trial = run(url, "sim-" + sys.argv[2], task, Path(sys.argv[3]), "s/3/1")
sys.stdout.buffer.write(b"".join(answer.raw for answer in trial.answers))
"""


def _in_another_process(persona: str, root: Path, hash_seed: str) -> bytes:
    task = str(TASKS / "eleven-profiles")
    place = {"PYTHONHASHSEED": hash_seed, "LC_ALL": "C", "PYTHONPATH": str(TASKS.parent)}
    command = [sys.executable, "-c", _SCRIPT, task, persona, str(root)]
    done = subprocess.run(
        command, env=os.environ | place, capture_output=True, check=True, cwd=root.parent
    )
    return done.stdout


def test_the_same_trial_gives_the_same_bytes_anywhere(tmp_path: Path) -> None:
    one = _in_another_process("drifting", tmp_path / "a", "1")
    other = _in_another_process("drifting", tmp_path / "b", "77")
    assert one == other
    task = load_task(TASKS / "eleven-profiles")
    with open_sim("drifting") as url, ThreadPoolExecutor(4) as pool:
        trials = list(
            pool.map(
                lambda n: run(url, "sim-drifting", task, tmp_path / f"p{n}", f"s/{n}/1"),
                range(1, 5),
            )
        )
    assert b"".join(answer.raw for answer in trials[2].answers) == one


def test_without_a_header_conversations_are_told_apart_by_their_start(tmp_path: Path) -> None:
    task = load_task(TASKS / "three-notes")
    with open_sim("drifting", seed=2) as url:
        named = [run(url, "sim-drifting", task, tmp_path / f"n{n}", f"s/{n}/1") for n in (1, 2, 3)]
    with open_sim("drifting", seed=2) as url:
        plain = [run(url, "sim-drifting", task, tmp_path / f"p{n}", None) for n in (1, 2, 3)]
    written = [trial.files["ranking.json"] for trial in plain]
    assert written == [trial.files["ranking.json"] for trial in named]
    assert len(set(written)) == 3


def test_a_prompt_without_a_brief_gets_a_sensible_answer(tmp_path: Path) -> None:
    body = {
        "model": "sim-steady",
        "messages": [{"role": "user", "content": "Wie geht es dir und was ist das hier?"}],
    }
    with open_sim("steady", truth=tmp_path / "truth.json") as url:
        answer = json.loads(post(f"{url}/v1/chat/completions", body))
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert len(choice["message"]["content"].split()) > 8
    assert not (tmp_path / "truth.json").exists()


def test_earlier_talk_of_the_session_is_no_step_of_the_trial(tmp_path: Path) -> None:
    task = load_task(TASKS / "three-notes")
    earlier = [
        {"role": "user", "content": "What is in the cellar?"},
        {"role": "assistant", "content": "Four crates and a bicycle."},
    ]
    toolbox = Toolbox(task, Workspace.create(tmp_path / "w", task.inputs))
    body = body_for("sim-steady", task, [*earlier, *opening_messages(task)], toolbox)
    truth = tmp_path / "truth.json"
    with open_sim("steady", truth=truth) as url:
        plain = ask(url, body | {"messages": opening_messages(task)}, "s/2/1")
        later = ask(url, body, "s/2/1")
    assert later.calls == plain.calls
    assert later.reasoning == plain.reasoning
    assert [s["step"] for s in json.loads(truth.read_bytes())["trials"][0]["steps"]] == [1]
