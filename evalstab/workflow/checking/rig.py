"""How the server was started, and whether its machine is healthy."""

from __future__ import annotations

from collections.abc import Iterator

from evalstab.endpoint.known_parameters import sampling_of
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.hardware.model import Health
from evalstab.hardware.preflight import preflight
from evalstab.launch.capture import Asked, capture, is_local
from evalstab.launch.model import Launch
from evalstab.settings import EndpointSettings
from evalstab.settings import Launch as Wanted
from evalstab.workflow.checking.model import CheckRow, Status

STATUS: dict[Health, Status] = {
    "ok": "ok",
    "degraded": "warning",
    "failed": "failed",
    "unknown": "unknown",
}


def launch_rows(
    settings: EndpointSettings, facts: ServerFacts, host: str | None
) -> Iterator[CheckRow]:
    """What could be learnt of the server's start, and what contradicts itself."""
    wanted = settings.launch or Wanted()
    if host is not None:
        wanted = wanted.model_copy(update={"ssh": host})
    asked = Asked(
        base_url=settings.base_url,
        server=facts.for_launch(),
        sampling=sampling_of(settings.sampling.model_dump(exclude_none=True)),
    )
    launch = capture(wanted, asked)
    yield _launch_row(launch)
    for one in launch.contradictions:
        said = "; ".join(f"{who.value} ({who.source})" for who in one.said)
        yield CheckRow(f"launch: {one.fact}", "warning", f"sources disagree: {said}"[:400])


def _launch_row(launch: Launch) -> CheckRow:
    if not launch.captured:
        return CheckRow(
            "launch", "unknown", f"not captured: {launch.reason}",
            "name container, unit, ssh or a declared file under launch in evalstab.toml",
        )  # fmt: skip
    told = f"captured from the {launch.method}, fingerprint {launch.fingerprint}"
    if launch.unknown:
        return CheckRow("launch", "ok", f"{told}; not known: {', '.join(launch.unknown)}")
    return CheckRow("launch", "ok", told)


def hardware_rows(settings: EndpointSettings, host: str | None) -> Iterator[CheckRow]:
    """The health of the rig, where its machine is this one or can be reached."""
    host = host or (settings.launch.ssh if settings.launch else None)
    if host is None and not is_local(settings.base_url):
        yield CheckRow(
            "hardware", "unknown", "the server's machine is another one", "name it: --on HOST"
        )
        return
    for check in preflight(settings.hardware, host=host).checks:
        yield CheckRow(f"hardware: {check.name}", STATUS[check.status], check.detail, check.advice)
