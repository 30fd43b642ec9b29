"""Makes a ranking task folder from a request."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from evalstab.errors import Mistake, TaskError
from evalstab.task.check import mistakes_in
from evalstab.task.generate.build import VERSION, Built, build
from evalstab.task.generate.facts import FACTS_FILE, FactSheet, Made
from evalstab.task.generate.request import GenerateRequest, refuse_nonsense
from evalstab.task.generate.texts import PROMPT_FILE, TRUTH_FILE, task_toml


def make_task(request: GenerateRequest) -> Path:
    """Make a ranking task and return its folder.

    The folder holds a task that loads without mistakes, ``truth.json`` and ``facts.json``. Truth
    and facts depend on language-independent draws of the seed, so that the same seed asks the
    same question at every size. Raises UsageError for a request that cannot be met (also where
    the facts alone are larger than ``context``), TaskError where ``out`` holds something.
    """
    refuse_nonsense(request)
    out = request.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        mend = "Name a new or empty folder"
        raise TaskError([Mistake(str(out), "", "something is there already", mend)])
    built = build(request)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".make-task-") as place:
        draft = Path(place, "task")
        for path, text in _files(request, built):
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            (draft / path).write_bytes(text.encode("utf-8"))
        if mistakes := mistakes_in(draft):
            raise TaskError(mistakes)
        draft.rename(out)
    return out


def _files(request: GenerateRequest, built: Built) -> Iterator[tuple[str, str]]:
    spec = built.frame.spec
    yield "task.toml", task_toml(spec, request)
    yield PROMPT_FILE, built.frame.prompt
    for path, text in {**built.frame.inputs, **built.documents}.items():
        yield f"{spec.inputs}/{path}", text
    yield TRUTH_FILE, _json(built.truth.model_dump(mode="json"))
    yield FACTS_FILE, _json(_sheet(request, built).model_dump(mode="json"))


def _sheet(request: GenerateRequest, built: Built) -> FactSheet:
    made = Made(
        version=VERSION,
        kind="ranking",
        candidates=request.candidates,
        context=request.context,
        language=request.language,
        domain=request.domain,
        difficulty=request.difficulty,
        seed=request.seed,
        reached_tokens=built.tokens,
        tokens_source="tokenizer" if request.count_tokens else "estimate",
    )
    return FactSheet(made=made, facts=built.facts)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
