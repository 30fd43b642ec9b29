"""Layered configuration: flag > environment > evalstab.toml > task > default.

Unknown keys are refused by name, with the nearest known one. The API key is read from the
environment when a request is made and never stands in a value of this module.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from evalstab.errors import ConfigError, UsageError, nearest
from evalstab.sendable import added, address, header_fields, sendable, variable

Json = dict[str, Any]
CONFIG_NAME = "evalstab.toml"
NO_FILE = f"there is no {CONFIG_NAME} here: evalstab init writes one"
SIMULATED = "sim:"
DEFAULT_ENDPOINT = "sim:drifting"
_BRANCH = re.compile(
    r"(?:constrained-)?(?:float|int|str|bool|none)|(?:literal|dict|list|tuple|function-\w+)\[.*\]"
)
_Model = TypeVar("_Model", bound=BaseModel)
Replay = Literal["auto", "reasoning", "reasoning_content", "reasoning_details", "inline", "none"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Sampling(_Part):
    """What the client asks for; a value not set is not sent, and reports say "not set"."""

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | Literal["per-trial"] | None = None
    stop: str | tuple[str, ...] | None = None


class Timeouts(_Part):
    """Seconds; ``first_token`` "auto" grows with the prompt (20 tok/s, at least 10 minutes)."""

    connect: float = Field(default=10, gt=0)
    first_token: Annotated[float, Field(gt=0)] | Literal["auto"] = "auto"
    idle: float = Field(default=600, gt=0)
    trial: float | None = Field(default=None, gt=0)

    def first(self, prompt_tokens: int | None) -> float:
        """Longest wait for the first token of a prompt of this size, in seconds."""
        if self.first_token != "auto":
            return self.first_token
        return max(600.0, (prompt_tokens or 0) / 20)


class Launch(_Part):
    """Where to learn how the server was started."""

    container: str | None = None
    unit: str | None = None
    port: int | None = Field(default=None, ge=1, le=65535)
    ssh: str | None = None
    declared: str | None = None


class Hardware(_Part):
    """What the rig should have, and whether it is watched during the series."""

    expect_gpus: int | None = Field(default=None, ge=0)
    watch: bool = True


class Price(_Part):
    """What a million tokens cost, in whatever currency; for ``evalstab plan`` only."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class EndpointSettings(_Part):
    """One ``[endpoints.NAME]`` table; see docs/reference.md for each key."""

    base_url: Annotated[str, AfterValidator(address)] = ""
    model: str = ""
    api_key_env: Annotated[str, AfterValidator(variable)] = "OPENAI_API_KEY"
    headers: Annotated[dict[str, str], AfterValidator(header_fields)] = Field(default_factory=dict)
    ca_file: str | None = None
    client_cert: str | None = None
    proxy: Annotated[str, AfterValidator(address)] | None = None
    sampling: Sampling = Sampling()
    extra_body: Annotated[Json, AfterValidator(sendable), AfterValidator(added)] = Field(
        default_factory=dict
    )
    thinking: Literal["on", "off", "auto"] = "auto"
    replay_reasoning: Replay = "auto"
    tool_choice: Annotated[str | Json | None, AfterValidator(sendable)] = None
    parallel_tool_calls: bool | None = None
    execute_leaked_calls: bool = False
    stream: bool = True
    retries: int = Field(default=3, ge=0, le=100)
    timeouts: Timeouts = Timeouts()
    trial_header: bool = False
    quantisation: str | None = None
    engine: str | None = None
    launch: Launch | None = None
    hardware: Hardware = Hardware()
    price: Price | None = None


class ConfigFile(_Part):
    """``evalstab.toml``; gates and the night are read by the rooms that know them."""

    endpoints: dict[str, EndpointSettings] = Field(default_factory=dict)
    gates: dict[str, Json] = Field(default_factory=dict)
    nightly: Json = Field(default_factory=dict)


def read_toml(path: Path) -> Json:
    """A TOML file as a dict; ConfigError names file and line of a syntax error."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}. Mend the TOML there.") from error
    except RecursionError:
        raise ConfigError(f"{path}: brackets nested without end. Mend the TOML there.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: {str(error)[:80]}. Mend the number there.") from None


def read_config(path: Path | None = None) -> ConfigFile:
    """The configuration file of the current folder (or the one named); empty where none is."""
    place = path or Path(os.environ.get("EVALSTAB_CONFIG", CONFIG_NAME))
    if not place.is_file():
        if path is not None or "EVALSTAB_CONFIG" in os.environ:
            raise ConfigError(f"{place} does not exist: name an evalstab.toml")
        return ConfigFile()
    return validated(ConfigFile, read_toml(place), str(place))


def endpoint_settings(
    name: str | None, flags: Mapping[str, Any], environ: Mapping[str, str], config: ConfigFile
) -> tuple[str, EndpointSettings]:
    """The endpoint's name and settings after all layers.

    ``flags`` holds dotted setting keys (``base_url``, ``sampling.temperature`` …), as given on the
    command line. An endpoint is a configured name, ``sim:PERSONA``, or a base URL.
    """
    layer: Json = {}
    chosen = name or environ.get("EVALSTAB_ENDPOINT")
    url = flags.get("base_url")
    if chosen and url:
        raise UsageError("--endpoint and --base-url exclude each other: give one of them")
    if chosen is None and url is None:
        url = environ.get("EVALSTAB_BASE_URL") or environ.get("OPENAI_BASE_URL")
        chosen = None if url else DEFAULT_ENDPOINT
    if chosen and not chosen.startswith(SIMULATED):
        if chosen not in config.endpoints:
            hint = nearest(chosen, [*config.endpoints, *_simulated()])
            place = os.environ.get("EVALSTAB_CONFIG", CONFIG_NAME)
            known = f" in {place}" if Path(place).is_file() else f": {NO_FILE}"
            raise ConfigError(f"unknown endpoint {chosen!r}{known}. {hint}")
        layer = config.endpoints[chosen].model_dump(exclude_unset=True)
    if url:
        layer["base_url"] = url
    if model := environ.get("EVALSTAB_MODEL"):
        layer["model"] = model
    for key, value in flags.items():
        set_dotted(layer, key, value)
    where = f"endpoint {chosen}" if chosen else "the command line"
    settings = validated(EndpointSettings, layer, where)
    return chosen or _name_of_url(settings.base_url), settings


def _simulated() -> list[str]:
    """The built-in endpoints, one for each persona that comes with the package."""
    folder = Path(__file__).parent / "sim" / "personas"
    return [f"{SIMULATED}{path.stem}" for path in folder.glob("*.toml")]


def set_dotted(target: Json, key: str, value: Any) -> None:
    """Set ``a.b.c`` in nested dicts."""
    *parents, last = key.split(".")
    for parent in parents:
        target = target.setdefault(parent, {})
    target[last] = value


def parse_assignment(text: str) -> tuple[str, Any]:
    """``key=value`` of ``--set``: the value is read as TOML, else taken as a plain string."""
    key, equals, raw = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--set {text!r}: write key=value, for example sampling.temperature=0.6")
    try:
        value = tomllib.loads(f"value = {raw}")["value"]
    except (ValueError, RecursionError):
        value = raw
    return key.strip(), value


def assignment(key: str, value: Any) -> str:
    """``key=value`` as ``parse_assignment`` reads it back."""
    plain = f"{key}={value}"
    bare = isinstance(value, str) and parse_assignment(plain) == (key, value)
    return plain if bare else f"{key}={json.dumps(value, ensure_ascii=False)}"


def _name_of_url(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].replace(":", "-") or "endpoint"


def validated(model: type[_Model], data: Any, where: str) -> _Model:
    """A model from plain data; ConfigError lists every mistake with its key, ``where`` first."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError("\n".join(_sentences(model, error, where))) from error


def _sentences(model: type[BaseModel], error: ValidationError, where: str) -> Iterable[str]:
    found = error.errors(include_url=False)
    wrong: dict[str, list[str]] = {}
    for item in found:
        key = _key_of(item["loc"])
        if item["type"] == "extra_forbidden":
            hint = nearest(str(item["loc"][-1]), _known_keys(model, item["loc"][:-1]))
            yield f"{where}: unknown key {key!r}. {hint}"
        elif item["type"] == "missing":
            yield f"{where}: {key}: this key is missing. Add it"
        elif item["type"] == "too_short":
            if not any(_inside(other["loc"], item["loc"]) for other in found):
                least = item["ctx"]["min_length"]
                yield f"{where}: {key}: it is empty. Write at least {least}"
        else:
            wrong.setdefault(key, []).append(item["msg"].removeprefix("Value error, "))
    for key, said in wrong.items():
        yield f"{where}: {key}: {', or: '.join(dict.fromkeys(said))}"


def _inside(part: tuple[int | str, ...], whole: tuple[int | str, ...]) -> bool:
    return len(part) > len(whole) and part[: len(whole)] == whole


def _key_of(location: tuple[int | str, ...]) -> str:
    """A key in people's counting: ``rules[2].name`` is that of the second rule.

    The names that pydantic gives to the branches of a union are no part of it.
    """
    named = (part for part in location if not _BRANCH.fullmatch(str(part)) or part is location[0])
    parts = (f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in named)
    return "".join(parts).removeprefix(".")


def _known_keys(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    current: type[BaseModel] | None = model
    for part in path:
        field = current.model_fields.get(str(part)) if current else None
        if field is None:
            continue
        for candidate in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                current = candidate
    return list(current.model_fields) if current else []
