"""Broken calls: cut, malformed, leaked, missing, misnamed, repeated."""

from __future__ import annotations

from dataclasses import replace

from evalstab.chat import Json
from evalstab.sim.conversation import Conversation, Done
from evalstab.sim.dice import Dice
from evalstab.sim.faults.draft import Draft
from evalstab.sim.faults.markup import FAMILIES
from evalstab.sim.turn import Call

_TIMES = 4
_FAULTY_TIMES = 3
_CALL = frozenset({"call", "file"})


def cut(draft: Draft, dice: Dice) -> bool:
    """The last call's arguments stop before their end."""
    if not _free(draft, with_arguments=True):
        return False
    *whole, last = draft.turn.calls
    at = max(1, round(len(last.text) * dice.between(0.25, 0.9)))
    draft.set_calls((*whole, replace(last, raw=last.text[:at])))
    draft.enter("tool.truncated", "cut", "arguments", detail={"tool": last.name})
    return True


def malformed(draft: Draft, dice: Dice) -> bool:
    """The last call's arguments are complete, but no JSON object."""
    if not _free(draft, with_arguments=True):
        return False
    *whole, last = draft.turn.calls
    key = next(iter(last.arguments))
    raw = dice.pick(
        [
            last.text.replace(f'"{key}": ', f"{key}: ", 1),
            last.text.replace('": "', '" "', 1),
            f"{last.text[:-1]}, }}}}",
        ]
    )
    draft.set_calls((*whole, replace(last, raw=raw)))
    draft.enter("tool.malformed_arguments", "malformed", "arguments", detail={"tool": last.name})
    return True


def lost(draft: Draft, _: Dice) -> bool:
    """The last call's arguments are lost and come as an empty object."""
    if not _free(draft, with_arguments=True):
        return False
    *whole, last = draft.turn.calls
    draft.set_calls((*whole, replace(last, raw="{}")))
    draft.enter("tool.malformed_arguments", "lost", "arguments", detail={"tool": last.name})
    return True


def leaked(draft: Draft, dice: Dice) -> bool:
    """The first call arrives as markup in the content, and no call arrives as a call."""
    if not _free(draft, with_arguments=True) or "content" in draft.taken:
        return False
    _leak(draft, dice, "content", "tool.leaked_markup")
    return True


def in_reasoning(draft: Draft, dice: Dice) -> bool:
    """The first call arrives as markup at the end of the reasoning and nowhere else."""
    if not _free(draft, with_arguments=True) or not draft.turn.reasoning:
        return False
    if "reasoning" in draft.taken:
        return False
    _leak(draft, dice, "reasoning", "tool.in_reasoning")
    return True


def _leak(draft: Draft, dice: Dice, channel: str, code: str) -> None:
    family = dice.pick(sorted(FAMILIES))
    call = draft.turn.calls[0]
    markup = FAMILIES[family](call)
    before = draft.text(channel)
    before = f"{before}\n" if before else ""
    draft.set_text(channel, before + markup)
    draft.set_calls(())
    draft.finish = "stop"
    draft.taken.add(channel)
    place = (len(before), len(before) + len(markup))
    draft.enter(code, family, channel, place, {"tool": call.name, "family": family})


def missing(draft: Draft, _: Dice) -> bool:
    """The finish reason announces calls, and none arrives."""
    if not _free(draft, with_arguments=False):
        return False
    draft.set_calls(())
    draft.finish = "tool_calls"
    draft.enter("tool.missing_call", "missing", "transport")
    return True


def unknown_name(draft: Draft, _: Dice) -> bool:
    """The first call names a tool that was not offered."""
    if not _free(draft, with_arguments=False):
        return False
    first, *others = draft.turn.calls
    name = "toolbox.web.answer"
    draft.set_calls((replace(first, name=name), *others))
    draft.enter("tool.unknown_name", "unknown-name", "arguments", detail={"name": name})
    return True


def polluted_name(draft: Draft, _: Dice) -> bool:
    """A control token sticks to the first call's name."""
    if not _free(draft, with_arguments=False):
        return False
    first, *others = draft.turn.calls
    name = f"{first.name}<|channel|>commentary"
    draft.set_calls((replace(first, name=name), *others))
    draft.enter("tool.polluted_name", "polluted-name", "arguments", detail={"name": name})
    return True


def _free(draft: Draft, *, with_arguments: bool) -> bool:
    calls = draft.turn.calls
    if draft.taken & _CALL or not calls:
        return False
    if with_arguments and not (calls[0].arguments and calls[-1].arguments):
        return False
    # A fault in the text of a written file would be lost with the call that writes it.
    draft.taken |= _CALL
    return True


def repeating(conversation: Conversation) -> tuple[int, Call] | None:
    """The call that the last steps made alone and equally, and how many times."""
    times = 0
    last: Call | None = None
    for step in reversed(conversation.steps):
        if len(step) != 1 or (last and (last.name, last.arguments) != _made(step[0])):
            break
        last = Call(step[0].name, step[0].arguments)
        times += 1
    return (times, last) if last else None


def _made(call: Done) -> tuple[str, Json]:
    return call.name, call.arguments


def single(draft: Draft) -> bool:
    """Make only the first call: the one that is going to be repeated."""
    if not _free(draft, with_arguments=False):
        return False
    draft.set_calls(draft.turn.calls[:1])
    return True


def again(draft: Draft, call: Call, times: int) -> bool:
    """Make a call once more that was made ``times`` times in a row; the third is a fault."""
    if times >= _TIMES or draft.taken & _CALL:
        return False
    draft.set_calls((call,))
    draft.taken |= _CALL
    if times + 1 == _FAULTY_TIMES:
        draft.enter("tool.repeated", "repeated", "arguments", detail={"tool": call.name})
        first = draft.step - times
        draft.injections[-1] = replace(draft.injections[-1], step=first, last_step=first + _TIMES)
    return True
