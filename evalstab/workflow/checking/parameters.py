"""Which of the sampling parameters that are sent act, are ignored, or are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from evalstab.chat import Json
from evalstab.endpoint.known_parameters import echoed, known_ignored, same_value, sampling_of
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.endpoint.server_pages import Limits, Pages
from evalstab.workflow.checking.case import MARK, First
from evalstab.workflow.checking.model import CheckRow

WITH_SLOTS = frozenset({"llama.cpp", "ik_llama.cpp"})


async def used_parameters(client: OpenAIChat, facts: ServerFacts) -> Json | None:
    """What the server itself says that it used for the case; ``None`` where it says nothing."""
    if facts.value("engine") not in WITH_SLOTS:
        return None
    return echoed(await Pages(client, Limits()).json("slots"), MARK)


def parameter_rows(
    sent: Json, first: First, facts: ServerFacts, used: Json | None
) -> Iterator[CheckRow]:
    """A row for each parameter of which something is known, and one for all the others."""
    sampling = sampling_of(sent)
    if not sampling:
        yield CheckRow("parameters", "ok", "no sampling parameters are sent")
        return
    silent: list[str] = []
    for name, value in sampling.items():
        row = _row(name, value, first, (facts, used))
        if row is None:
            silent.append(_shown(name, value))
        else:
            yield row
    if silent:
        told = f"{', '.join(silent)}: accepted; the server does not show whether it uses them"
        yield CheckRow("parameters", "unknown", told)


def _row(
    name: str, value: Any, first: First, known: tuple[ServerFacts, Json | None]
) -> CheckRow | None:
    facts, used = known
    subject, shown = f"parameter {name}", _shown(name, value)
    if told := first.refused.get(name):
        return CheckRow(subject, "failed", f"{shown} is refused ({told})", f"do not send {name}")
    if used is not None and name in used:
        if same_value(value, used[name]):
            return CheckRow(subject, "ok", f"{shown} is used (seen in /slots)")
        told = f"{shown} was sent, {json.dumps(used[name])[:60]} is used (seen in /slots)"
        return CheckRow(subject, "warning", told, "look at how the server was started")
    if why := known_ignored(facts, name):
        told = f"{shown}: known to be ignored by this server ({why})"
        return CheckRow(subject, "warning", told, f"it changes nothing: do not send {name}")
    return None


def _shown(name: str, value: Any) -> str:
    return f"{name} = {json.dumps(value, ensure_ascii=True)[:60]}"
