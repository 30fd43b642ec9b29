"""The shape of a task: what ``task.toml`` may say, and a task loaded into memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

ToolMode = Literal["free", "typed", "none"]
RankingFormat = Literal["json", "markdown-table", "numbered-list"]
ToolName = Literal[
    "list_files", "read_file", "search_files", "write_file", "edit_file", "submit_ranking"
]
MOST_CANDIDATES = 200
ANSWER_FILE = "answer.md"
"""Where the answer of a task without tools is kept in the workspace."""

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$", max_length=80)]
RelativePath = Annotated[str, Field(min_length=1, max_length=200)]
Line = Annotated[
    str, Field(max_length=200, pattern=r"^[^\s`]([^\x00-\x1f\x7f\x85\u2028\u2029`]*[^\s`])?$")
]
Number = Annotated[float, Field(ge=-1e6, le=1e6)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Candidate(_Part):
    """One thing to be ranked; ``file`` is the input file about it, relative to the inputs."""

    id: Identifier
    name: Line | None = None
    file: RelativePath | None = None


class Criterion(_Part):
    """One line of the rubric: points from ``min`` to ``max``, both inclusive."""

    id: Identifier
    title: Line
    max: Number = 10
    min: Number = 0


class Points(_Part):
    """The range of the totals in a task without a rubric, both ends inclusive; more is better."""

    min: Number = 0
    max: Number


class Deliverable(_Part):
    """One file that the model must write.

    ``ranking``: the declared ranking, in ``format``. ``markdown``: a text with ``headings`` and at
    least ``min_words``. ``form``: a document with every field of ``fields`` filled
    (``**Field:** value`` or ``Field: value``). A markdown or form deliverable that states a ranking
    of its own says in which ``format``, and is then compared with the declared one.
    """

    path: RelativePath
    kind: Literal["ranking", "markdown", "form"]
    format: RankingFormat | None = None
    about: str = Field(default="", max_length=2000)
    headings: tuple[Line, ...] = Field(default=(), max_length=50)
    fields: tuple[Line, ...] = Field(default=(), max_length=100)
    min_words: int = Field(default=0, ge=0, le=100_000)


class Limits(_Part):
    """Ends of a trial: steps, seconds, and tokens a response (not set: the server's own limit)."""

    max_steps: int = Field(default=60, ge=1, le=10_000)
    max_seconds: float = Field(default=14_400, gt=0)
    max_tokens: int | None = Field(default=None, ge=1)


class TaskFile(_Part):
    """Everything that ``task.toml`` may say; unknown keys are mistakes.

    ``inputs`` is a folder; where it is not set, ``inputs/`` is taken if it is there. ``offer``
    restricts the tools of the mode ``tools`` (not set: all of them). Totals are asked for where
    there is a rubric (``criteria``) or a range of ``points``.
    """

    schema_version: Literal[1]
    name: Identifier
    title: str = Field(default="", max_length=200)
    language: str
    allow_scripts: tuple[str, ...] = ()
    tools: ToolMode = "free"
    offer: tuple[ToolName, ...] | None = None
    system: RelativePath | None = None
    prompt: RelativePath
    inputs: RelativePath = "inputs"
    truth: RelativePath | None = None
    candidates: tuple[Candidate, ...] = Field(min_length=2, max_length=MOST_CANDIDATES)
    criteria: tuple[Criterion, ...] = Field(default=(), max_length=100)
    points: Points | None = None
    deliverables: tuple[Deliverable, ...] = Field(min_length=1, max_length=50)
    limits: Limits = Limits()

    @property
    def asked(self) -> tuple[Deliverable, ...]:
        """What the agent must deliver: without tools only the ranking, as its answer."""
        if self.tools == "none":
            return tuple(d for d in self.deliverables if d.kind == "ranking")
        return self.deliverables

    @property
    def total_range(self) -> tuple[float, float] | None:
        """Lowest and highest possible total, ``None`` where no totals are asked for."""
        if self.criteria:
            return sum(c.min for c in self.criteria), sum(c.max for c in self.criteria)
        return (self.points.min, self.points.max) if self.points else None


class Truth(_Part):
    """The known truth of a task, never shown to the agent: totals, best first order, points."""

    order: tuple[tuple[str, ...], ...]
    totals: dict[str, float]
    criteria: dict[str, dict[str, float]] | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A task loaded and found valid.

    ``inputs`` maps workspace paths (posix, relative) to bytes in reading order. ``digest`` covers
    everything that the agent sees and everything that judges it; the folder's place does not
    matter.
    """

    spec: TaskFile
    folder: Path
    system_text: str | None
    prompt_text: str
    inputs: dict[str, bytes]
    truth: Truth | None
    digest: str

    @property
    def name(self) -> str:
        """The task's name."""
        return self.spec.name

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidate ids in reading order."""
        return tuple(candidate.id for candidate in self.spec.candidates)

    @property
    def ranking(self) -> Deliverable:
        """The deliverable that declares the ranking."""
        return next(d for d in self.spec.deliverables if d.kind == "ranking")
