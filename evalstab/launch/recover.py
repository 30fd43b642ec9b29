"""Which remembered command started this server: candidates, the likeliest first, each with reasons.

What comes out is recovered, not observed: rank "declared", to be checked against the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from evalstab.launch.declared import Command, described, take_apart
from evalstab.launch.fingerprint import model_name
from evalstab.launch.model import Json, Launch
from evalstab.launch.stores import STARTS, Ran
from evalstab.redact import redactor

MOST = 20


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A remembered start command (redacted), how well it fits, and why one thinks so.

    ``score`` only orders candidates of one search. ``differs`` names what this command says
    otherwise than the running server does.
    """

    command: str
    score: int
    reasons: tuple[str, ...]
    differs: tuple[str, ...]
    store: str
    place: str
    at: str | None = None
    exit_code: int | None = None
    facts: Json = msgspec.field(default_factory=dict)


def candidates(ran: Iterable[Ran], launch: Launch | None, port: int | None) -> list[Candidate]:
    """Remembered commands by how well they fit the server that runs, the best first."""
    merged: dict[str, Candidate] = {}
    for one in ran:
        for text in _starts(one):
            made = _candidate(one, text, launch, port)
            known = merged.get(made.command)
            if known is None or made.score > known.score:
                merged[made.command] = made
    ordered = sorted(merged.values(), key=lambda c: (c.score, c.at or ""), reverse=True)
    return ordered[:MOST]


def _starts(ran: Ran) -> list[str]:
    """The start command itself, out of a script that was written into a file."""
    if not ran.written:
        return [ran.command]
    joined = ran.command.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if STARTS.search(line)][:5]


def _candidate(ran: Ran, text: str, launch: Launch | None, port: int | None) -> Candidate:
    command = take_apart(text)
    facts = described(command).settings
    score, reasons = _likelihood(ran, command, facts, launch, port)
    differs = _differences(facts, launch)
    return Candidate(
        command=redactor().text(text),
        score=score - len(differs),
        reasons=tuple(reasons),
        differs=tuple(differs),
        store=ran.store,
        place=ran.place,
        at=_time(ran.at),
        exit_code=ran.exit_code,
        facts=redactor().json({k: v for k, v in facts.items() if k not in ("api_key", "hf_token")}),
    )


def _likelihood(
    ran: Ran, command: Command, facts: Json, launch: Launch | None, port: int | None
) -> tuple[int, list[str]]:
    place: Json = launch.placement if launch else {}
    score, reasons = 0, []

    def note(points: int, reason: str) -> None:
        nonlocal score
        score += points
        reasons.append(reason)

    if ran.exit_code == 0:
        note(2, "it ended without an error")
    elif ran.exit_code is not None:
        note(-3, f"it ended with exit code {ran.exit_code}")
    identity = str(place.get("container_id") or "")
    printed = re.search(r"\b[0-9a-f]{12,64}\b", ran.output)
    if identity and printed and identity.startswith(printed[0]):
        note(20, "it printed the id of the running container")
    if command.name and command.name == place.get("container"):
        note(8, "same container name")
    if port is not None and port in _ports(command, facts):
        note(4, f"port {port}")
    model = launch.value("model") if launch else None
    if model and facts.get("model") and model_name(str(facts["model"])) == model_name(str(model)):
        note(4, "same model")
    for points, reason in _timely(ran.at, _moment(place.get("started"))):
        note(points, reason)
    if ran.written:
        note(-1, "it was written into a file; that it was run is not known")
    return score, reasons


def _timely(at: float | None, started: float | None) -> list[tuple[int, str]]:
    if at is None or started is None:
        return []
    early = started - at
    if early < -60:
        return [(-4, "it is younger than the running process")]
    if early <= 600:
        return [(6, f"{max(0, round(early))} s before the server started")]
    return [(1, "before the server started")]


def _differences(facts: Json, launch: Launch | None) -> list[str]:
    """What the remembered command says otherwise than what is known of the running server."""
    if launch is None:
        return []
    told = []
    for name, value in sorted(facts.items()):
        known = launch.value(name)
        if known is None or name in ("port", "host", "api_key", "hf_token"):
            continue
        same = (
            model_name(str(known)) == model_name(str(value))
            if name == "model"
            else str(known).lower() == str(value).lower()
        )
        if not same:
            told.append(f"{name}: {value} there, {known} in the running server")
    return told


def _ports(command: Command, facts: Json) -> set[int]:
    texts = [mapping.split(":")[-2] for mapping in command.ports if ":" in mapping]
    texts += [str(facts["port"])] if "port" in facts else []
    return {int(text) for text in texts if text.isdecimal()}


def _time(at: float | None) -> str | None:
    try:
        return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None


def _moment(text: Any) -> float | None:
    """RFC 3339 with nanoseconds, as docker writes it; None for other forms."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text)).timestamp()
    except ValueError:
        return None
