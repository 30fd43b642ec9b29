"""What this rig has shown before: its cards, and the best link of each under load."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from evalstab.hardware.judge import Expected, under_load
from evalstab.hardware.model import Link, Reading
from evalstab.redact import config_folder

SCHEMA_VERSION = 1


class Rig(msgspec.Struct, kw_only=True):
    """Cards by key with their titles, and the best link seen under load."""

    schema_version: int = SCHEMA_VERSION
    cards: dict[str, str] = msgspec.field(default_factory=dict)
    links: dict[str, Link] = msgspec.field(default_factory=dict)


def rig_file(host: str | None) -> Path:
    """Where a rig is remembered, by its ssh name; ``None`` is this machine."""
    name = "".join(c if c.isalnum() or c in "-." else "_" for c in host or "this-machine")
    return config_folder() / "rigs" / f"{name}.json"


def read_rig(path: Path) -> Rig:
    """What is remembered; nothing where nothing is or it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Rig)
    except (OSError, msgspec.MsgspecError):
        return Rig()


def expected(rig: Rig, cards: int | None) -> Expected:
    """What should be there: the number asked for, and what was seen before."""
    return Expected(cards=cards, known=rig.cards, links=rig.links)


def remember(path: Path, rig: Rig, readings: Sequence[Reading]) -> Rig:
    """Add what these readings have shown, and write it where it is new; returns what is known now.

    Where it cannot be written, it is known for this process only.
    """
    cards, links = dict(rig.cards), dict(rig.links)
    for reading in readings:
        for card in reading.cards:
            if card.lost is not None or card.uuid is None:
                continue
            cards[card.key] = card.title
            if under_load(card):
                best = links.get(card.key, Link())
                links[card.key] = Link(
                    gen=_most(best.gen, card.link.gen), width=_most(best.width, card.link.width)
                )
    made = Rig(cards=cards, links=links)
    if made == rig:
        return rig
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh.touch(mode=0o600)
        fresh.write_bytes(msgspec.json.encode(made))
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
    return made


def _most(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None
