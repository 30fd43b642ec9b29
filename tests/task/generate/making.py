"""Requests for the tests of this folder, with small defaults."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from evalstab.task.generate.make import make_task
from evalstab.task.generate.request import DOMAINS, LANGUAGES, GenerateRequest

KINDS = tuple(product(DOMAINS, LANGUAGES))


def request(out: Path, **changes: Any) -> GenerateRequest:
    """A small request: five applicants in German, 12,000 tokens, medium, seed 1."""
    given: dict[str, Any] = {
        "candidates": 5,
        "context": 12_000,
        "language": "de",
        "domain": "applicants",
        "difficulty": "medium",
        "seed": 1,
        "out": out,
    }
    return GenerateRequest(**{**given, **changes})


def made(out: Path, **changes: Any) -> Path:
    """The folder of a task made from such a request."""
    return make_task(request(out, **changes))


def inputs(folder: Path) -> dict[str, str]:
    """The input files of a task by their path below the inputs, as they are on disk."""
    top = folder / "inputs"
    files = sorted(path for path in top.rglob("*") if path.is_file())
    return {path.relative_to(top).as_posix(): path.read_bytes().decode() for path in files}
