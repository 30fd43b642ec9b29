"""A server in a container, by what docker or podman say of the container and its image.

Every key is read leniently: they differ between docker and podman and between their versions.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from evalstab.launch.model import Evidence, Found, Json, Mark
from evalstab.launch.start import kept, start_evidence
from evalstab.reach import Reach
from evalstab.redact import redactor

ENGINES = ("docker", "podman")
NEVER = "0001-01-01T00:00:00Z"
_COMPOSE = "com.docker.compose."
_HOST_FIELDS = (
    "IpcMode",
    "NetworkMode",
    "PidMode",
    "Privileged",
    "CapAdd",
    "SecurityOpt",
    "Ulimits",
    "Memory",
    "NanoCpus",
    "CpusetCpus",
    "RestartPolicy",
    "Runtime",
)
_MARKS_OF_ENGINES = frozenset({"container", "TERM"})


def look_at_container(name: str, reach: Reach) -> tuple[Found | None, str]:
    """What docker or podman know of a container; None with the reason where neither knows it."""
    problems = []
    for engine in ENGINES:
        container, problem = inspect(engine, ("inspect", name), reach)
        if container is None:
            problems.append(problem)
            continue
        image_id = _text(container.get("Image")) or name
        image, _ = inspect(engine, ("image", "inspect", image_id), reach)
        found = found_in(engine, container, image)
        _compose_files(found, container, reach)
        return found, ""
    return None, "; ".join(problems)


def inspect(engine: str, words: tuple[str, ...], reach: Reach) -> tuple[Json | None, str]:
    """The one object that ``ENGINE WORDS`` prints, None with the reason where it does not."""
    ran = reach.run([engine, *words], seconds=20)
    if not ran.well:
        return None, ran.problem or f"{engine} failed"
    try:
        items = msgspec.json.decode(ran.out.encode())
    except msgspec.DecodeError as error:
        return None, f"{engine}: {error}"
    if not isinstance(items, list) or not items or not isinstance(items[0], dict):
        return None, f"{engine}: no such object"
    return items[0], ""


def found_in(engine: str, container: Json, image: Json | None) -> Found:
    """What the inspected container and image say."""
    config, host = _part(container, "Config"), _part(container, "HostConfig")
    env = _environment(config.get("Env"))
    argv = [_text(container.get("Path")) or "", *_words(container.get("Args"))]
    name = (_text(container.get("Name")) or "").lstrip("/")
    source = f"{engine} inspect {name}"
    evidence, made = start_evidence("configured", source, argv, env)
    user_env = _users_own(env, image)
    facts = evidence.facts | _image_facts(container, image, config) | _devices(container, host)
    if shm := _shared_memory(host):
        facts["shm_bytes"] = shm
    written, left_out = kept(user_env)
    raw = evidence.raw | {
        "user_env": written,
        "user_env_not_kept": left_out,
        "entrypoint": redactor().json(config.get("Entrypoint")),
        "cmd": redactor().argv(_words(config.get("Cmd"))),
        "labels": redactor().json(_part(config, "Labels")),
        "host": {key: host[key] for key in _HOST_FIELDS if host.get(key)},
        "mounts": [_mount(m) for m in _list(container.get("Mounts"))],
        "image": _image_raw(image),
    }
    found = Found(
        method="container",
        evidence=[Evidence(rank="configured", source=source, facts=facts, raw=raw)],
        command=_command(engine, container, written, name),
        placement=_placement(engine, container, name, made.settings.get("port")),
        incomplete=list(made.incomplete),
        mark=mark_of(container),
    )
    if facts.get("local_build"):
        found.notes.append("the image was built here: it cannot be pulled by somebody else")
    return found


def mark_of(container: Json) -> Mark:
    """What tells this start of the container from the next one."""
    state = _part(container, "State")
    count, running = container.get("RestartCount"), state.get("Running")
    return Mark(
        running=running if isinstance(running, bool) else None,
        ended=_ended(state) if running is False else None,
        container=_text(container.get("Id")),
        container_started=_text(state.get("StartedAt")),
        restart_count=count if isinstance(count, int) else None,
    )


def _ended(state: Json) -> str:
    killed = ", killed for memory" if state.get("OOMKilled") else ""
    return f"{state.get('Status')}, exit code {state.get('ExitCode')}{killed}"


def _image_facts(container: Json, image: Json | None, config: Json) -> Json:
    facts: Json = {"image": _text(config.get("Image")) or container.get("ImageName")}
    if identity := _text(container.get("Image")):
        facts["image_id"] = identity if ":" in identity else f"sha256:{identity}"
    if image is None:
        return facts
    digests = [d for d in _words(image.get("RepoDigests")) if not d.startswith("localhost/")]
    facts["local_build"] = not digests
    if digests:
        facts["image_digest"] = digests[0].partition("@")[2]
    tags = _words(image.get("RepoTags"))
    if facts["image"] and tags and str(facts["image"]).removeprefix("docker.io/") not in tags:
        facts["tag_moved"] = True
    return facts


def _image_raw(image: Json | None) -> Json:
    if image is None:
        return {}
    kept = ("Id", "RepoTags", "RepoDigests", "Created", "Architecture")
    raw = {key: image.get(key) for key in kept}
    return raw | {"layers": _part(image, "RootFS").get("Layers")}


def _devices(container: Json, host: Json) -> Json:
    requests = _list(host.get("DeviceRequests"))
    if requests:
        first = requests[0]
        ids = _words(first.get("DeviceIDs"))
        return {"gpus": ids or ("all" if first.get("Count") == -1 else first.get("Count"))}
    created = _words(_part(container, "Config").get("CreateCommand"))
    cdi = [word for word in created if word.startswith(("nvidia.com/gpu=", "amd.com/gpu="))]
    if cdi:
        return {"gpus": [word.partition("=")[2] for word in cdi]}
    paths = [str(d.get("PathOnHost")) for d in _list(host.get("Devices"))]
    return {"device_files": paths} if paths else {}


def _shared_memory(host: Json) -> int | None:
    size = host.get("ShmSize")
    private = host.get("IpcMode") not in ("host", "none")
    return size if isinstance(size, int) and private else None


def _command(engine: str, container: Json, user_env: Mapping[str, str], name: str) -> str:
    """The command that starts this container again; podman keeps the one that was typed."""
    config, host = _part(container, "Config"), _part(container, "HostConfig")
    created = _words(config.get("CreateCommand"))
    if created:
        return shlex.join(redactor().argv(_without_values(created)))
    words = [engine, "run", "-d", "--name", name]
    words += _gpu_words(container, host)
    if host.get("IpcMode") == "host":
        words += ["--ipc", "host"]
    elif size := _shared_memory(host):
        words += ["--shm-size", str(size)]
    if host.get("NetworkMode") == "host":
        words += ["--network", "host"]
    for limit in _list(host.get("Ulimits")):
        words += ["--ulimit", f"{limit.get('Name')}={limit.get('Soft')}:{limit.get('Hard')}"]
    policy = _part(host, "RestartPolicy").get("Name")
    if policy and policy != "no":
        words += ["--restart", str(policy)]
    for port, bindings in _part(host, "PortBindings").items():
        for binding in _list(bindings):
            where = f"{binding['HostIp']}:" if binding.get("HostIp") else ""
            words += ["-p", f"{where}{binding.get('HostPort')}:{str(port).partition('/')[0]}"]
    for bind in _words(host.get("Binds")):
        words += ["-v", bind]
    for key, value in user_env.items():
        words += ["-e", f"{key}={value}"]
    entrypoint = config.get("Entrypoint")
    words += [str(config.get("Image") or "IMAGE"), *_words(config.get("Cmd"))]
    if not entrypoint and not config.get("Cmd"):
        words += [str(container.get("Path") or ""), *_words(container.get("Args"))]
    return shlex.join(redactor().argv(words))


def _without_values(words: list[str]) -> list[str]:
    """A typed command, its ``-e NAME=VALUE`` without the values that may not be written."""
    done: list[str] = []
    for word in words:
        before, name, value = "", "", ""
        if done and done[-1] in ("-e", "--env"):
            name, _, value = word.partition("=")
        elif word.startswith("--env="):
            before, (name, _, value) = "--env=", word.removeprefix("--env=").partition("=")
        done.append(f"{before}{name}" if value and not kept({name: value})[0] else word)
    return done


def _gpu_words(container: Json, host: Json) -> list[str]:
    gpus = _devices(container, host).get("gpus")
    if isinstance(gpus, list) and gpus:
        return ["--gpus", f'"device={",".join(gpus)}"']
    if gpus:
        return ["--gpus", str(gpus)]
    return ["--runtime", "nvidia"] if host.get("Runtime") == "nvidia" else []


def _placement(engine: str, container: Json, name: str, argv_port: Any) -> Json:
    state, config = _part(container, "State"), _part(container, "Config")
    actual = _part(_part(container, "NetworkSettings"), "Ports")
    ports = {
        str(inside): [f"{b.get('HostIp') or '0.0.0.0'}:{b.get('HostPort')}" for b in _list(outside)]
        for inside, outside in actual.items()
    }
    labels = _part(config, "Labels")
    finished = state.get("FinishedAt")
    return {
        "container_engine": engine,
        "container": name,
        "container_id": container.get("Id"),
        "status": state.get("Status"),
        "created": container.get("Created"),
        "started": state.get("StartedAt"),
        "finished": None if finished == NEVER else finished,
        "restart_count": container.get("RestartCount"),
        "oom_killed": state.get("OOMKilled"),
        "pid": state.get("Pid") or None,
        "ports": ports,
        "port": argv_port if not ports else None,
        "compose": {
            key.removeprefix(_COMPOSE): value
            for key, value in labels.items()
            if str(key).startswith(_COMPOSE)
        },
        "unit": labels.get("PODMAN_SYSTEMD_UNIT"),
    }


def _compose_files(found: Found, container: Json, reach: Reach) -> None:
    labels = _part(_part(container, "Config"), "Labels")
    listed = labels.get(f"{_COMPOSE}project.config_files")
    for path in str(listed).split(",") if listed else []:
        text = reach.read(path)
        found.files[path] = redactor().text(text) if text is not None else "unreadable"


def _users_own(env: Mapping[str, str], image: Json | None) -> dict[str, str]:
    shipped = _environment(_part(image or {}, "Config").get("Env"))
    return {
        key: value
        for key, value in env.items()
        if shipped.get(key) != value and key not in _MARKS_OF_ENGINES and key != "PATH"
    }


def _environment(value: object) -> dict[str, str]:
    return {k: v for k, eq, v in (word.partition("=") for word in _words(value)) if eq}


def _mount(mount: Json) -> Json:
    return {key: mount.get(key) for key in ("Type", "Source", "Destination", "RW")}


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return shlex.split(value)
    return [str(word) for word in value] if isinstance(value, list) else []


def _list(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _part(value: Json, key: str) -> Json:
    part = value.get(key)
    return part if isinstance(part, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
