"""Faults on the way: what the transport or the server does to a good answer."""

from __future__ import annotations

from evalstab.sim.dice import Dice
from evalstab.sim.faults.draft import Draft, Spoiler, Transport, TransportKind

_CODES: dict[TransportKind, str] = {
    "drop": "stream.dropped",
    "stall": "stream.stalled",
    "error-frame": "server.error_in_stream",
    "bad-frame": "stream.bad_frame",
    "no-done": "stream.no_done",
    "no-finish": "stream.no_finish",
    "parse-error": "server.parse_error",
    "overloaded": "server.overloaded",
    "restart": "server.restarted",
    "doubled": "reasoning.duplicated_by_transport",
}


def on_the_way(kind: TransportKind) -> Spoiler:
    """The spoiler for one kind of transport fault."""

    def spoil(draft: Draft, dice: Dice) -> bool:
        if draft.transport is not None or (kind == "doubled" and not draft.turn.reasoning):
            return False
        draft.transport = Transport(kind, dice.between(0.2, 0.8))
        channel = "reasoning" if kind == "doubled" else "transport"
        draft.enter(_CODES[kind], kind, channel)
        return True

    return spoil
