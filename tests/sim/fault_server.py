"""Servers whose every answer is faulty, and what their truth files say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalstab.sim.open import running
from evalstab.task.brief import opening_messages
from evalstab.task.load import load_task
from evalstab.task.model import Task
from evalstab.tools.toolbox import offered_tools
from tests.sim.agent_loop import Heard, Json, hear, post

TASKS = Path(__file__).parents[2] / "tasks"


@contextmanager
def faulty_server(folder: Path, kinds: str, *options: str, extra: str = "") -> Iterator[str]:
    """A server whose every answer has these faults, where there is a place for them."""
    persona = folder / "own.toml"
    faults = "".join(
        f'[[faults]]\nkind = "{kind}"\nrate = [[0, 1]]\n{extra}\n' for kind in kinds.split()
    )
    persona.write_text(f'about = "for a test"\n{faults}')
    truth = str(folder / "truth.json")
    with running(["--persona", str(persona), "--truth", truth, *options]) as url:
        yield url


def injections(folder: Path) -> list[Json]:
    told = json.loads((folder / "truth.json").read_bytes())
    return [injection for trial in told["trials"] for injection in trial["injections"]]


def notes(tools: str = "free") -> Task:
    return load_task(TASKS / "three-notes", {"task.tools": tools})


def body_of(task: Task, **fields: Any) -> Json:
    body: Json = {"model": "sim-own", "messages": opening_messages(task), "stream": True}
    if offered := offered_tools(task):
        body["tools"] = [tool.as_openai() for tool in offered]
    return body | fields


def first_answer(url: str, task: Task, **fields: Any) -> Heard:
    return hear(post(f"{url}/v1/chat/completions", body_of(task, **fields)))
