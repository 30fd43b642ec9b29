"""``evalstab launch``: what is known of a start, what two starts differ in, how one came about."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalstab.endpoint.server_facts import ServerFacts
from evalstab.errors import FolderError, UsageError
from evalstab.launch.capture import Asked, capture
from evalstab.launch.fingerprint import Difference, differences
from evalstab.launch.model import RANKS, Launch
from evalstab.launch.recover import Candidate, candidates
from evalstab.launch.stores import commands, default_home
from evalstab.settings import SIMULATED, EndpointSettings, endpoint_settings, read_config
from evalstab.settings import Launch as Wanted
from evalstab.workflow.provenance import served, stored
from evalstab.workflow.secrets import remember_secrets

WIDTH = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Which server: an endpoint by name or settings, the container it runs in, its machine."""

    endpoint: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    container: str | None = None
    host: str | None = None


def launch_now(subject: Subject) -> Launch:
    """What can be learnt now of how an endpoint's server was started."""
    name, settings = _settings(subject)
    if name.startswith(SIMULATED) and not _wanted(subject, settings).container:
        raise UsageError(
            "name the server: --endpoint NAME, --base-url URL, or --container NAME; a simulated "
            "endpoint has no start to look at"
        )
    facts = asyncio.run(served(settings)) if settings.base_url else ServerFacts()
    sampling = settings.sampling.model_dump(mode="json", exclude_none=True)
    asked = Asked(
        base_url=settings.base_url,
        server=facts.for_launch(),
        sampling=sampling | settings.extra_body,
    )
    return capture(_wanted(subject, settings), asked)


def launch_of(place: Path) -> Launch:
    """The launch that a series folder, or a launch.json, holds; FolderError where it holds none."""
    found = stored(place)
    if found is None:
        raise FolderError(
            f"{place} holds no launch.json: name a series folder, or a file that "
            "`evalstab launch show --json` has written"
        )
    return found


def recovered(subject: Subject, home: Path | None = None) -> list[Candidate]:
    """Remembered commands that may have started the server, the likeliest first.

    Without an endpoint or container that can be looked at they are ordered by age alone.
    """
    name, settings = _settings(subject)
    known: Launch | None = None
    if not name.startswith(SIMULATED) or _wanted(subject, settings).container:
        known = launch_now(subject)
    place = home or default_home()
    env = {} if home else dict(os.environ)
    port = _wanted(subject, settings).port or urlsplit(settings.base_url).port
    return candidates(commands(place, env), known, port)


def _settings(subject: Subject) -> tuple[str, EndpointSettings]:
    name, settings = endpoint_settings(subject.endpoint, subject.flags, os.environ, read_config())
    remember_secrets(settings)
    return name, settings


def _wanted(subject: Subject, settings: EndpointSettings) -> Wanted:
    wanted = settings.launch or Wanted()
    own = {"container": subject.container, "ssh": subject.host}
    return wanted.model_copy(update={key: value for key, value in own.items() if value})


def told_launch(launch: Launch) -> str:
    """A launch for people: the command to paste first, then each fact with its rank and source."""
    lines = list(_head(launch))
    for rank in RANKS:
        facts = {name: fact for name, fact in launch.facts.items() if fact.rank == rank}
        if facts:
            lines += ["", f"{rank}:"]
            lines += [
                f"  {name:<{WIDTH}} {_short(fact.value)}  ({fact.source})"
                for name, fact in facts.items()
            ]
    if launch.contradictions:
        lines += ["", "sources disagree:"]
        for one in launch.contradictions:
            said = "; ".join(f"{_short(s.value)} ({s.rank}, {s.source})" for s in one.said)
            lines.append(f"  {one.fact:<{WIDTH}} {said}")
    place = {key: value for key, value in launch.placement.items() if value not in (None, {}, [])}
    if place:
        lines += ["", "placement (outside the fingerprint):"]
        lines += [f"  {key:<{WIDTH}} {_short(value)}" for key, value in place.items()]
    lines += [""] if launch.unknown or launch.incomplete or launch.notes else []
    lines += [f"not known: {', '.join(launch.unknown)}"] if launch.unknown else []
    lines += [f"incomplete: {text}" for text in launch.incomplete]
    lines += [f"note: {text}" for text in launch.notes]
    return "\n".join(lines)


def _head(launch: Launch) -> Iterator[str]:
    if not launch.captured:
        yield f"launch not captured: {launch.reason}"
    if launch.command:
        yield launch.command
        yield ""
    yield f"fingerprint {launch.fingerprint}, from: {launch.method}, at {launch.at}"


def told_differences(found: list[Difference]) -> str:
    """What two launches differ in, for people."""
    if not found:
        return "no difference that is known"
    lines = []
    for one in found:
        base, new = (_short(v) if v is not None else "unknown" for v in (one.base, one.new))
        lines.append(f"{one.answer:<11} {one.fact:<{WIDTH}} {base} -> {new}")
    return "\n".join(lines)


def told_candidates(found: list[Candidate]) -> str:
    """Recovered commands for people, each with why it may be the one."""
    if not found:
        return "no command was found that could have started a server"
    lines = ["recovered, not observed: check it against the server before you rely on it"]
    for number, one in enumerate(found, 1):
        lines += ["", f"{number}. {one.command}"]
        lines.append(f"   {one.place}, {one.at or 'time not known'}")
        if one.reasons:
            lines.append(f"   for it: {'; '.join(one.reasons)}")
        if one.differs:
            lines.append(f"   against it: {'; '.join(one.differs)}")
    return "\n".join(lines)


def launch_differences(base: Path, new: Path) -> list[Difference]:
    """What two kept launches differ in; two unknowns are "cannot tell"."""
    return differences(launch_of(base), launch_of(new))


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_short(item)}" for name, item in value.items())[:300]
    if isinstance(value, list | tuple):
        return ",".join(map(_short, value))[:300]
    text = str(value)
    return "".join(c if c.isprintable() else " " for c in text)[:300]
