"""The texts that stand beside the documents: prompt, background, rubric, and the task file."""

from __future__ import annotations

import json
from dataclasses import dataclass

from evalstab.task.generate.cast import Cast, Subject
from evalstab.task.generate.lexicon import Lexicon, Measured
from evalstab.task.generate.request import GenerateRequest
from evalstab.task.generate.statements import shown
from evalstab.task.model import Candidate, Criterion, Deliverable, Limits, TaskFile

TRUTH_FILE = "truth.json"
PROMPT_FILE = "prompt.md"


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything of a task but its documents: the task file and the common texts by input path."""

    spec: TaskFile
    prompt: str
    inputs: dict[str, str]


def frame(request: GenerateRequest, lexicon: Lexicon, subjects: list[Subject], cast: Cast) -> Frame:
    """The frame of a task about these subjects, in reading order."""
    texts = lexicon.texts
    background = texts["background"].strip("\n") + "\n"
    background = background.replace("{firm}", cast.firms(1)[0])
    background = background.replace("{place}", cast.places(1)[0])
    return Frame(
        spec=_spec(request, lexicon, subjects),
        prompt=texts["prompt"].strip("\n").replace("{n}", str(request.candidates)) + "\n",
        inputs={texts["background_file"]: background, texts["rubric_file"]: rubric(lexicon)},
    )


def rubric(lexicon: Lexicon) -> str:
    """The rubric as the agent reads it: ground rules, then every criterion with its anchors."""
    most = sum(m.points[-1] for m in lexicon.measured)
    head = lexicon.texts["rubric"].strip("\n").format(k=len(lexicon.measured), max=most)
    return "\n\n".join([head, *(_criterion(lexicon, m) for m in lexicon.measured)]) + "\n"


def _criterion(lexicon: Lexicon, measured: Measured) -> str:
    wording, texts = lexicon.wording[measured.id], lexicon.texts
    anchors = []
    for level in range(5, 0, -1):
        if measured.bands:
            low, high = measured.bands[level]
            value = (high if wording.fewer else low) * measured.scale
            form = texts["anchor_fewer" if wording.fewer else "anchor_more"]
        else:
            value, form = float(level), texts["anchor_word"]
        bound = shown(lexicon, measured, value, unit=False)
        anchors.append(form.format(points=measured.points[level], bound=bound))
    return texts["criterion"].format(
        id=measured.id, title=wording.title, about=wording.about, anchors=" · ".join(anchors)
    )


def _spec(request: GenerateRequest, lexicon: Lexicon, subjects: list[Subject]) -> TaskFile:
    texts = lexicon.texts
    parts = (request.domain, request.language, f"{request.candidates}x", request.difficulty)
    return TaskFile(
        schema_version=1,
        name=f"{'-'.join(parts)}-{request.context}-{request.seed}",
        title=texts["title"].replace("{n}", str(request.candidates)),
        language=request.language,
        prompt=PROMPT_FILE,
        truth=TRUTH_FILE,
        candidates=tuple(
            Candidate(id=name, name=subject.name, file=f"{texts['folder']}/{name}.md")
            for name, subject in zip(ids(lexicon, len(subjects)), subjects, strict=True)
        ),
        criteria=tuple(
            Criterion(id=m.id, title=lexicon.wording[m.id].title, max=m.points[-1])
            for m in lexicon.measured
        ),
        deliverables=_deliverables(request, lexicon),
        limits=Limits(max_steps=max(60, 3 * request.candidates + 30)),
    )


def ids(lexicon: Lexicon, many: int) -> list[str]:
    """Candidate ids in reading order."""
    return [f"{lexicon.texts['prefix']}_{number:02d}" for number in range(1, many + 1)]


def _deliverables(request: GenerateRequest, lexicon: Lexicon) -> tuple[Deliverable, ...]:
    texts, lists = lexicon.texts, lexicon.lists
    ranking = Deliverable(
        path="ranking.json", kind="ranking", format="json", about=texts["ranking_about"]
    )
    report = Deliverable(
        path=texts["report_file"],
        kind="markdown",
        format="markdown-table",
        about=texts["report_about"],
        headings=lists["report_headings"],
        min_words=120,
    )
    form = Deliverable(
        path=texts["form_file"], kind="form", about=texts["form_about"], fields=lists["form_fields"]
    )
    return (ranking, report, form) if request.form else (ranking, report)


def task_toml(spec: TaskFile, request: GenerateRequest) -> str:
    """``task.toml`` of a generated task."""
    size = f"{request.context} tokens, difficulty {request.difficulty}, seed {request.seed}"
    lines = [f"# Made by: evalstab task make ranking ({size})", "schema_version = 1"]
    for key in ("name", "title", "language", "tools", "prompt", "inputs", "truth"):
        lines.append(f"{key} = {_quoted(getattr(spec, key))}")
    lines += ["", "candidates = ["]
    for c in spec.candidates:
        parts = [f"{key} = {_quoted(getattr(c, key))}" for key in ("id", "name", "file")]
        lines.append(f"  {{ {', '.join(parts)} }},")
    lines += ["]", "", "criteria = ["]
    for k in spec.criteria:
        lines.append(f"  {{ id = {_quoted(k.id)}, title = {_quoted(k.title)}, max = {k.max:g} }},")
    lines += ["]", "", "[limits]", f"max_steps = {spec.limits.max_steps}"]
    for deliverable in spec.deliverables:
        lines += ["", "[[deliverables]]"]
        for key, value in deliverable.model_dump(mode="json", exclude_defaults=True).items():
            lines.append(f"{key} = {_quoted(value)}")
    return "\n".join(lines) + "\n"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
