"""Which server is this, and what does it say of itself: a few GETs, none of which costs it much.

Nothing here raises for what a server answers, and nothing is guessed: what no page states is not
known. Health pages are left alone, since some servers compute a token for them or block.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any
from urllib.parse import urlsplit

from evalstab.endpoint.gauges import labels_of, read_gauges
from evalstab.endpoint.metrics import pool_tokens, read_counters
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.server_facts import Fact, ServerFacts
from evalstab.endpoint.server_pages import MODELS, Limits, Pages, dig, whole, word
from evalstab.endpoint.server_table import (
    ANY,
    DEFAULTS,
    GAUGES,
    HOSTS,
    ROWS,
    SAMPLING,
    SIGNATURES,
    WITH_METRICS,
    WITH_PROPS,
    Kind,
    Row,
)
from evalstab.settings import EndpointSettings

MODELS_KEPT = 200
NAMES_KEPT = 200


async def identify(
    client: OpenAIChat, settings: EndpointSettings, limits: Limits | None = None
) -> ServerFacts:
    """What the server's own pages tell; empty facts where they tell nothing. Never raises."""
    pages = Pages(client, limits or Limits())
    model = settings.model
    hosted = _hosted(settings.base_url)
    engine = hosted or await _engine(pages)
    name = str(engine.value) if engine else ""
    facts: dict[str, Any] = {"engine": engine} if engine else {}
    for row in ROWS.get(name, ANY):
        if row.fact not in facts and (found := await _fact(pages, row, model)):
            facts[row.fact] = found
    if name in WITH_PROPS:
        facts |= _by_props(await pages.json("props"))
    if name in WITH_METRICS and (text := await pages.text("metrics")):
        facts = _by_metrics(text) | facts
    return ServerFacts(
        **facts,
        models=await _served(pages),
        notes=tuple(await _notes(pages, name, model)),
        pages=pages.told,
        simulated=dig(await pages.json(MODELS), "simulated_by") == "evalstab",
    )


def _hosted(base_url: str) -> Fact | None:
    host = (urlsplit(base_url).hostname or "").lower()
    for ending, name in HOSTS.items():
        if host == ending or host.endswith(f".{ending}"):
            return Fact(f"hosted: {name}", "host name")
    return None


async def _engine(pages: Pages) -> Fact | None:
    for sign in SIGNATURES:
        found = dig(await pages.json(sign.page), sign.path)
        plain = str(found) if isinstance(found, (str, int)) else ""
        if re.fullmatch(sign.pattern, plain[:200], re.DOTALL):
            return Fact(sign.engine, f"/{_shown(sign.page)} {sign.path}")
    return None


async def _fact(pages: Pages, row: Row, model: str) -> Fact | None:
    value = _read(dig(await pages.json(row.page), row.path, model), row.kind)
    if value is None:
        return None
    return Fact(value, f"/{_shown(row.page)} {row.path.replace('[?]', '[model]')}")


def _read(value: Any, kind: Kind) -> Any:
    if kind == "whole":
        return whole(value)
    if kind == "word":
        return word(value)
    names = value[:NAMES_KEPT] if isinstance(value, list) else []
    return [name for name in map(word, names) if name] or None


def _by_props(props: Any) -> dict[str, Any]:
    """Sampling defaults and the chat template of a llama.cpp server."""
    sampling: dict[str, Fact] = {}
    for path in DEFAULTS:
        stated = dig(props, path)
        for name in SAMPLING:
            value = stated.get(name) if isinstance(stated, dict) else None
            if isinstance(value, (int, float)):
                sampling.setdefault(name, Fact(value, f"/props {path}"))
    found: dict[str, Any] = {"sampling": sampling}
    template = dig(props, "chat_template")
    if isinstance(template, str) and template:
        digest = hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest()
        found["template_sha256"] = Fact(digest, "/props chat_template")
    return found


def _by_metrics(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "live": read_gauges(text, GAUGES),
        "counters": read_counters(text),
    }
    info = "vllm:cache_config_info"
    if (pool := pool_tokens(text)) is not None:
        found["kv_pool"] = Fact(pool, f"/metrics {info}")
    if dtype := word(labels_of(text, info).get("cache_dtype")):
        found["kv_dtype"] = Fact(dtype, f"/metrics {info} cache_dtype")
    return found


async def _served(pages: Pages) -> tuple[str, ...]:
    entries = dig(await pages.json(MODELS), "data")
    listed = entries[:MODELS_KEPT] if isinstance(entries, list) else []
    return tuple(name for entry in listed if (name := word(dig(entry, "id"))))


async def _notes(pages: Pages, engine: str, model: str) -> list[str]:
    """What a reader must know of these facts."""
    if engine == "ollama":
        loaded = dig(await pages.json("api/ps"), "models[?]", model)
        if loaded is None:
            return ["Ollama has not loaded this model: its context is known once it has"]
        size, on_gpu = whole(dig(loaded, "size")), whole(dig(loaded, "size_vram")) or 0
        if size and on_gpu < size:
            return [f"{1 - on_gpu / size:.0%} of the model lies in main memory, not on the GPU"]
    if any(told == "HTTP 503" for told in pages.told.values()):
        return ["some pages answer HTTP 503: the model may still be loading"]
    return []


def _shown(page: str) -> str:
    return "v1/models" if page == MODELS else page.partition("?")[0]
