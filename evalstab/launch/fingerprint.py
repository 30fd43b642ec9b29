"""One hash over what changes answers or speed, and what two launches differ in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from evalstab.launch.flags import NOT_ANSWERS
from evalstab.launch.model import UNKNOWN, Fact, Json, Launch

CORE = (
    "engine",
    "version",
    "image_digest",
    "model",
    "quant",
    "kv_k",
    "kv_v",
    "ctx",
    "tp",
    "split_mode",
    "tensor_split",
    "parallel",
    "prefix_cache",
    "chat_template_sha256",
)
"""What a complete start says; where one of these is not known, the fingerprint holds "unknown"."""

_ELSEWHERE = {
    "vllm": ("split_mode", "tensor_split"),
    "sglang": ("split_mode", "tensor_split"),
    "llama.cpp": ("tp",),
    "ik_llama.cpp": ("tp",),
}
"""Core facts that an engine does not have."""

_OF_THE_MODEL = ("model", "quant", "chat_template_sha256")
_OUTSIDE = NOT_ANSWERS | {"kv_tokens", "ctx_per_slot", "tag_moved", "local_build", "image"}
_PLACES = frozenset({"HF_HOME"})
_SNAPSHOT = re.compile(r"models--([^/]+)/snapshots/([0-9a-f]{40})")

Answer = Literal["equal", "differs", "cannot tell"]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of two launches; ``None`` stands for not known."""

    fact: str
    base: Any
    new: Any
    answer: Answer


def identity(facts: Mapping[str, Fact]) -> Json:
    """What the fingerprint is made of, "unknown" where a core fact is not known."""
    known = {name: fact.value for name, fact in facts.items() if name not in _OUTSIDE}
    if "image_digest" not in known and "image_id" in known:
        known["image_digest"] = known["image_id"]
    known.pop("image_id", None)
    if "model" in known:
        known["model"] = model_name(str(known["model"]))
    if isinstance(env := known.get("env"), Mapping):
        known["env"] = {name: value for name, value in env.items() if name not in _PLACES}
    missing = _ELSEWHERE.get(str(known.get("engine")), ())
    core = [name for name in CORE if name not in missing]
    return {name: known.get(name, UNKNOWN) for name in {*core, *known}}


def fingerprint(facts: Mapping[str, Fact]) -> str:
    """The first 16 hex digits of a SHA-256 over the identity; "unknown" where nothing is known."""
    made = identity(facts)
    if all(value == UNKNOWN for value in made.values()):
        return UNKNOWN
    return hashlib.sha256(msgspec.json.encode(made, order="deterministic")).hexdigest()[:16]


def unknown_facts(facts: Mapping[str, Fact]) -> tuple[str, ...]:
    """The core facts that are not known, in order."""
    made = identity(facts)
    return tuple(name for name in CORE if made.get(name) == UNKNOWN)


def differences(base: Launch, new: Launch) -> list[Difference]:
    """Every fact that is not known to be equal; two unknowns are "cannot tell".

    Only where both ran the same image with a complete command line does a flag that neither sets
    stand for the same default.
    """
    first, second = identity(base.facts), identity(new.facts)
    same_build = _same_build(base, new)
    found = []
    for name in sorted({*first, *second}):
        one, other = first.get(name, UNKNOWN), second.get(name, UNKNOWN)
        answer = _answer(name, one, other)
        if same_build and one == other == UNKNOWN and name not in _OF_THE_MODEL:
            continue
        if answer != "equal":
            shown = [None if value == UNKNOWN else value for value in (one, other)]
            found.append(Difference(fact=name, base=shown[0], new=shown[1], answer=answer))
    return found


def _same_build(base: Launch, new: Launch) -> bool:
    one, other = (identity(launch.facts).get("image_digest", UNKNOWN) for launch in (base, new))
    return one == other != UNKNOWN and not base.incomplete and not new.incomplete


def _answer(name: str, one: Any, other: Any) -> Answer:
    if UNKNOWN in (one, other):
        said_by_one = one != other and name not in CORE
        return "differs" if said_by_one else "cannot tell"
    return "equal" if one == other else "differs"


def model_name(path: str) -> str:
    """A model by what it is, not by where it lies: snapshot with commit, else the last part."""
    if found := _SNAPSHOT.search(path):
        return f"{found[1].replace('--', '/')}@{found[2]}"
    return path.rstrip("/").rpartition("/")[2] if path.startswith(("/", "./", "~")) else path
