"""From a request to everything a series needs: task, settings, client, conditions."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.fields import not_set, request_fields, sampling_seed
from evalstab.endpoint.retry import RetryPolicy
from evalstab.errors import UsageError
from evalstab.gate.policy import Policy
from evalstab.series.folder import SeriesFile
from evalstab.settings import SIMULATED, EndpointSettings, endpoint_settings, read_config
from evalstab.task.brief import opening_messages
from evalstab.task.grouping import split
from evalstab.task.load import find_task, load_task
from evalstab.task.model import Task
from evalstab.tools.toolbox import offered_tools
from evalstab.workflow.gates import policy_for, stored_policy
from evalstab.workflow.provenance import Provenance
from evalstab.workflow.request import RunRequest
from evalstab.workflow.secrets import remember_secrets

LOOP_VERSION = 1
"""Raised whenever the loop would send something else for the same task and settings."""

DEFAULT_REPEATS = 5
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request with everything looked up and validated, before the first byte is sent."""

    request: RunRequest
    task: Task
    endpoint: str
    settings: EndpointSettings
    seed: int
    repeats: int
    policy: Policy | None = None
    sizing: Json = field(default_factory=dict)
    provenance: Provenance | None = None

    @property
    def simulated(self) -> str | None:
        """The persona, where the endpoint is a simulated one."""
        if self.endpoint.startswith(SIMULATED):
            return self.endpoint.removeprefix(SIMULATED)
        return None


def prepare(request: RunRequest) -> Prepared:
    """Look up task and endpoint; every mistake is an error here, before anything is written."""
    if request.repeats is not None and request.repeats < 1:
        raise UsageError(f"--repeats {request.repeats}: at least one trial is needed")
    task = load_task(find_task(request.task), request.task_overrides)
    config = read_config()
    name, settings = endpoint_settings(request.endpoint, request.flags, os.environ, config)
    if not name.startswith(SIMULATED) and not settings.base_url:
        raise UsageError(f"endpoint {name!r} has no base_url: add it to evalstab.toml")
    remember_secrets(settings)
    seed = request.seed if request.seed is not None else request.own_seed
    if seed is None:
        seed = secrets.randbelow(2**31)
    if request.groups > 1:
        split(task.candidates, request.groups, seed)
    policy = None
    if request.gate is not None:
        policy = policy_for(request.gate, task.candidates, request.repeats)
    return Prepared(
        request=request,
        task=task,
        endpoint=name,
        settings=settings,
        seed=seed,
        repeats=request.repeats or (policy.repeats if policy else DEFAULT_REPEATS),
        policy=policy,
    )


def fields_for(task: Task, settings: EndpointSettings, trial: int) -> Json:
    """The request fields of a trial."""
    return request_fields(
        settings,
        offered_tools(task),
        max_tokens=task.spec.limits.max_tokens,
        seed=sampling_seed(settings, trial),
    )


def retry_policy(settings: EndpointSettings) -> RetryPolicy:
    """The retry policy that the settings ask for."""
    return RetryPolicy(retries=settings.retries)


def max_seconds(task: Task, settings: EndpointSettings) -> float:
    """The time limit of a trial: the endpoint's, else the task's."""
    return settings.timeouts.trial or task.spec.limits.max_seconds


def series_file(prepared: Prepared) -> SeriesFile:
    """``series.json`` as it is written before the first request."""
    task, settings, request = prepared.task, prepared.settings, prepared.request
    spec = task.spec
    created = datetime.now(UTC)
    stamp = created.strftime("%Y%m%d-%H%M%S")
    endpoint = prepared.endpoint.replace(":", "-")
    return SeriesFile(
        id=f"{stamp}-{task.name}-{endpoint}-{context_name(request)}-{secrets.token_hex(3)}",
        created=created.isoformat(timespec="seconds"),
        task={
            "name": task.name,
            "title": spec.title,
            "language": spec.language,
            "candidates": list(task.candidates),
            "digest": task.digest,
            "folder": str(task.folder.resolve()),
            "overrides": dict(request.task_overrides),
            "sizing": prepared.sizing or None,
        },
        endpoint={
            "name": prepared.endpoint,
            "base_url": settings.base_url or None,
            "model": settings.model or None,
            "simulated": prepared.simulated is not None,
            "simulator_seed": request.seed if prepared.simulated is not None else None,
            "configured": configured(prepared.endpoint),
        }
        | _simulator(prepared),
        work=work_of(task, settings),
        conditions=conditions_of(prepared),
        repeats=prepared.repeats,
        seed=prepared.seed,
        gate=stored_policy(prepared.policy) if prepared.policy else None,
        settings=settings.model_dump(mode="json", exclude_unset=True, exclude={"headers"}),
        versions=versions(),
    )


def _simulator(prepared: Prepared) -> Json:
    """That a server under an address of its own says that it simulates a model."""
    known = prepared.provenance.facts if prepared.provenance else None
    return {"simulator": True} if known is not None and known.simulated else {}


def configured(endpoint: str) -> Json:
    """The endpoint's table in evalstab.toml as it is now, headers (which may be keys) left out."""
    table = read_config().endpoints.get(endpoint)
    return table.model_dump(mode="json", exclude_unset=True, exclude={"headers"}) if table else {}


def work_of(task: Task, settings: EndpointSettings) -> Json:
    """What must be equal for two series to be compared."""
    return {
        "task_digest": task.digest,
        "prompt": digest_of(opening_messages(task)),
        "tools": digest_of([tool.as_openai() for tool in offered_tools(task)]),
        "max_steps": task.spec.limits.max_steps,
        "max_seconds": max_seconds(task, settings),
        "max_tokens": task.spec.limits.max_tokens,
        "loop_version": LOOP_VERSION,
    }


def conditions_of(prepared: Prepared) -> Json:
    """What may differ between two series: compared, not required; unknown is the word."""
    settings, request = prepared.settings, prepared.request
    sampling = settings.sampling.model_dump(mode="json", exclude_none=True)
    known = prepared.provenance
    return {
        "model": settings.model or UNKNOWN,
        "quant": settings.quantisation or (known.quant if known else UNKNOWN),
        "engine": settings.engine or (known.engine if known else UNKNOWN),
        "launch": known.launch.fingerprint if known else UNKNOWN,
        "hardware": known.hardware if known else UNKNOWN,
        "sampling": sampling | settings.extra_body,
        "sampling_not_set": not_set(settings),
        "thinking": settings.thinking,
        "replay_reasoning": settings.replay_reasoning,
        "stream": settings.stream,
        "context": list(request.contexts) or None,
        "groups": request.groups,
        "ballast": prepared.sizing.get("ballast_tokens"),
        "concurrency": request.concurrency,
        "cache": request.cache,
        "shuffle": request.shuffle,
    }


def context_name(request: RunRequest) -> str:
    """How folder names call the context: its target, or natural."""
    return "-".join(f"{size // 1000}k" for size in request.contexts) or "natural"


def default_folder(prepared: Prepared) -> Path:
    """``reports/<date>-<time>-<task>-<endpoint>-<context>/`` in the current folder."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    endpoint = prepared.endpoint.replace(":", "-").replace("/", "-")
    name = f"{stamp}-{prepared.task.name}-{endpoint}-{context_name(prepared.request)}"
    place = Path("reports") / name
    number = 2
    while place.exists():
        place = Path("reports") / f"{name}-{number}"
        number += 1
    return place


def digest_of(value: object) -> str:
    """A short digest of any JSON value."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]


def versions() -> Json:
    """The versions that bear on the result."""
    found: Json = {"python": platform.python_version()}
    for name in ("evalstab", "openai", "aiohttp", "numpy", "langdetect", "py3langid"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = UNKNOWN
    return found
