"""What a person wrote down about a start: a YAML, TOML or JSON file, or a shell command."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from evalstab.errors import ConfigError
from evalstab.launch.argv import Described, describe
from evalstab.launch.model import Evidence, Found, Json, Rank
from evalstab.redact import redactor

_NO_VALUE = re.compile(
    r"^(?:-[dit]{1,3}|--(?:rm|detach|interactive|tty|init|privileged|read-only|no-healthcheck|"
    r"publish-all|replace|tls-verify|oom-kill-disable))$"
)
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_IMAGES = (("vllm", ("vllm", "serve")), ("llama", ("llama-server",)), ("sglang", ()))


@dataclass(slots=True)
class Command:
    """A start command taken apart: the server's own words, environment, and where it runs."""

    argv: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    image: str | None = None
    name: str | None = None
    ports: list[str] = field(default_factory=list)


def take_apart(text: str) -> Command:
    """A shell command: with ``docker run`` or ``podman run`` around the server, or without."""
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError:
        words = text.replace("\\\n", " ").split()
    env: dict[str, str] = {}
    while words and (
        _ASSIGNMENT.match(words[0]) or words[0] in ("sudo", "exec", "nohup", "export")
    ):
        name, equals, value = words.pop(0).partition("=")
        if equals:
            env[name] = value
    for number, word in enumerate(words[:-1]):
        if PurePosixPath(word).name in ("docker", "podman", "nerdctl") and "run" in words[number:]:
            return _container_run(words[words.index("run", number) + 1 :], env)
    return Command(argv=words, env=env)


def _container_run(words: list[str], env: dict[str, str]) -> Command:
    made = Command(env=env)
    entrypoint: list[str] = []
    while words and words[0].startswith("-"):
        name, equals, value = words.pop(0).partition("=")
        if not equals and not _NO_VALUE.match(name) and words:
            value = words.pop(0)
        if name in ("-e", "--env"):
            key, has, said = value.partition("=")
            if has:
                made.env[key] = said
        elif name == "--name":
            made.name = value
        elif name in ("-p", "--publish"):
            made.ports.append(value)
        elif name == "--entrypoint":
            entrypoint = shlex.split(value)
    if words:
        made.image = words.pop(0)
    made.argv = [*entrypoint, *words]
    if not entrypoint and made.image and (not words or words[0].startswith("-")):
        head = next((start for mark, start in _IMAGES if mark in made.image), ())
        made.argv = [*head, *words]
    return made


def described(command: Command) -> Described:
    """What a command says in the one vocabulary."""
    return describe(command.argv, command.env)


def command_evidence(text: str, source: str, rank: Rank = "declared") -> Evidence:
    """Evidence out of a start command in a shell's words."""
    command = take_apart(text)
    made = described(command)
    facts: Json = {"engine": made.engine} if made.engine else {}
    facts |= made.settings
    for secret in ("api_key", "hf_token"):
        facts.pop(secret, None)
    if command.image:
        facts["image"] = command.image
    if made.others:
        facts["other_flags"] = made.others
    clean = redactor().json(facts)
    return Evidence(rank=rank, source=source, facts=clean, raw={"command": redactor().text(text)})


def read_declared(path: Path) -> Found:
    """A declaration in a file; ConfigError where it cannot be read or is no mapping."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"launch.declared: {path} cannot be read: {error}") from error
    source = f"declared in {path.name}"
    if path.suffix.lower() not in (".yaml", ".yml", ".toml", ".json"):
        evidence = command_evidence(text, source)
        return Found(method="declared", evidence=[evidence], command=evidence.raw["command"])
    data = _mapping(path, text)
    command = data.pop("command", None)
    if isinstance(command, Sequence) and not isinstance(command, str):
        command = shlex.join(str(word) for word in command)
    evidence = command_evidence(_with_env(command or "", data.pop("env", None)), source)
    facts = evidence.facts | redactor().json(data)
    raw: Json = {"command": evidence.raw["command"]} if command else {}
    made = Evidence(rank="declared", source=source, facts=facts, raw=raw)
    return Found(method="declared", evidence=[made], command=raw.get("command"))


def _with_env(command: str, env: object) -> str:
    if not isinstance(env, Mapping):
        return command
    words = [f"{name}={shlex.quote(str(value))}" for name, value in env.items()]
    return " ".join([*words, command])


def _mapping(path: Path, text: str) -> dict[str, Any]:
    try:
        if path.suffix.lower() == ".toml":
            data: Any = tomllib.loads(text)
        elif path.suffix.lower() == ".json":
            data = msgspec.json.decode(text.encode())
        else:
            data = _yaml(text)
    except (tomllib.TOMLDecodeError, msgspec.DecodeError, ValueError) as error:
        raise ConfigError(f"launch.declared: {path} cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"launch.declared: {path} holds no keys: write `command: …` into it")
    return {str(key): value for key, value in data.items()}


def _yaml(text: str) -> Any:
    import yaml  # noqa: PLC0415

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
