"""From a command line (and the environment) to what it sets, in one vocabulary for all engines."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from evalstab.launch.flags import (
    IK_CACHE_TYPES,
    IK_ONLY,
    IK_SPLIT_MODES,
    TABLES,
    Flag,
)

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh"})
_LLAMA = re.compile(r"^(?:llama[-_]server|llama-cli-server|llama[-_.]cpp[-_]server)(?:\.\w+)?$")
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)([kKmMgG]?)$")
_POWERS = {"": 1, "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}
_NEGATIVE = re.compile(r"^-\d")
_OTHERS = {
    "text-generation-launcher": "tgi",
    "lmdeploy": "lmdeploy",
    "ollama": "ollama",
    "koboldcpp": "koboldcpp",
    "mistralrs-server": "mistral.rs",
    "mlx_lm.server": "mlx",
    "trtllm-serve": "tensorrt-llm",
}
_TWIN = "LLAMA_ARG_"
_FALSE = frozenset({"0", "false", "off", "disabled", "no"})


@dataclass(slots=True)
class Described:
    """What a start says of itself; ``settings`` only holds what was really said.

    ``engine`` is None where no known server was recognised. ``others`` are flags that no table
    knows, as written. ``incomplete`` says why the command line is not the whole truth.
    """

    engine: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)
    incomplete: list[str] = field(default_factory=list)
    shell_wrapped: bool = False


def describe(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Described:
    """What a server's command line and environment set; flags win over their environment twins."""
    words, wrapped = _unwrapped(list(argv))
    engine, rest = _engine(words)
    made = Described(engine=engine, shell_wrapped=wrapped)
    if engine is None or engine not in TABLES:
        made.others = {"argv": list(rest)} if engine else {}
        return made
    if engine == "llama.cpp" and _is_ik(words, rest):
        made.engine = "ik_llama.cpp"
    assert made.engine is not None
    table = TABLES[made.engine]
    if made.engine in ("llama.cpp", "ik_llama.cpp"):
        _read_twins(made, table, env or {})
    _read_flags(made, table, rest, dashes=made.engine in ("vllm", "sglang"))
    _conclude(made)
    return made


def _unwrapped(argv: list[str]) -> tuple[list[str], bool]:
    """The words of the server's own command, out of ``sh -c '…'`` where it stands in one."""
    for number, word in enumerate(argv[:-1]):
        if PurePosixPath(word).name not in _SHELLS:
            continue
        flags = [n for n in range(number + 1, len(argv) - 1) if re.match(r"^-[a-z]*c$", argv[n])]
        if flags:
            try:
                words = shlex.split(argv[flags[0] + 1], comments=True)
            except ValueError:
                words = argv[flags[0] + 1].split()
            parts = list(_commands(words))
            known = [part for part in parts if _engine(part)[0]]
            return (known or parts or [[]])[-1], True
    return argv, False


def _commands(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in ("&&", "||", ";", "|", "&"):
            yield part
            part = []
        elif word.endswith(";"):
            yield [*part, word[:-1]]
            part = []
        else:
            part.append(word)
    if part:
        yield part


def _engine(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The server that these words start, and the words after its name."""
    for number, word in enumerate(words):
        name = PurePosixPath(word).name
        after = list(words[number + 1 :])
        if name == "vllm" and after[:1] == ["serve"]:
            return "vllm", after[1:]
        if word.startswith("vllm.entrypoints"):
            return "vllm", after
        if word.startswith("sglang.launch_server") or (name == "sglang" and after[:1] == ["serve"]):
            return "sglang", after[1:] if after[:1] == ["serve"] else after
        if _LLAMA.match(name):
            return "llama.cpp", after
        if name in _OTHERS:
            return _OTHERS[name], after
    return None, []


def _is_ik(words: Sequence[str], rest: Sequence[str]) -> bool:
    pairs = list(itertools.pairwise(rest))
    return (
        any("ik_llama" in word or "/ik/" in word for word in words[: len(words) - len(rest)])
        or any(word.partition("=")[0] in IK_ONLY for word in rest)
        or any(flag in ("-sm", "--split-mode") and v in IK_SPLIT_MODES for flag, v in pairs)
        or any(
            flag in ("-ctk", "-ctv", "--cache-type-k", "--cache-type-v") and v in IK_CACHE_TYPES
            for flag, v in pairs
        )
    )


def _read_twins(made: Described, table: Mapping[str, Flag], env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not name.startswith(_TWIN):
            continue
        word = "--" + name.removeprefix(_TWIN).lower().replace("_", "-")
        flag = table.get(word)
        if flag is None:
            made.others[name] = value
        elif flag.kind in ("on", "off"):
            said = value.strip().lower() not in _FALSE
            _set(made, flag, said if flag.kind == "on" else not said)
        else:
            _set(made, flag, value)


def _read_flags(
    made: Described, table: Mapping[str, Flag], words: Sequence[str], *, dashes: bool
) -> None:
    number = 0
    while number < len(words):
        word = words[number]
        number += 1
        if not word.startswith("-") or _NEGATIVE.match(word):
            if "model" not in made.settings and made.engine == "vllm":
                made.settings["model"] = word
            continue
        name, equals, value = word.partition("=")
        if dashes and name.startswith("--"):
            name = name.replace("_", "-")
        flag = table.get(name)
        following = words[number] if number < len(words) else None
        takes = following is not None and (
            not following.startswith("-") or bool(_NEGATIVE.match(following))
        )
        if flag is not None and flag.kind in ("on", "off"):
            _set(made, flag, flag.kind == "on")
            continue
        if (
            not equals
            and takes
            and (flag is None or flag.kind != "switch" or _is_switch(following))
        ):
            value, equals = str(following), "="
            number += 1
        _note(made, name, flag, value if equals else True)


def _note(made: Described, name: str, flag: Flag | None, value: Any) -> None:
    if flag is None:
        made.others[name] = value
    else:
        _set(made, flag, value)


def _is_switch(word: str | None) -> bool:
    return word in ("on", "off", "auto", "0", "1")


def _set(made: Described, flag: Flag, value: Any) -> None:
    for key in flag.keys:
        made.settings[key] = _value(flag, value)


def _value(flag: Flag, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if flag.kind == "size":
        found = _SIZE.match(value)
        return int(float(found[1]) * _POWERS[found[2]]) if found else value
    if flag.kind == "whole":
        return int(value) if re.fullmatch(r"-?\d{1,18}", value) else value
    if flag.kind == "numbers":
        parts = re.split(r"[,/]", value)
        if all(re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", part) for part in parts):
            return [float(p) if "." in p else int(p) for p in parts]
    return value


def _conclude(made: Described) -> None:
    settings = made.settings
    if place := settings.get("config_file"):
        made.incomplete.append(f"settings also stand in {place}, which was not read")
    if made.engine not in ("llama.cpp", "ik_llama.cpp"):
        return
    ctx, slots = settings.get("ctx"), settings.get("parallel")
    if isinstance(ctx, int) and isinstance(slots, int) and ctx > 0 and slots > 0:
        settings["ctx_per_slot"] = ctx // slots
