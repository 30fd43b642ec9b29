"""Which tools a task offers, and how each describes itself to the model."""

from __future__ import annotations

from typing import Any

from evalstab.chat import Json, ToolSpec
from evalstab.task.brief import number
from evalstab.task.model import Task

PAGE_CHARACTERS = 100_000
"""Longest text that one ``read_file`` returns; longer files are read in pages."""

_PATH = {"type": "string", "description": "Path relative to the workspace, e.g. notes/a.md"}
_OFFSET = {"type": "integer", "minimum": 1, "description": "First line to read, from 1"}
_LIMIT = {"type": "integer", "minimum": 1, "description": "Number of lines to read"}


def _spec(name: str, description: str, required: Json, optional: Json | None = None) -> ToolSpec:
    parameters: Json = {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(
        name=name,
        description=description,
        parameters=parameters,
        terminal=name == "submit_ranking",
    )


_FREE = (
    _spec("list_files", "List all files of the workspace with their sizes.", {}),
    _spec(
        "read_file",
        "Read a text file, all of it or some of its lines.",
        {"path": _PATH},
        {"offset": _OFFSET, "limit": _LIMIT},
    ),
    _spec(
        "search_files",
        "Search all files line by line, ignoring case.",
        {"pattern": {"type": "string", "description": "A word or a regular expression"}},
    ),
    _spec(
        "write_file",
        "Write a text file, replacing what it held; folders are made as needed.",
        {"path": _PATH, "content": {"type": "string", "description": "The whole text"}},
    ),
    _spec(
        "edit_file",
        "Replace a passage that occurs exactly once in a text file.",
        {
            "path": _PATH,
            "old": {"type": "string", "description": "The passage, exactly as it stands"},
            "new": {"type": "string", "description": "What replaces it"},
        },
    ),
)


def offered_tools(task: Task) -> tuple[ToolSpec, ...]:
    """The tools of a task in a fixed order: those of its mode, as far as ``offer`` allows."""
    if task.spec.tools == "none":
        return ()
    tools = _FREE if task.spec.tools == "free" else _typed(task)
    allowed = task.spec.offer
    return tuple(tool for tool in tools if allowed is None or tool.name in allowed)


def _typed(task: Task) -> tuple[ToolSpec, ...]:
    tools = []
    if task.inputs:
        paths = {"type": "string", "enum": list(task.inputs)}
        page = {"offset": _OFFSET, "limit": _LIMIT}
        long = any(len(data) > PAGE_CHARACTERS for data in task.inputs.values())
        tools.append(_spec("read_file", "Read a file.", {"path": paths}, page if long else None))
    others = [d.path for d in task.spec.deliverables if d.kind != "ranking"]
    if others:
        written = {
            "path": {"type": "string", "enum": others},
            "content": {"type": "string", "description": "The whole text"},
        }
        tools.append(_spec("write_file", "Write a file, replacing what it held.", written))
    ranking = {"ranking": _ranking_schema(task)}
    about = "Submit the ranking, best first, every candidate once. This ends the task."
    tools.append(_spec("submit_ranking", about, ranking))
    return tuple(tools)


def _ranking_schema(task: Task) -> Json:
    entry: dict[str, Any] = {"candidate": {"type": "string", "enum": list(task.candidates)}}
    if task.spec.total_range is not None:
        entry["total"] = _points(*task.spec.total_range)
    if task.spec.criteria:
        entry["criteria"] = _object({c.id: _points(c.min, c.max) for c in task.spec.criteria})
    count = len(task.candidates)
    return {"type": "array", "items": _object(entry), "minItems": count, "maxItems": count}


def _points(low: float, high: float) -> Json:
    # The range is told, not enforced: points outside it are a finding of the trial, and a refusal
    # would coach the model through the very judgement that is measured.
    return {"type": "number", "description": f"{number(low)} to {number(high)}"}


def _object(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
