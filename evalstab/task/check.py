"""Finds every mistake in a task at once and says how to mend each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalstab.errors import Mistake
from evalstab.task.draft import Draft, read_draft
from evalstab.task.folder import TaskFolder
from evalstab.task.model import ANSWER_FILE, Deliverable, Truth
from evalstab.task.paths import Refused, inside
from evalstab.task.truth import read_truth
from evalstab.text.expected import Expectation

TOOLS_OF = {
    "free": ("list_files", "read_file", "search_files", "write_file", "edit_file"),
    "typed": ("read_file", "write_file", "submit_ranking"),
    "none": (),
}
_INDISPENSABLE = {"free": ("write_file",), "typed": ("submit_ranking",), "none": ()}


@dataclass(slots=True)
class Examined:
    """A task folder as read: everything that loads, and everything that is wrong with it."""

    draft: Draft | None
    mistakes: list[Mistake]
    prompt: str | None = None
    system: str | None = None
    inputs: dict[str, bytes] = field(default_factory=dict)
    truth: Truth | None = None


def mistakes_in(folder: Path, overrides: Mapping[str, str] | None = None) -> list[Mistake]:
    """All mistakes of the task in ``folder``; none means that it can be loaded."""
    return examine(folder, overrides or {}).mistakes


def examine(root: Path, overrides: Mapping[str, str]) -> Examined:
    """Read a task folder and check all of it."""
    folder = TaskFolder(root)
    if not root.is_dir():
        folder.complain(str(root), "", "this is no folder", "Name the folder of a task")
        return Examined(None, folder.mistakes)
    draft = read_draft(folder, overrides)
    if draft is None:
        return Examined(None, folder.mistakes)
    examined = Examined(draft, folder.mistakes)
    for key in ("prompt", "system"):
        if (relative := draft.value(key)) is not None:
            setattr(examined, key, folder.text(relative, key))
    relative = draft.value("inputs")
    if relative is not None and ("inputs" in draft.raw or (root / relative).exists()):
        examined.inputs = folder.inputs(relative)
    if relative is not None and (examined.inputs or not draft.raw.get("inputs")):
        _check_candidate_files(folder, draft, examined.inputs)
    for check in (_check_names, _check_rubric, _check_language, _check_tools, _check_places):
        check(folder, draft)
    _check_deliverables(folder, draft, examined.inputs)
    if (relative := draft.value("truth")) is not None:
        examined.truth = read_truth(folder, draft, relative)
    return examined


def _check_names(folder: TaskFolder, draft: Draft) -> None:
    owners: dict[str, str] = {}
    for index, candidate in draft.candidates.items():
        for key, name in (("id", candidate.id), ("name", candidate.name)):
            owner = owners.setdefault(name.casefold(), candidate.id) if name else candidate.id
            if owner != candidate.id or (key == "id" and _repeated(draft, index)):
                folder.complain(
                    "task.toml",
                    f"candidates[{index + 1}].{key}",
                    f"{name!r} already stands for another candidate",
                    "Give each candidate an id and a name of its own",
                )
    seen: set[str] = set()
    for index, criterion in draft.criteria.items():
        for key, name in (("id", criterion.id), ("title", criterion.title)):
            if name.casefold() in seen:
                folder.complain(
                    "task.toml",
                    f"criteria[{index + 1}].{key}",
                    f"{name!r} already stands for another criterion",
                    "Give each criterion an id and a title of its own",
                )
        seen |= {criterion.id.casefold(), criterion.title.casefold()}


def _repeated(draft: Draft, index: int) -> bool:
    mine = draft.candidates[index].id.casefold()
    return any(other.id.casefold() == mine for at, other in draft.candidates.items() if at < index)


def _check_rubric(folder: TaskFolder, draft: Draft) -> None:
    ranges = {f"criteria[{index + 1}]": (c.min, c.max) for index, c in draft.criteria.items()}
    for index, raw in draft.broken("criteria"):
        ranges[f"criteria[{index + 1}]"] = (raw.get("min", 0), raw.get("max", 10))
    if points := draft.value("points"):
        ranges["points"] = (points.min, points.max)
    for key, (low, high) in ranges.items():
        if isinstance(low, int | float) and isinstance(high, int | float) and low >= high:
            folder.complain(
                "task.toml",
                f"{key}.max",
                f"the range from {low:g} to {high:g} is empty",
                "Make max larger than min",
            )
    if points and draft.criteria:
        folder.complain(
            "task.toml",
            "points",
            "a task with criteria has its totals from them",
            "Remove points, or the criteria",
        )


def _check_language(folder: TaskFolder, draft: Draft) -> None:
    language = draft.value("language")
    scripts = draft.value("allow_scripts")
    for key, tag, allowed in (
        ("language", language, ()),
        *(("allow_scripts", "en", (script,)) for script in scripts or ()),
    ):
        if tag is None:
            continue
        try:
            Expectation(tag, allowed)
        except ValueError as error:
            problem, _, mend = str(error).partition("; ")
            folder.complain(draft.place(key), key, problem, mend[:1].upper() + mend[1:])


def _check_tools(folder: TaskFolder, draft: Draft) -> None:
    mode, offer = draft.value("tools"), draft.value("offer")
    if mode is None or offer is None:
        return
    for name in offer:
        if name not in TOOLS_OF[mode]:
            known = ", ".join(TOOLS_OF[mode]) or "no tools at all"
            folder.complain(
                "task.toml",
                "offer",
                f"{name} is no tool of the mode {mode!r}",
                f"That mode has {known}",
            )
    for name in _INDISPENSABLE[mode]:
        if name not in offer:
            folder.complain(
                "task.toml", "offer", f"without {name} nothing can be delivered", f"Add {name}"
            )


def _check_places(folder: TaskFolder, draft: Draft) -> None:
    inputs, truth = draft.value("inputs"), draft.value("truth")
    if truth and inputs and f"{truth}/".startswith(f"{inputs.rstrip('/')}/"):
        folder.complain(
            "task.toml",
            "truth",
            f"{truth!r} lies among the inputs, where the agent reads it",
            f"Move it out of {inputs!r}",
        )


def _check_candidate_files(folder: TaskFolder, draft: Draft, inputs: Mapping[str, bytes]) -> None:
    wrong = {mistake.file for mistake in folder.mistakes}
    place = draft.value("inputs")
    for index, candidate in draft.candidates.items():
        if f"{place}/{candidate.file}" in wrong:
            continue
        if candidate.file is not None and candidate.file not in inputs:
            folder.complain(
                "task.toml",
                f"candidates[{index + 1}].file",
                f"there is no input file {candidate.file!r} for {candidate.id}",
                f"Put it into {place!r}, or correct the name",
            )


def _check_deliverables(folder: TaskFolder, draft: Draft, inputs: Mapping[str, bytes]) -> None:
    paths: dict[str, str] = {path.casefold(): "an input file" for path in inputs}
    if ANSWER_FILE in paths:
        mend = "Choose another name"
        folder.complain(ANSWER_FILE, "", "answers without tools are kept under this name", mend)
    paths[ANSWER_FILE] = "the place for answers without tools"
    for index, deliverable in draft.deliverables.items():
        key = f"deliverables[{index + 1}]"
        names = _written_plainly(folder, f"{key}.path", deliverable.path)
        if names is None:
            continue
        for level in range(1, len(names) + 1):
            taken = paths.get("/".join(names[:level]).casefold())
            if taken:
                problem = f"{deliverable.path!r} is already {taken}"
                folder.complain("task.toml", f"{key}.path", problem, "Choose another path")
        paths[deliverable.path.casefold()] = "a deliverable"
        _check_form(folder, key, deliverable, draft.value("tools"))
    for index, raw in draft.broken("deliverables"):
        if isinstance(path := raw.get("path"), str) and path:
            _written_plainly(folder, f"deliverables[{index + 1}].path", path)
    rankings = [d for d in draft.deliverables.values() if d.kind == "ranking"]
    if draft.spec is not None and len(rankings) != 1:
        folder.complain(
            "task.toml",
            "deliverables",
            f"{len(rankings)} of them are of kind 'ranking'",
            "Exactly one must be: it holds the ranking that is measured",
        )


def _written_plainly(folder: TaskFolder, key: str, path: str) -> tuple[str, ...] | None:
    """The names in a path, ``None`` (and a mistake) where it leaves the workspace."""
    try:
        names = inside(path, 8)
    except Refused as refusal:
        problem, _, mend = str(refusal).partition(". ")
        folder.complain("task.toml", key, problem, mend)
        return None
    if "/".join(names) != path:
        problem = f"{path!r} is not written plainly"
        folder.complain("task.toml", key, problem, f"Write {'/'.join(names)!r}")
    return names


def _check_form(folder: TaskFolder, key: str, deliverable: Deliverable, tools: str | None) -> None:
    form = deliverable.format
    if tools == "typed" and deliverable.kind == "ranking" and form not in {None, "json"}:
        problem = "submit_ranking writes JSON, so tools = 'typed' needs that format"
        folder.complain("task.toml", f"{key}.format", problem, "Write format = 'json'")
    if deliverable.kind == "ranking" and form is None:
        mend = "Add format = 'json', 'markdown-table' or 'numbered-list'"
        folder.complain("task.toml", f"{key}.format", "a ranking needs a format", mend)
    if deliverable.kind == "form" and not deliverable.fields:
        folder.complain("task.toml", f"{key}.fields", "a form needs fields", "List them")
    for name, kind in (("headings", "markdown"), ("min_words", "markdown"), ("fields", "form")):
        if getattr(deliverable, name) and deliverable.kind != kind:
            problem = f"{name} are for deliverables of kind {kind!r}"
            folder.complain("task.toml", f"{key}.{name}", problem, "Remove them")
    for name in ("headings", "fields"):
        texts = [text.casefold() for text in getattr(deliverable, name)]
        if len(set(texts)) < len(texts):
            folder.complain("task.toml", f"{key}.{name}", "one stands twice", "Remove one")
        if any(text.startswith("#") or text.endswith(":") for text in texts):
            mend = "Write the bare text"
            folder.complain("task.toml", f"{key}.{name}", "no '#' before, no ':' after it", mend)
