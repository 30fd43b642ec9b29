"""Does reasoning that is sent back between tool steps reach the model: its prompt must grow."""

from __future__ import annotations

from typing import cast

from evalstab.chat import Json, ToolCall
from evalstab.endpoint.base import Reply
from evalstab.endpoint.replay import Form, assistant_message
from evalstab.workflow.checking.case import Case, First, answered, streamed
from evalstab.workflow.checking.model import CheckRow

SUBJECT = "reasoning sent back"
FORMS: tuple[Form, ...] = ("reasoning", "reasoning_content")
THOUGHT = (
    "The notes lie in one folder, so the folder must be listed before a single note is opened. "
    "Each note then gets its own look: what it offers, what it costs, and how many readers it "
    "would help. The numbers must not be mixed up between the notes. "
) * 8
LEAST_GROWTH = len(THOUGHT) // 16
"""Tokens by which a prompt grows at least where this thought is read, at 8 characters a token."""

_CALL = ToolCall(id="call_check0001", name="list_files", arguments="{}")


async def replay_row(case: Case, first: First) -> CheckRow:
    """The same history with and without reasoning: which forms does the server read."""
    came = first.reply.reasoning_field if first.reply else None
    wanted = case.settings.replay_reasoning
    forms = list(FORMS)
    if (special := came if wanted == "auto" else wanted) not in (None, "none", *forms):
        forms.append(cast(Form, special))
    base = await _prompt_tokens(case, "none")
    sizes = {form: await _prompt_tokens(case, form) for form in forms}
    if base is None or all(size is None for size in sizes.values()):
        told = "the server states no prompt tokens, or refuses such a history"
        return CheckRow(SUBJECT, "unknown", told, "watch for the finding reasoning.not_replayed")
    arrives = [form for form, n in sizes.items() if n is not None and n - base >= LEAST_GROWTH]
    return _judged(wanted, came, arrives)


async def _prompt_tokens(case: Case, form: Form) -> int | None:
    call = _CALL
    reply = Reply(reasoning=THOUGHT, tool_calls=(call,))
    messages: tuple[Json, ...] = (
        *case.messages,
        assistant_message(reply, form),
        {"role": "tool", "tool_call_id": call.id, "content": "notes/note_a.md\nnotes/note_b.md"},
    )
    fields = streamed(case.fields, stream=False) | {"max_tokens": 1}
    fields.pop("tool_choice", None)
    attempt = await case.ask(fields, messages)
    usage = attempt.reply.usage if answered(attempt) and attempt.reply else None
    return usage.prompt_tokens if usage else None


def _judged(wanted: str, came: str | None, arrives: list[Form]) -> CheckRow:
    reads = f"the server reads it as {' or '.join(arrives)}" if arrives else "it reads none of it"
    if wanted == "none":
        told = f"nothing is sent back, as replay_reasoning says; {reads}"
        return CheckRow(SUBJECT, "warning", told, "models that think between calls need it")
    form = came if wanted == "auto" else wanted
    if form in arrives:
        return CheckRow(SUBJECT, "ok", f"sent back as {form}, and it arrives")
    if form is None and arrives:
        told = f"the model did not think in this case; {reads}"
        return CheckRow(SUBJECT, "unknown", told)
    if arrives:
        told = f"sent back as {form}, which is dropped; {reads}"
        return CheckRow(SUBJECT, "warning", told, f'set replay_reasoning = "{arrives[0]}"')
    told = f"sent back as {form}, and the prompt does not grow" if form else reads
    advice = 'the template drops it, or try replay_reasoning = "inline"'
    return CheckRow(SUBJECT, "warning" if form else "unknown", told, advice)
