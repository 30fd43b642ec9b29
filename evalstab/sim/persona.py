"""Personas: how a simulated model behaves, as data in small files beside this one.

A persona says how it judges, how much it thinks, how fast it is and which faults it has. Which
server it seems to run on (the dialect) is chosen apart from it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalstab.errors import ConfigError

FOLDER = Path(__file__).parent / "personas"
Share = Annotated[float, Field(ge=0, le=1)]
Curve = tuple[tuple[float, float], ...]
"""Points (context tokens, value), ascending; between them the value is interpolated."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Judgement(_Part):
    """How totals come about, as shares of the scale from the lowest to the highest total.

    ``source``: a latent order drawn from the candidates' ids (``latent``; a known truth of the
    task takes its place), the truth without noise (``truth``), or the order of reading.
    ``top`` is the range of the best total per trial, ``spread`` the distance from best to worst
    as a share of the best, ``lead`` the head start of the best, ``noise`` the deviation of one
    candidate per trial as a share of the distance from best to worst. ``keep_winner``: noise
    never moves the best candidate from its place. ``cold``: the first trial differs and all later
    ones are equal.
    """

    source: Literal["latent", "truth", "reading-order"] = "latent"
    top: tuple[Share, Share] = (0.84, 0.87)
    spread: Share = 0.5
    lead: Share = 0.06
    noise: Share = 0.03
    keep_winner: bool = True
    cold: bool = False


class Reasoning(_Part):
    """Thinking per trial in tokens, and the share of it that the judging step takes.

    Scarce sources limit it: at most ``per_source_token`` tokens for each token read.
    """

    tokens: tuple[int, int] = (3000, 4200)
    largest_share: tuple[Share, Share] = (0.5, 0.65)
    per_source_token: float = 0.7


class Pace(_Part):
    """Speed on the server's own clock, by active context.

    ``decode`` and ``prefill`` are tokens per second, log-linear between the points;
    ``overhead`` is spent before the prompt is read, in seconds. ``instant``: answers are sent as
    fast as possible and only the server's own clock runs at this pace.
    """

    instant: bool = True
    decode: Curve = ((0, 85.0), (80_000, 40.0), (200_000, 18.0))
    prefill: Curve = ((0, 2400.0), (80_000, 1200.0), (200_000, 600.0))
    overhead: float = 0.05


class Fault(_Part):
    """One kind of fault and the probability per step at which it strikes, by active context.

    ``persist``: a fault of the transport strikes a repeated request too. ``min_in_flight``: it
    strikes only while at least so many requests are being answered.
    """

    kind: str
    rate: Curve
    persist: bool = False
    min_in_flight: int = 0


class Pinned(_Part):
    """One trial whose outcome is fixed for the persona's own seed."""

    totals: dict[str, float]
    reasoning_tokens: int
    largest_block: int


class Persona(_Part):
    """A simulated model; ``default_seed`` holds where no other seed is asked for."""

    name: str
    about: str
    default_seed: int = 1
    judgement: Judgement = Judgement()
    reasoning: Reasoning = Reasoning()
    pace: Pace = Pace()
    faults: tuple[Fault, ...] = ()
    pinned: tuple[Pinned, ...] = ()


def names() -> list[str]:
    """The personas that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Persona:
    """A persona by its name, or from a TOML file of the user's own (a name ending in .toml).

    Raises ConfigError for an unknown name or a broken file.
    """
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        raise ConfigError(f"no persona {name!r}; there are: {', '.join(names())}")
    try:
        return Persona.model_validate({"name": path.stem, **tomllib.loads(path.read_text("utf-8"))})
    except (ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
