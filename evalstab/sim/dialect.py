"""Server dialects: which form an answer takes on the wire, as data in ``data/dialects.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from evalstab.errors import ConfigError

_FILE = Path(__file__).parent / "data" / "dialects.toml"


class Dialect(BaseModel):
    """One server's way of speaking; the file says what the fields mean."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    reasoning: Literal["reasoning", "reasoning_content", "reasoning_details", "inline"]
    replayed: tuple[str, ...]
    usage: tuple[Literal["cached", "reasoning", "reasoning-on-top"], ...]
    call_id: str
    errors: Literal["nested", "flat", "llamacpp", "minimax", "ollama"]
    overflow: Literal["refuse", "truncate"]
    unknown_model: Literal["refuse", "answer"]
    role_content: str | None = None
    fingerprint: str | None = None
    timings: bool = False
    call_finish_on_cut: str = "length"
    never_length: bool = False
    splits: bool = False
    speaks: tuple[Literal["responses", "messages"], ...] = ()
    events: Literal["numbered", "plain"] = "plain"


@cache
def dialects() -> dict[str, Dialect]:
    """All dialects by name."""
    table = tomllib.loads(_FILE.read_text("utf-8"))
    return {name: Dialect.model_validate({"name": name, **entry}) for name, entry in table.items()}


def dialect(name: str) -> Dialect:
    """A dialect by name; raises ConfigError for an unknown one."""
    try:
        return dialects()[name]
    except KeyError:
        raise ConfigError(f"no dialect {name!r}; there are: {', '.join(dialects())}") from None
