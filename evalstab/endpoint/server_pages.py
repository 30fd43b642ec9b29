"""The pages of a server, each asked at most once, within one bound of time; nothing raises."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec

from evalstab.endpoint.base import Refusal
from evalstab.endpoint.openai_chat import OpenAIChat

MODELS = "models"
"""The one page that stands below the base URL; all others stand beside it."""

TEXT_LIMIT = 400
_STEP = re.compile(r"([^.\[\]]+)|\[(\d{1,3}|\?)\]")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for one page, and for all of them together."""

    page: float = 5.0
    total: float = 20.0


@dataclass(slots=True)
class Pages:
    """Asks for pages by name (``props``, ``api/ps``, …) and keeps what came.

    ``told`` says in words what each page answered. A page that is missing, broken, too slow or too
    deep is ``None``, and so is every page after the time is up.
    """

    client: OpenAIChat
    limits: Limits = field(default_factory=Limits)
    told: dict[str, str] = field(default_factory=dict)
    _bodies: dict[str, bytes | None] = field(default_factory=dict)
    _decoded: dict[str, Any] = field(default_factory=dict)
    _until: float | None = None

    async def text(self, page: str) -> str | None:
        """A page as text."""
        body = await self._body(page)
        return body.decode("utf-8", "replace") if body is not None else None

    async def json(self, page: str) -> Any:
        """A page as JSON, ``None`` where it is none."""
        if page in self._decoded:
            return self._decoded[page]
        body = await self._body(page)
        value: Any = None
        if body is not None:
            try:
                value = msgspec.json.decode(body)
            except (msgspec.MsgspecError, RecursionError, UnicodeError):
                self.told[page] = "no JSON"
        self._decoded[page] = value
        return value

    def forget(self, page: str) -> None:
        """Ask for this page again the next time."""
        self._bodies.pop(page, None)
        self._decoded.pop(page, None)

    async def _body(self, page: str) -> bytes | None:
        if page not in self._bodies:
            self._bodies[page] = await self._ask(page)
        return self._bodies[page]

    async def _ask(self, page: str) -> bytes | None:
        now = time.monotonic()
        self._until = self._until or now + self.limits.total
        left = min(self.limits.page, self._until - now)
        if left <= 0:
            self.told[page] = "not asked: the time was up"
            return None
        address = "/models" if page == MODELS else self.client.beside(page)
        try:
            async with asyncio.timeout(left):
                body = await self.client.get(address, seconds=left)
        except Refusal as refusal:
            self.told[page] = f"HTTP {refusal.status}"
        except TimeoutError:
            self.told[page] = f"no answer within {left:.3g} s"
        except OSError as error:
            self.told[page] = str(error)[:TEXT_LIMIT] or "not reachable"
        else:
            self.told[page] = "read"
            return body
        return None


def dig(value: Any, path: str, model: str = "") -> Any:
    """What stands at ``a.b[0].c``; ``None`` where there is nothing.

    ``[?]`` is the entry of the model asked for: the one that carries its name, or the only one.
    """
    for match in _STEP.finditer(path):
        key, place = match[1], match[2]
        if key is not None:
            value = value.get(key) if isinstance(value, dict) else None
        elif not isinstance(value, list):
            return None
        elif place == "?":
            value = entry_of(value, model)
        else:
            value = value[int(place)] if int(place) < len(value) else None
    return value


def entry_of(entries: list[Any], model: str) -> Any:
    """The entry that carries a model's name, or the only one there is."""
    for entry in entries:
        names = ("id", "key", "model", "name", "slug")
        if isinstance(entry, dict) and model and model in [entry.get(name) for name in names]:
            return entry
    return entries[0] if len(entries) == 1 else None


def whole(value: Any) -> int | None:
    """A positive whole number, also where it stands as text or as 4096.0."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    known = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**15
    return value if known else None


def word(value: Any) -> str | None:
    """A short text on one line; ``None`` for anything else, and for the words that say "unset"."""
    if not isinstance(value, str) or value.strip() in ("", "None", "null"):
        return None
    text = value[:TEXT_LIMIT].removeprefix("torch.")
    return "".join(c if c.isprintable() else " " for c in text).strip() or None
