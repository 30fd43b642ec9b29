"""Before the first request of a series: how was the server started, and is its rig fit."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from evalstab.endpoint.identify import identify
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.errors import EndpointUnusable, FolderError
from evalstab.hardware.preflight import NO_CARDS, Fitness, preflight, summary
from evalstab.launch.capture import Asked, capture, is_local
from evalstab.launch.fingerprint import differences
from evalstab.launch.model import LAUNCH_FILE, UNKNOWN, Launch
from evalstab.series.files import write_json
from evalstab.settings import EndpointSettings
from evalstab.workflow.request import Announce

if TYPE_CHECKING:
    from evalstab.workflow.prepare import Prepared

NOT_CAPTURED = "launch and hardware not captured (remote)"
SIMULATED = "simulated endpoint: there is no server whose start could be learnt"
TOLD = 6


@dataclass(frozen=True, slots=True)
class Provenance:
    """What was learnt. ``fitness`` is None where the rig cannot be reached.

    ``facts`` are those of the server's own pages, None for a simulated endpoint.
    """

    launch: Launch
    fitness: Fitness | None = None
    facts: ServerFacts | None = None

    @property
    def context_size(self) -> int | None:
        """Tokens of context that one session really gets, None where nothing says so."""
        size = self.facts.value("context") if self.facts else None
        return size if isinstance(size, int) else None

    @property
    def hardware(self) -> str:
        """The rig as a condition of the series; "unknown" where it is."""
        if self.fitness is not None and self.fitness.checks[0].detail == NO_CARDS:
            return "no graphics card"
        return summary(self.fitness.reading if self.fitness else None)

    @property
    def quant(self) -> str:
        """The quantisation as the server or its start states it, else "unknown"."""
        return str(self.launch.value("quant") or UNKNOWN)

    @property
    def engine(self) -> str:
        """Engine and version as far as they are known, else "unknown"."""
        words = (self.launch.value("engine"), self.launch.value("version"))
        return " ".join(str(word) for word in words if word) or UNKNOWN


async def served(settings: EndpointSettings) -> ServerFacts:
    """What the server's own pages say."""
    client = OpenAIChat(settings, os.environ.get(settings.api_key_env))
    try:
        return await identify(client, settings)
    finally:
        await client.close()


def learn(prepared: Prepared, facts: ServerFacts | None, announce: Announce) -> Prepared:
    """The request with all that can be learnt of its server; EndpointUnusable for an unfit rig.

    ``facts`` are those of the server's own pages, None for a simulated endpoint.
    """
    if prepared.simulated is not None or facts is None:
        return replace(prepared, provenance=Provenance(_nothing(SIMULATED)))
    settings = prepared.settings
    if facts.simulated:
        announce(f"simulated endpoint, no model was judged: {settings.base_url}")
    sampling = settings.sampling.model_dump(mode="json", exclude_none=True)
    launch = capture(
        settings.launch,
        Asked(
            base_url=settings.base_url,
            server=facts.for_launch(),
            sampling=sampling | settings.extra_body,
        ),
    )
    pid = launch.placement.get("pid") if launch.captured else None
    fitness = look_at_rig(settings, pid if isinstance(pid, int) else None)
    _tell(launch, fitness, announce)
    if fitness is not None and fitness.status == "failed":
        found = [check.detail for check in fitness.checks if check.status == "failed"]
        advice = [check.advice for check in fitness.checks if check.status == "failed"]
        raise EndpointUnusable(
            f"the hardware is not fit to judge a model on: {'; '.join(found[:TOLD])}. "
            f"{next(filter(None, advice), 'mend the rig first')}"
        )
    return replace(prepared, provenance=Provenance(launch, fitness, facts))


def look_at_rig(settings: EndpointSettings, server_pid: int | None = None) -> Fitness | None:
    """The rig's preflight, None where the server's machine is another one without ssh."""
    host = settings.launch.ssh if settings.launch else None
    if not settings.hardware.watch or (host is None and not is_local(settings.base_url)):
        return None
    return preflight(settings.hardware, host=host, server_pid=server_pid)


def keep(prepared: Prepared, root: Path) -> None:
    """Write ``launch.json`` into a new series."""
    if prepared.provenance is not None:
        write_json(root / LAUNCH_FILE, prepared.provenance.launch)


def stored(root: Path) -> Launch | None:
    """The launch that a series keeps; None where it has none that can be read."""
    path = root / LAUNCH_FILE if root.is_dir() else root
    try:
        return msgspec.json.decode(path.read_bytes(), type=Launch)
    except OSError:
        return None
    except msgspec.MsgspecError as error:
        raise FolderError(f"{path} cannot be read as a launch: {error}") from error


def require_same_launch(prepared: Prepared, root: Path, announce: Announce) -> None:
    """FolderError where the server is known to be started otherwise than when the series began."""
    before = stored(root)
    if before is None or prepared.provenance is None:
        return
    now = prepared.provenance.launch
    known = [d for d in differences(before, now) if d.answer == "differs"]
    told = [f"{d.fact} was {d.base!r}, is {d.new!r}" for d in known if None not in (d.base, d.new)]
    if told:
        raise FolderError(
            f"{root}: the server was started otherwise than when this series began: "
            f"{'; '.join(told[:TOLD])}. Start it as it was and run `evalstab resume {root}`, or "
            "start a new series"
        )
    started = [one.placement.get("started") for one in (before, now)]
    if None not in started and started[0] != started[1]:
        announce(f"the server was restarted since this series began ({started[1]}): cold caches")


async def require_same_server(prepared: Prepared, root: Path) -> None:
    """EndpointUnusable where the server that is there now is known to be another one."""
    facts = await served(prepared.settings)
    try:
        now = await asyncio.to_thread(learn, prepared, facts, lambda _line: None)
        require_same_launch(now, root, lambda _line: None)
    except FolderError as error:
        raise EndpointUnusable(str(error)) from error


def _tell(launch: Launch, fitness: Fitness | None, announce: Announce) -> None:
    """A few calm lines: what is known of start and rig."""
    remote = launch.reason is not None and launch.reason.startswith(NOT_CAPTURED)
    if fitness is None and remote:
        announce(NOT_CAPTURED)
        return
    if launch.captured:
        announce(f"launch captured ({launch.method}), fingerprint {launch.fingerprint}")
    else:
        announce(f"launch not captured: {launch.reason}")
    for one in launch.contradictions[:TOLD]:
        said = ", ".join(f"{s.value} ({s.source})" for s in one.said)
        announce(f"launch: sources disagree about {one.fact}: {said}")
    for note in launch.notes[:TOLD]:
        announce(f"launch: {note}")
    if fitness is None:
        announce("hardware not watched")
        return
    if fitness.status == "unknown":
        announce(f"hardware: {fitness.checks[0].detail}")
        return
    announce(f"hardware: {fitness.status}, {fitness.checks[0].detail}")
    worse = [check for check in fitness.checks[1:] if check.status == "degraded"]
    for check in worse[:TOLD]:
        announce(f"hardware: {check.name}: {check.detail}")


def _nothing(reason: str) -> Launch:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Launch(at=at, method="none", captured=False, reason=reason)
