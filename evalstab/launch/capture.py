"""Learn how a server was started: every way of looking, put together by rank of evidence."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalstab.launch.boot_log import LINES, read_boot_log
from evalstab.launch.container import look_at_container
from evalstab.launch.declared import read_declared
from evalstab.launch.fingerprint import fingerprint, model_name, unknown_facts
from evalstab.launch.model import (
    RANKS,
    Contradiction,
    Evidence,
    Fact,
    Found,
    Json,
    Launch,
    Said,
)
from evalstab.launch.model_file import model_file
from evalstab.launch.process import PROC, home_of, look_at_process, pid_listening
from evalstab.launch.remote import fetched_process, remote_listener
from evalstab.launch.unit import look_at_unit
from evalstab.reach import Reach
from evalstab.redact import redactor
from evalstab.settings import Launch as Wanted

REMOTE = (
    "launch and hardware not captured (remote): name ssh = HOST, or declared = FILE, under launch"
)
_PASSES_ON = frozenset({"docker-proxy", "rootlessport", "pasta", "slirp4netns"})
_SERVER_SAMPLING = "server_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is known before looking: the endpoint's address, and what the server said of itself.

    ``server`` holds facts in our vocabulary (engine, version, ctx, chat_template_sha256 …), as far
    as the server's own pages state them; ``sampling`` is what the client sends.
    """

    base_url: str = ""
    server: Mapping[str, Any] | None = None
    sampling: Mapping[str, Any] | None = None
    proc: Path = PROC


def capture(wanted: Wanted | None, asked: Asked) -> Launch:
    """All that can be learnt about a server's start; never raises for what cannot be had.

    ConfigError where the settings themselves are wrong (a declared file that is none).
    """
    settings = wanted or Wanted()
    reach = Reach(settings.ssh)
    found, reason = _look(settings, asked, reach)
    parts = [found] if found else []
    if found is not None and (log := _boot_log(found, reach)):
        found.evidence.append(log)
    if settings.declared:
        parts.append(read_declared(Path(settings.declared)))
    if asked.server:
        facts = redactor().json(dict(asked.server))
        own = Evidence(rank="effective", source="the server's own pages", facts=facts)
        parts.append(Found(method="server", evidence=[own]))
    return _together(parts, reason, asked, local=reach.host is None)


def is_local(base_url: str) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(base_url).hostname or ""
    if host in ("localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or _own(address)


def _own(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Only an address of this machine can be bound to."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def _look(settings: Wanted, asked: Asked, reach: Reach) -> tuple[Found | None, str | None]:
    if settings.container:
        return look_at_container(settings.container, reach)
    if settings.unit:
        return look_at_unit(settings.unit, reach, asked.proc)
    port = settings.port or _port_of(asked.base_url)
    if reach.host is None and not settings.port and not is_local(asked.base_url):
        return None, REMOTE
    if port is None:
        return None, "no port to look for: name container, unit or port in launch"
    return _by_port(port, asked.proc, reach)


def _by_port(port: int, proc: Path, reach: Reach) -> tuple[Found | None, str | None]:
    if reach.host is not None:
        pid = remote_listener(port, reach)
        place = fetched_process(pid, reach) if pid else None
        if pid and place is not None:
            with place as folder:
                return _by_pid(pid, folder, port, reach)
    elif pid := pid_listening(port, proc):
        return _by_pid(pid, proc, port, reach)
    return _publishing(port, reach)


def _by_pid(pid: int, proc: Path, port: int, reach: Reach) -> tuple[Found | None, str | None]:
    home = home_of(pid, proc)
    if home.container:
        found, _ = look_at_container(home.container, reach)
        if found is not None:
            return found, None
    process = look_at_process(pid, proc)
    if process is not None and process.placement.get("program") in _PASSES_ON:
        behind, _ = _publishing(port, reach)
        return behind or process, None
    if home.unit and process is not None:
        unit, _ = look_at_unit(home.unit, reach, proc)
        if unit is not None:
            return unit, None
        process.placement["unit"] = home.unit
    if home.container and process is not None:
        process.placement["container_id"] = home.container
    return process, None if process else f"process {pid} went away while it was looked at"


def _publishing(port: int, reach: Reach) -> tuple[Found | None, str | None]:
    """The container that publishes a port, where docker or podman can be asked."""
    for engine in ("docker", "podman"):
        ran = reach.run([engine, "ps", "-q", "--no-trunc", "--filter", f"publish={port}"])
        if ran.well and (names := ran.out.split()):
            found, _ = look_at_container(names[0], reach)
            if found is not None:
                return found, None
    return None, f"who listens on port {port} cannot be seen (not there, or another user's)"


def _boot_log(found: Found, reach: Reach) -> Evidence | None:
    text = boot_log_text(found.placement, reach)
    return read_boot_log(text, "boot log") if text else None


def boot_log_text(placement: Json, reach: Reach) -> str | None:
    """The first lines that a container or unit wrote after its start; None without any."""
    if name := placement.get("container"):
        engine = str(placement.get("container_engine", "docker"))
        script = f'{engine} logs --timestamps "$1" 2>&1 | head -n {LINES}'
        ran = reach.run(["sh", "-c", script, "sh", str(name)], seconds=20)
    elif unit := placement.get("unit"):
        script = f'journalctl -u "$1" --since "$2" --no-pager -o cat | head -n {LINES}'
        since = str(placement.get("started") or "today")
        ran = reach.run(["sh", "-c", script, "sh", str(unit), since], seconds=20)
    else:
        return None
    return ran.out if ran.well else None


def log_tail(placement: Json, host: str | None, lines: int = 200) -> list[str] | None:
    """The last lines of the server's log, redacted; None where there is no log to be had."""
    reach = Reach(host)
    if name := placement.get("container"):
        engine = str(placement.get("container_engine", "docker"))
        script = f'{engine} logs --timestamps --tail {lines} "$1" 2>&1'
        ran = reach.run(["sh", "-c", script, "sh", str(name)])
    elif unit := placement.get("unit"):
        ran = reach.run(["journalctl", "-u", str(unit), "-n", str(lines), "--no-pager"])
    else:
        return None
    clean = redactor()
    return [clean.text(line[:2000]) for line in ran.out.splitlines()[-lines:]] if ran.well else None


NO_SERVER = (
    "the process on that port is no known inference server: how it was started says nothing about "
    "the model"
)


def _together(parts: Sequence[Found], reason: str | None, asked: Asked, *, local: bool) -> Launch:
    evidence = [item for part in parts for item in part.evidence]
    facts = known_facts(evidence)
    started = [part for part in parts if part.method != "server"]
    first = started[0] if started else (parts[0] if parts else None)
    proven = [part for part in started if part.method != "process" or _is_server(part)]
    if local and first is not None and (model := facts.get("model")) is not None:
        facts |= model_file(str(model.value), first.placement)
    if started and not proven:
        reason = NO_SERVER
    if first is not None:
        first.notes += _port_note(first.placement, asked.base_url)
    return Launch(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        method=first.method if first else "none",
        captured=bool(proven),
        reason=None if proven else reason or "nothing was found",
        command=next((part.command for part in parts if part.command), None),
        fingerprint=fingerprint(facts),
        facts=facts,
        contradictions=contradictions(evidence),
        unknown=unknown_facts(facts),
        incomplete=tuple(text for part in parts for text in part.incomplete),
        placement=first.placement if first else {},
        evidence=tuple(evidence),
        files={path: text for part in parts for path, text in part.files.items()},
        client_sampling=redactor().json(dict(asked.sampling or {})),
        server_sampling={
            name.removeprefix(_SERVER_SAMPLING): fact.value
            for name, fact in facts.items()
            if name.startswith(_SERVER_SAMPLING)
        },
        mark=first.mark if first else Found(method="none").mark,
        notes=tuple(text for part in parts for text in part.notes),
    )


def _is_server(found: Found) -> bool:
    """Whether the process itself, not the pages behind its port, is a known inference server."""
    return any(item.facts.get("engine") for item in found.evidence if item.rank == "configured")


def known_facts(evidence: Sequence[Evidence]) -> dict[str, Fact]:
    """Each fact by the highest rank that states it; within a rank the first one stands."""
    facts: dict[str, Fact] = {}
    for rank in RANKS:
        for item in (one for one in evidence if one.rank == rank):
            for name, value in item.facts.items():
                if value is not None:
                    facts.setdefault(name, Fact(value=value, rank=rank, source=item.source))
    return dict(sorted(facts.items()))


def contradictions(evidence: Sequence[Evidence]) -> tuple[Contradiction, ...]:
    """Facts about which two sources do not agree, with all that say something."""
    found = []
    for name in sorted({name for item in evidence for name in item.facts}):
        said = [
            Said(value=item.facts[name], rank=item.rank, source=item.source)
            for item in evidence
            if item.facts.get(name) is not None
        ]
        if len({_comparable(name, one.value) for one in said}) > 1:
            found.append(Contradiction(fact=name, said=tuple(said)))
    return tuple(found)


def _comparable(name: str, value: Any) -> str:
    if name == "model":
        return model_name(str(value)).lower()
    return str(value).lower()


def _port_of(base_url: str) -> int | None:
    parts = urlsplit(base_url)
    try:
        return parts.port or (
            {"http": 80, "https": 443}.get(parts.scheme) if parts.netloc else None
        )
    except ValueError:
        return None


def _port_note(placement: Json, base_url: str) -> list[str]:
    published = [str(a).rpartition(":")[2] for ports in _lists(placement) for a in ports]
    asked = _port_of(base_url)
    if not published or asked is None or str(asked) in published or not is_local(base_url):
        return []
    name = placement.get("container")
    return [
        f"the container {name} publishes port {', '.join(sorted(set(published)))}, the endpoint "
        f"is asked on port {asked}: another server may be answering"
    ]


def _lists(placement: Json) -> list[list[str]]:
    ports = placement.get("ports")
    return list(ports.values()) if isinstance(ports, dict) else []
