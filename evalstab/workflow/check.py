"""``evalstab check``: can this model be tested as asked, and what would confound the answer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.identify import identify
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.preflight import preflight
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.errors import EndpointUnusable, UsageError
from evalstab.redact import redactor
from evalstab.series.files import write_json
from evalstab.settings import SIMULATED, EndpointSettings, endpoint_settings, read_config
from evalstab.task.load import find_task, load_task
from evalstab.task.model import Task
from evalstab.workflow.checking.calls import tool_rows
from evalstab.workflow.checking.case import Case, case_for, first_answer, problem_of
from evalstab.workflow.checking.confounders import confounder_rows, thinking_row
from evalstab.workflow.checking.model import Checked, CheckRequest, CheckRow
from evalstab.workflow.checking.parameters import parameter_rows, used_parameters
from evalstab.workflow.checking.replayed import SUBJECT as REPLAY
from evalstab.workflow.checking.replayed import replay_row
from evalstab.workflow.checking.rig import hardware_rows, launch_rows
from evalstab.workflow.checking.sizes import (
    context_rows,
    kv_arithmetic,
    natural_row,
    pool_row,
    slot_row,
)
from evalstab.workflow.expected import written_tokens
from evalstab.workflow.loop import on_a_loop
from evalstab.workflow.request import Announce, SimOpener
from evalstab.workflow.secrets import remember_secrets

SCHEMA_VERSION = 1
CHARACTERS_A_TOKEN = 3.6
UNUSABLE = "nothing else was looked at: mend this and check again"
SAVED = Path("reports") / "checks"


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is checked: the endpoint, and the task that it shall do."""

    name: str
    settings: EndpointSettings
    task: Task | None
    request: CheckRequest

    @property
    def simulated(self) -> bool:
        """Whether the endpoint is a built-in one."""
        return self.name.startswith(SIMULATED)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What asking the endpoint brought."""

    settings: EndpointSettings
    facts: ServerFacts
    rows: tuple[CheckRow, ...]


def check(request: CheckRequest, open_sim: SimOpener, announce: Announce) -> Checked:
    """Look at an endpoint and ask it a handful of small requests; ``announce`` hears which.

    A server that cannot be reached or used is a failed row, not an error; UsageError and
    ConfigError remain for what the user wrote.
    """
    name, settings = endpoint_settings(request.endpoint, request.flags, os.environ, read_config())
    if not name.startswith(SIMULATED) and not settings.base_url:
        raise UsageError(f"endpoint {name!r} has no base_url: add it to evalstab.toml")
    remember_secrets(settings)
    task = load_task(find_task(request.task)) if request.task else None
    with ExitStack() as stack:
        if name.startswith(SIMULATED):
            persona = name.removeprefix(SIMULATED)
            url = stack.enter_context(open_sim(persona, seed=None, truth=None, task_truth=None))
            simulated = {"base_url": f"{url}/v1", "trial_header": True}
            settings = settings.model_copy(update=simulated)
        subject = _Subject(name, settings, task, request)
        answers = on_a_loop(_asked(subject, announce))
        checked = _together(subject, answers)
    return _saved(checked) if request.save else checked


async def _asked(subject: _Subject, announce: Announce) -> _Answers:
    settings = subject.settings
    client = OpenAIChat(settings, os.environ.get(settings.api_key_env))
    try:
        try:
            ready = await preflight(client, settings)
        except EndpointUnusable as error:
            row = CheckRow("endpoint", "failed", str(error), UNUSABLE)
            return _Answers(settings, ServerFacts(), (row,))
        settings = ready.settings
        facts = await identify(client, settings)
        told = "; ".join([f"{settings.base_url} answers", *ready.notes])
        reached = CheckRow("endpoint", "warning" if ready.notes else "ok", told)
        rows = [reached, *_who(settings, facts)]
        case = case_for(client, settings)
        announce(f"asking {settings.model} one small case; a slow model takes minutes")
        rows += await _case_rows(case, subject, facts)
        if facts.context is None:
            facts = await identify(client, settings)
        return _Answers(settings, facts, tuple(rows))
    finally:
        await client.close()


def _who(settings: EndpointSettings, facts: ServerFacts) -> Iterator[CheckRow]:
    if facts.engine is None:
        yield CheckRow("server", "unknown", "its pages do not say which server this is")
    elif facts.version is None:
        told = f"{facts.server} ({facts.engine.source}), version not stated"
        yield CheckRow("server", "unknown", told)
    else:
        yield CheckRow("server", "ok", f"{facts.server} ({facts.version.source})")
    told = f"{settings.model}, as the server lists it"
    known = [f"quantisation {facts.value('quant')}"] if facts.quant else []
    known += [f"loaded from {facts.value('model')}"] if facts.model else []
    if facts.models:  # preflight has refused a model that is not among them
        yield CheckRow("model", "ok", "; ".join([told, *known]))
    else:
        yield CheckRow("model", "unknown", f"{settings.model}: the server lists no models")
    for note in facts.notes:
        yield CheckRow("server", "warning", note)


async def _case_rows(case: Case, subject: _Subject, facts: ServerFacts) -> list[CheckRow]:
    """Everything that takes requests: parameters, tools, both ways of answering, reasoning."""
    sent = dict(case.fields)
    first = await first_answer(case)
    if first.reply is None:
        told = f"one small case brought no answer ({problem_of(first.attempt)})"
        return [CheckRow("first answer", "failed", told, "look at the server's log")]
    tools = await tool_rows(case, first, facts)
    if subject.task is not None and subject.task.spec.tools == "none":
        tools = [_not_needed(row) for row in tools]
    used = await used_parameters(case.client, facts)
    rows = [*parameter_rows(sent, first, facts, used), *tools]
    if first.tools_refused:
        rows.append(CheckRow(REPLAY, "unknown", "not tried: it takes tool calls"))
    else:
        rows.append(await replay_row(case, first))
    if thinking := thinking_row(case.settings, first.reply):
        rows.append(thinking)
    return rows


def _not_needed(row: CheckRow) -> CheckRow:
    if row.status != "failed":
        return row
    return replace(row, status="warning", found=f"{row.found}; this task needs no tools")


def _together(subject: _Subject, answers: _Answers) -> Checked:
    request, facts, settings = subject.request, answers.facts, answers.settings
    rows = list(answers.rows)
    kv: Json | None = None
    reached = rows[0].status != "failed"
    if reached:
        if subject.task is not None and not request.contexts:
            rows.append(natural_row(facts, subject.task.name, _needed(subject.task)))
        else:
            rows += context_rows(facts, request.contexts)
        trials = max(request.levels)
        rows += [slot_row(facts, trials), pool_row(facts, request.contexts, trials)]
    if arithmetic := kv_arithmetic(request, facts):
        kv, row = arithmetic
        rows.append(row)
    limit = subject.task.spec.limits.max_tokens if subject.task else None
    if reached:
        rows += confounder_rows(settings, facts, limit)
    if reached and not subject.simulated:
        rows += launch_rows(settings, facts, request.on)
        rows += hardware_rows(settings, request.on)
    return Checked(
        endpoint=subject.name,
        base_url=None if subject.simulated else settings.base_url,
        model=settings.model,
        simulated=subject.simulated,
        rows=tuple(rows),
        facts=facts,
        kv=kv,
    )


def _needed(task: Task) -> int:
    """Tokens of a task at its natural size: what is read, and what is written."""
    read = len(task.prompt_text) + sum(len(data) for data in task.inputs.values())
    return round(read / CHARACTERS_A_TOKEN) + written_tokens(task)


def as_json(checked: Checked) -> Json:
    """The answer as plain data, secrets taken out."""
    found = {
        "schema_version": SCHEMA_VERSION,
        "endpoint": checked.endpoint,
        "base_url": checked.base_url,
        "model": checked.model,
        "simulated": checked.simulated,
        "status": checked.status,
        "rows": [row.as_json() for row in checked.rows],
        "facts": msgspec.to_builtins(checked.facts),
        "kv": checked.kv,
    }
    clean: Json = redactor().json(found)
    return clean


def _saved(checked: Checked) -> Checked:
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    name = checked.endpoint.replace(":", "-").replace("/", "-")
    place = SAVED / f"{stamp}-{name}.json"
    write_json(place, as_json(checked))
    return replace(checked, saved=place)
