"""The task of sessions of which nobody said what they were to rank."""

from __future__ import annotations

from pathlib import Path

from evalstab.task.model import Deliverable, Task, TaskFile

UNASKED = "unknown"
NO_TASK = "no task was named: nothing says what was to be ranked"


class _Unasked(TaskFile):
    """Asks for nothing."""

    @property
    def asked(self) -> tuple[Deliverable, ...]:
        return ()


def unasked_task(language: str) -> Task:
    """A task that asks for no files and knows no candidates; all that needs none can be measured.

    ``language`` is the one that was to be written.
    """
    spec = _Unasked.model_construct(
        schema_version=1,
        name=UNASKED,
        language=language,
        prompt="prompt.md",
        candidates=(),
        deliverables=(Deliverable(path="ranking", kind="ranking"),),
    )
    return Task(
        spec=spec,
        folder=Path(),
        system_text=None,
        prompt_text="",
        inputs={},
        truth=None,
        digest="",
    )
