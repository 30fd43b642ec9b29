"""Where the facts of a generated task stand: beside the truth, never among the inputs."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from evalstab.errors import Mistake, TaskError
from evalstab.task.generate.lexicon import Origin
from evalstab.task.generate.plan import Role

FACTS_FILE = "facts.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Made(_Part):
    """How a task was made. ``reached_tokens`` is its size in tokens, counted or estimated."""

    version: int
    kind: Literal["ranking"]
    candidates: int
    context: int
    language: str
    domain: str
    difficulty: str
    seed: int
    reached_tokens: int
    tokens_source: Literal["tokenizer", "estimate"]


class Fact(_Part):
    """One statement in a document.

    ``role``: it counts, is overruled by another one, is no evidence by the rules (aside), or is
    irrelevant (decoy). ``start`` and ``end`` are code points in ``file``; ``depth`` is the share
    of the whole input (opening message, then the files in reading order) before it, 0 to 1.
    ``value`` is as written; ``points`` is what that value would be worth.
    """

    candidate: str
    criterion: str | None
    role: Role
    origin: Origin
    date: date
    file: str
    start: int
    end: int
    depth: float
    value: str | None
    points: int | None


class FactSheet(_Part):
    """All facts of a task, in reading order, and how it was made."""

    schema_version: Literal[1] = 1
    made: Made
    facts: tuple[Fact, ...]


def read_facts(folder: Path) -> FactSheet | None:
    """The fact sheet of a task folder, ``None`` for tasks without one. Raises TaskError."""
    path = folder / FACTS_FILE
    if not path.is_file():
        return None
    try:
        return FactSheet.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        problem = f"cannot be read: {str(error).splitlines()[0]}"
        raise TaskError([Mistake(FACTS_FILE, "", problem, "Make the task again")]) from error
