"""What every task says in the same words: its candidates, rubric and deliverables.

The brief is generated from ``task.toml``, so that no prompt file repeats it and prompt and judge
cannot drift apart. ``parse_brief`` is the way back, for whoever sees only the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from evalstab.task.brief_texts import BriefTexts, texts_for

if TYPE_CHECKING:
    from evalstab.chat import Json
    from evalstab.task.model import Deliverable, RankingFormat, Task, TaskFile

_EQUALS = re.compile(r"=+")


def opening_messages(task: Task) -> list[Json]:
    """The first messages of a trial: the system text, where there is one, and one user message.

    The user message is the prompt, without tools then all input files in reading order, and last
    the brief. The same task gives the same bytes.
    """
    parts = [task.prompt_text.strip("\n")]
    if task.spec.tools == "none" and task.inputs:
        parts.append(_inline(task.inputs, texts_for(task.spec.language)))
    parts.append(brief_text(task.spec))
    messages = [{"role": "user", "content": "\n\n".join(parts)}]
    if task.system_text is not None:
        messages.insert(0, {"role": "system", "content": task.system_text})
    return messages


def brief_text(spec: TaskFile) -> str:
    """The brief of a task in its language (German, else English), Markdown."""
    texts = texts_for(spec.language)
    sections = [texts.heading, texts.candidates, _candidates(spec)]
    if spec.criteria:
        criteria = "\n".join(
            f"- `{c.id}`: {c.title} ({_range(texts, c.min, c.max)})" for c in spec.criteria
        )
        sections += [texts.rubric, texts.rubric_rule, criteria]
    elif spec.points:
        scale = f"- {_range(texts, spec.points.min, spec.points.max)}"
        sections += [texts.scale, texts.scale_rule, scale]
    sections.append(texts.deliverables)
    if spec.tools == "free" or (spec.tools == "typed" and len(spec.asked) > 1):
        sections.append(texts.deliverables_rule)
    for deliverable in spec.asked:
        sections += _deliverable(spec, deliverable, texts)
    return "\n\n".join(sections) + "\n"


def number(value: float) -> str:
    """A number as people write it: no ``.0``."""
    return str(int(value)) if value == int(value) else repr(value)


def _candidates(spec: TaskFile) -> str:
    lines = []
    for candidate in spec.candidates:
        name = f": {candidate.name}" if candidate.name else ""
        file = f" (`{candidate.file}`)" if candidate.file else ""
        lines.append(f"- `{candidate.id}`{name}{file}")
    return "\n".join(lines)


def _range(texts: BriefTexts, low: float, high: float) -> str:
    return texts.points.format(low=number(low), high=number(high))


def form_words(texts: BriefTexts, deliverable: Deliverable) -> str:
    """What kind of document a deliverable is, in the words of its heading in the brief."""
    if deliverable.kind == "ranking":
        return texts.forms[deliverable.format or "json"]
    form = texts.forms[deliverable.kind]
    if deliverable.format is None:
        return form
    return texts.with_ranking.format(form=form, ranking=texts.forms[deliverable.format])


def _deliverable(spec: TaskFile, deliverable: Deliverable, texts: BriefTexts) -> Iterator[str]:
    yield f"### `{deliverable.path}`: {form_words(texts, deliverable)}"
    if deliverable.about:
        yield f"{texts.about} {' '.join(deliverable.about.split())}"
    if deliverable.kind == "ranking":
        if spec.tools == "typed":
            yield texts.submit
            return
        if spec.tools == "none":
            yield texts.answer
    if deliverable.headings:
        yield texts.headings
        yield "\n".join(f"- {heading}" for heading in deliverable.headings)
    if deliverable.fields:
        yield texts.fields
        yield "\n".join(f"- **{field}:** …" for field in deliverable.fields)
    if deliverable.min_words:
        yield texts.words.format(count=deliverable.min_words)
    if deliverable.format is not None:
        if deliverable.kind != "ranking":
            yield texts.exactly
        yield _skeleton(spec, deliverable.format, texts)
        yield texts.one_entry


def _skeleton(spec: TaskFile, form: RankingFormat, texts: BriefTexts) -> str:
    totals = spec.total_range is not None
    value = texts.value
    if form == "json":
        total = f', "total": {value}' if totals else ""
        points = ", ".join(f'"{criterion.id}": {value}' for criterion in spec.criteria)
        criteria = f', "criteria": {{{points}}}' if points else ""
        entry = f'{{"candidate": "<id>", "place": 1{total}{criteria}}}'
        return f'```json\n{{"ranking": [\n  {entry}\n]}}\n```'
    if form == "markdown-table":
        columns = texts.table if totals else texts.table[:2]
        row = ("1", "<id>", value)[: len(columns)]
        lines = [columns, ("---",) * len(columns), row]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"```\n1. <id>: {value}\n```" if totals else "```\n1. <id>\n```"


def _inline(inputs: Mapping[str, bytes], texts: BriefTexts) -> str:
    contents = {path: data.decode("utf-8-sig") for path, data in inputs.items()}
    longest = max(
        (len(run.group()) for text in contents.values() for run in _EQUALS.finditer(text)),
        default=0,
    )
    bar = "=" * max(5, longest + 1)
    return "\n\n".join(
        f"{bar} `{path}` {bar}\n{text}\n{bar} {texts.end_of} `{path}` {bar}"
        for path, text in contents.items()
    )
