"""How much context a server really has, and how large its KV cache is: what is cheap to ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.base import Refusal
from evalstab.endpoint.metrics import metrics_page, pool_tokens
from evalstab.endpoint.openai_chat import OpenAIChat

_MODEL_KEYS = ("max_model_len", "context_window", "context_length")


@dataclass(frozen=True, slots=True)
class Window:
    """What a server states; None where it does not.

    ``size`` is the tokens of one session, ``pool`` the tokens of its whole KV cache;
    ``config`` is the model's ``config.json`` where the served model is a folder on this machine.
    """

    size: int | None = None
    pool: int | None = None
    config: Json | None = None


async def window_of(client: OpenAIChat, model: str) -> Window:
    """Ask the model list, ``/props`` and ``/metrics``; never raises for what is not there."""
    entry = _entry(await _page(client, "/models"), model)
    props = await _page(client, client.beside("props"))
    sizes = [size for size in (*_from_entry(entry), *_from_props(props)) if size]
    metrics = await metrics_page(client)
    return Window(
        size=min(sizes) if sizes else None,
        pool=pool_tokens(metrics) if metrics else None,
        config=_local_config(entry, model),
    )


async def _page(client: OpenAIChat, path: str) -> Json:
    try:
        found = msgspec.json.decode(await client.get(path))
    except (Refusal, ConnectionError, TimeoutError, msgspec.MsgspecError):
        return {}
    return found if isinstance(found, dict) else {}


def _entry(models: Json, model: str) -> Json:
    data = models.get("data")
    entries = [e for e in data if isinstance(e, dict)] if isinstance(data, list) else []
    return next((e for e in entries if e.get("id") == model), entries[0] if entries else {})


def _from_entry(entry: Json) -> Iterator[int | None]:
    for key in _MODEL_KEYS:
        yield _size(entry.get(key))
    meta = entry.get("meta")
    yield _size(meta.get("n_ctx")) if isinstance(meta, dict) else None


def _from_props(props: Json) -> Iterator[int | None]:
    yield _size(props.get("n_ctx"))
    settings = props.get("default_generation_settings")
    yield _size(settings.get("n_ctx")) if isinstance(settings, dict) else None


def _size(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 < value < 1_000_000_000 else None


def _local_config(entry: Json, model: str) -> Json | None:
    for name in (entry.get("root"), model):
        path = Path(name) / "config.json" if isinstance(name, str) and name[:1] == "/" else None
        try:
            if path is not None and path.is_file():
                found = msgspec.json.decode(path.read_bytes())
                return found if isinstance(found, dict) else None
        except (OSError, ValueError):
            continue
    return None
