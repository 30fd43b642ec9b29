"""``evalstab init``: a commented evalstab.toml for the server that is found on this machine."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from evalstab.endpoint.identify import identify
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.endpoint.server_pages import MODELS, Limits
from evalstab.errors import FolderError, UsageError
from evalstab.launch.capture import Asked, capture, is_local
from evalstab.series.files import write_whole
from evalstab.settings import CONFIG_NAME, EndpointSettings, validated
from evalstab.workflow.loop import on_a_loop
from evalstab.workflow.provenance import look_at_rig
from evalstab.workflow.secrets import remember_secrets
from evalstab.workflow.templates import CONFIG, ENDPOINT, NO_SERVER

PORTS = (8000, 8001, 8080, 8081, 30000, 11434, 1234, 5000, 5001, 8020, 9000)
"""Where vLLM, SGLang, llama.cpp, Ollama, LM Studio, TGI and KoboldCpp listen if not told else."""

CONNECT = 0.3
LIMITS = Limits(page=3.0, total=10.0)
_PAGE = re.compile(r"/(?:chat/completions|completions|responses|models)$")
_VERSION = re.compile(r"/v\d+$")
_NO_CHAT = re.compile(r"embed|rerank|whisper|tts|bge-", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """A server that answers as an OpenAI-compatible API does; ``locked`` where it wants a key."""

    base_url: str
    facts: ServerFacts
    locked: bool = False
    gpus: int = 0
    container: str | None = None

    @property
    def model(self) -> str:
        """The model to ask for: the first that can chat, as far as names tell."""
        chat = [name for name in self.facts.models if not _NO_CHAT.search(name)]
        return next(iter([*chat, *self.facts.models]), "")

    @property
    def name(self) -> str:
        """A name for its table."""
        last = self.model.rstrip("/").rpartition("/")[2] or str(urlsplit(self.base_url).port)
        plain = re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")[:40]
        return plain or "server"


@dataclass(frozen=True, slots=True)
class Made:
    """The file that was written, and the servers that it names."""

    path: Path
    found: tuple[Found, ...]


def init(folder: Path, base_url: str | None = None) -> Made:
    """Write evalstab.toml into a folder. FolderError where one stands there already.

    Without ``base_url`` the usual ports of this machine are asked, read-only. UsageError where the
    server that was named does not answer.
    """
    path = folder / CONFIG_NAME
    if path.exists():
        raise FolderError(f"{path} exists and is not overwritten: edit it, or move it away")
    found = [one for urls in addresses(base_url) if (one := _first(urls)) is not None]
    if base_url is not None and not found:
        raise UsageError(f"{base_url} does not answer as an OpenAI-compatible API: is it up?")
    write_whole(path, written(found))
    return Made(path, tuple(found))


def addresses(base_url: str | None) -> list[list[str]]:
    """What is asked: the address named, else that of the environment and all open usual ports.

    Each stands as the ways to write it, of which the first that answers is taken.
    """
    if base_url is not None:
        return [spellings(base_url)]
    named = os.environ.get("EVALSTAB_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
    known = {_port(named)} if named and is_local(named) else set()
    local = [[f"http://localhost:{port}/v1"] for port in PORTS if port not in known]
    open_ones = [urls for urls in local if _listens(_port(urls[0]) or 0)]
    return [*([spellings(named)] if named else []), *open_ones]


def spellings(address: str) -> list[str]:
    """The base URLs that a user may mean: ``rig1:8000`` and ``…/v1/models`` are understood too."""
    whole = address.strip().rstrip("/")
    whole = whole if "://" in whole else f"http://{whole}"
    base = _PAGE.sub("", whole)
    return [base] if _VERSION.search(base) else [f"{base}/v1", base]


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def _first(urls: Sequence[str]) -> Found | None:
    return next((one for url in urls if (one := asked(url)) is not None), None)


def asked(base_url: str) -> Found | None:
    """The server at this address, None where none of the kind is there. Only GETs."""
    settings = validated(EndpointSettings, {"base_url": base_url}, "init")
    remember_secrets(settings)
    facts = on_a_loop(_facts(settings))
    told = facts.pages.get(MODELS, "")
    locked = told in ("HTTP 401", "HTTP 403")
    if not facts.models and not locked:
        return None
    fitness = look_at_rig(settings)
    container = None
    if is_local(base_url):
        launch = capture(None, Asked(base_url=base_url, server=facts.for_launch()))
        name = launch.placement.get("container")
        container = name if isinstance(name, str) else None
    cards = fitness.reading.cards if fitness and fitness.reading else ()
    return Found(base_url, facts, locked, len(cards), container)


def written(found: Sequence[Found]) -> str:
    """The whole file for these servers; for none a file that works with the simulated endpoint."""
    names: list[str] = []
    tables = []
    for one in found:
        name = _unique(one.name, names)
        names.append(name)
        tables.append(_table(name, one))
    asked = [_quoted(name) for name in names or ["sim:steady"]]
    lines = [
        f'  {{ task = "eleven-profiles", endpoint = {one}, gate = "nightly" }},' for one in asked
    ]
    return CONFIG.format(
        endpoints="\n".join(tables) if tables else NO_SERVER,
        series="\n".join(lines),
        endpoint=asked[0],
    )


def _table(name: str, one: Found) -> str:
    others = [m for m in one.facts.models if m != one.model][:20]
    about = [f"# {one.facts.server or 'a server that does not say what it is'}"]
    context, pool = one.facts.value("context"), one.facts.value("kv_pool")
    about += [f"# context of one session: {context:,} tokens"] if isinstance(context, int) else []
    about += [f"# KV cache: room for {pool:,} tokens"] if isinstance(pool, int) else []
    about += [f"# also served: {', '.join(others)}"] if others else []
    lines = [f"model = {_quoted(one.model)}"] if one.model else ['model = ""   # name it here']
    if one.locked:
        lines.append('api_key_env = "RIG_KEY"   # it wants a key: export RIG_KEY=...')
    if quant := one.facts.value("quant"):
        lines.append(f"quantisation = {_quoted(str(quant))}")
    if one.container:
        lines.append(f"launch = {{ container = {_quoted(one.container)} }}")
    if one.gpus:
        lines.append(f"hardware = {{ expect_gpus = {one.gpus}, watch = true }}")
    return ENDPOINT.format(
        name=name,
        about="\n".join(_plain(about)),
        base_url=_quoted(one.base_url),
        rest="\n".join(lines),
    )


def _plain(lines: Iterable[str]) -> list[str]:
    """Comments in one line each, whatever a server called itself."""
    return ["".join(c if c.isprintable() else " " for c in line)[:200] for line in lines]


def _quoted(text: str) -> str:
    """A TOML string: those of JSON are, but for DEL, which TOML wants escaped."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")


def _unique(name: str, taken: Sequence[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=CONNECT):
            return True
    except OSError:
        return False


async def _facts(settings: EndpointSettings) -> ServerFacts:
    client = OpenAIChat(settings, os.environ.get(settings.api_key_env))
    try:
        return await identify(client, settings, LIMITS)
    finally:
        await client.close()
