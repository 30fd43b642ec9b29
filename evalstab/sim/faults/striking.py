"""Decides which of a persona's faults strike an answer, and lets them."""

from __future__ import annotations

from evalstab.errors import ConfigError
from evalstab.sim.conversation import Conversation
from evalstab.sim.faults import calls, loops, texts
from evalstab.sim.faults.draft import Draft, Moment, Spoiler
from evalstab.sim.faults.transport import on_the_way
from evalstab.sim.mind import Mind
from evalstab.sim.pace import linear
from evalstab.sim.persona import Fault, Persona
from evalstab.sim.turn import Turn

SPOILERS: dict[str, Spoiler] = {
    "foreign-script": texts.spans("text.foreign_script"),
    "foreign-script-sentence": texts.foreign_script_sentence,
    "mixed-script-word": texts.spans("text.mixed_script_word"),
    "foreign-punctuation": texts.spans("text.foreign_punctuation"),
    "invisible": texts.spans("text.invisible"),
    "foreign-sentence": texts.foreign_sentence,
    "broken-bytes": texts.broken_bytes,
    "verbatim-loop": loops.verbatim,
    "counting-loop": loops.counting,
    "reworded-loop": loops.reworded,
    "runaway": loops.runaway,
    "cut-call": calls.cut,
    "malformed-call": calls.malformed,
    "lost-arguments": calls.lost,
    "leaked-call": calls.leaked,
    "call-in-reasoning": calls.in_reasoning,
    "missing-call": calls.missing,
    "unknown-tool": calls.unknown_name,
    "polluted-name": calls.polluted_name,
    "drop": on_the_way("drop"),
    "stall": on_the_way("stall"),
    "error-frame": on_the_way("error-frame"),
    "bad-frame": on_the_way("bad-frame"),
    "no-done": on_the_way("no-done"),
    "no-finish": on_the_way("no-finish"),
    "parse-error": on_the_way("parse-error"),
    "overloaded": on_the_way("overloaded"),
    "restart": on_the_way("restart"),
    "doubled-deltas": on_the_way("doubled"),
}
REPEATED = "repeated-call"
_STREAMS_ONLY = frozenset({"bad-frame", "no-done", "no-finish", "doubled-deltas"})
_ON_THE_WAY = frozenset(list(SPOILERS)[list(SPOILERS).index("drop") :])


def check(persona: Persona) -> None:
    """Raise ConfigError where a persona has a fault that does not exist."""
    known = {*SPOILERS, REPEATED}
    for fault in persona.faults:
        if fault.kind not in known:
            raise ConfigError(f"no fault {fault.kind!r}; there are: {', '.join(sorted(known))}")


def strike(
    mind: Mind, conversation: Conversation, turn: Turn, context: int, moment: Moment
) -> Draft:
    """The answer after the persona's faults; ``context`` is the number of prompt tokens.

    Faults of the transport strike a repeated request only where the persona says so.
    """
    draft = Draft(mind, conversation, turn, context)
    # A repetition that has begun goes on before anything else is done to the call.
    faults = sorted(mind.persona.faults, key=lambda fault: fault.kind != REPEATED)
    for fault in faults if conversation.brief else ():
        if moment.in_flight < fault.min_in_flight or not _possible(fault, moment):
            continue
        if fault.kind == REPEATED:
            _maybe_repeat(draft, fault)
        elif _strikes(draft, fault, conversation.step):
            SPOILERS[fault.kind](draft, mind.dice("spoil", fault.kind, conversation.step))
    return draft


def _possible(fault: Fault, moment: Moment) -> bool:
    if fault.kind in moment.unseen:
        return False
    if fault.kind not in _ON_THE_WAY:
        return True
    if not moment.stream and fault.kind in _STREAMS_ONLY:
        return False
    return moment.fresh or fault.persist


def _strikes(draft: Draft, fault: Fault, step: int) -> bool:
    dice = draft.mind.dice("strike", fault.kind, step)
    return dice.chance(linear(fault.rate, draft.context))


def _maybe_repeat(draft: Draft, fault: Fault) -> None:
    """Go on with a repetition that began at an earlier step, or begin one."""
    if found := calls.repeating(draft.conversation):
        times, call = found
        if _strikes(draft, fault, draft.step - times) and calls.again(draft, call, times):
            return
    if _strikes(draft, fault, draft.step):
        calls.single(draft)
