"""Before the first trial: how long it takes at least, whether the server has room, what KV costs.

One short request tells how fast this endpoint reads and writes at a short context. At depth it will
be slower, so the time is a lower bound, and says so.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.identify import identify
from evalstab.endpoint.kv import kv_of, sessions
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.probe import Probe, probe
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.errors import ConfigError
from evalstab.report.numbers import count, duration, significant
from evalstab.task.ballast import ballast_messages, length_of
from evalstab.task.model import Task
from evalstab.workflow.prepare import Prepared, fields_for

PROBE_CHARACTERS = 5_000
THOUGHT_TOKENS = 3_000
"""Reasoning that is assumed of a trial before any was seen."""

_QUESTION = {"de": "Wie viele Akten waren das?", "en": "How many files were these?"}


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a short look at an endpoint showed, and what follows for the rungs asked for."""

    probe: Probe
    server: ServerFacts
    characters_a_token: float | None
    lines: tuple[str, ...]
    seconds: float | None

    def as_json(self) -> Json:
        """For ``ladder.json``: what was expected, and on what grounds."""
        return {
            "seconds_at_least": self.seconds,
            "prefill_tok_s": self.probe.prefill,
            "decode_tok_s": self.probe.decode,
            "probe_context_tokens": self.probe.prompt_tokens,
            "server_context_tokens": self.server.value("context"),
            "kv_pool_tokens": self.server.value("kv_pool"),
        }


async def look_ahead(prepared: Prepared, sizes: Sequence[int | None], levels: int = 1) -> Ahead:
    """Ask the endpoint for a few tokens and for its sizes; raises nothing for what is missing."""
    settings, task = prepared.settings, prepared.task
    language = "de" if task.spec.language.startswith("de") else "en"
    messages = ballast_messages(language, PROBE_CHARACTERS, prepared.seed)
    question = {"role": "user", "content": _QUESTION[language]}
    client = OpenAIChat(settings, os.environ.get(settings.api_key_env))
    try:
        server = await identify(client, settings)
        fields = fields_for(task, settings, 1)
        probed = await probe(client, fields, [*messages, question], header=settings.trial_header)
    finally:
        await client.close()
    ratio = None
    if probed.prompt_tokens:
        overhead = 5 * (len(messages) + 1)
        ratio = length_of([*messages, question]) / max(probed.prompt_tokens - overhead, 1)
        ratio = min(max(ratio, 1.0), 8.0)
    seconds = _seconds(prepared, sizes, probed, levels)
    lines = [*_room(sizes, server)]
    if seconds is not None or probed.problem or prepared.simulated is None:
        lines = [*_time(sizes, prepared.repeats, probed, seconds), *lines]
    return Ahead(probed, server, ratio, tuple(lines), seconds)


def written_tokens(task: Task) -> int:
    """A guess at what one trial writes, from what its task asks for."""
    entries = len(task.candidates) * (30 + 12 * len(task.spec.criteria))
    return THOUGHT_TOKENS + entries + 700 * (len(task.spec.asked) - 1)


def _seconds(
    prepared: Prepared, sizes: Sequence[int | None], probed: Probe, levels: int
) -> float | None:
    if not probed.prefill or not probed.decode:
        return None
    repeats = prepared.repeats
    cold = repeats if prepared.request.cache == "cold" else 1
    seconds = 0.0
    for size in sizes:
        read = size or sum(len(data) for data in prepared.task.inputs.values()) / 3.6
        seconds += cold * read / probed.prefill
        seconds += repeats * written_tokens(prepared.task) / probed.decode
    return seconds * levels


def _time(
    sizes: Sequence[int | None], repeats: int, probed: Probe, seconds: float | None
) -> Iterator[str]:
    if probed.problem:
        yield f"the probe failed ({probed.problem}): no time can be expected"
        return
    if seconds is None or probed.prefill is None or probed.decode is None:
        yield "the probe gave no rates (not streamed, or no usage): no time can be expected"
        return
    yield (
        f"expected: at least {duration(seconds)} for {len(sizes)} x {repeats} trials (probe at "
        f"{count(probed.prompt_tokens or 0)} tokens: reads {significant(probed.prefill)} tok/s, "
        f"writes {significant(probed.decode)} tok/s; slower at depth)"
    )


def _room(sizes: Sequence[int | None], server: ServerFacts) -> Iterator[str]:
    largest = max((size for size in sizes if size), default=None)
    if largest is None:
        return
    real = server.value("context")
    if isinstance(real, int) and real < largest:
        short = [f"{size // 1000}k" for size in sizes if size and size > real]
        yield (
            f"warning: the server's context is {count(real)} tokens: {', '.join(short)} cannot be "
            "reached there; start it with more, or ask for less"
        )
    yield from _kv(largest, server)


def _kv(largest: int, server: ServerFacts) -> list[str]:
    """What the KV cache of the largest rung takes, as far as that is known here."""
    lines = []
    if (config := _local_config(server)) is not None:
        with contextlib.suppress(ConfigError):
            kv = kv_of(config, str(server.value("kv_dtype") or "auto"))
            size = significant(kv.bytes_at(largest) / 2**30)
            lines.append(f"KV cache: {size} GiB for {count(largest)} tokens ({kv.dtype})")
    pool = server.value("kv_pool")
    if isinstance(pool, int) and pool > 0:
        fit = significant(sessions(pool, largest))
        lines.append(f"KV cache: room for {count(pool)} tokens, {fit} sessions of {count(largest)}")
    return lines or [
        "KV cache: memory not known here; evalstab check --model-config FILE works it out"
    ]


def _local_config(server: ServerFacts) -> Json | None:
    """The ``config.json`` of the served model, where it is a folder on this machine."""
    name = server.value("model")
    if not isinstance(name, str) or not name.startswith("/"):
        return None
    try:
        found = msgspec.json.decode((Path(name) / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
