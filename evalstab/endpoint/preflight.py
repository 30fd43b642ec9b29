"""Before a series: is anybody there, does it take our key, does it serve the model asked for."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from evalstab.endpoint.base import Refusal
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.errors import ConfigError, EndpointUnusable, UsageError, nearest
from evalstab.settings import EndpointSettings


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found out: settings with the model filled in, and notes for people."""

    settings: EndpointSettings
    notes: tuple[str, ...] = ()


class _Model(msgspec.Struct):
    id: str = ""


class _Models(msgspec.Struct):
    data: list[_Model] = msgspec.field(default_factory=list)


async def preflight(client: OpenAIChat, settings: EndpointSettings) -> Preflight:
    """Ask for the models served; EndpointUnusable names what is wrong and how to mend it.

    A server without a model list is used as configured, with a note. Where exactly one model is
    served and none was asked for, that one is taken.
    """
    url = settings.base_url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"base_url {url!r} is no address: write http://HOST:PORT/v1")
    try:
        body = await client.get("/models")
    except Refusal as refusal:
        return _refused(refusal, settings)
    except TimeoutError:
        raise EndpointUnusable(f"{url} does not answer within 10 s: is the server up?") from None
    except ConnectionError as error:
        raise EndpointUnusable(f"{url} cannot be reached ({error}): is the server up?") from None
    return _choose(body, settings)


def _refused(refusal: Refusal, settings: EndpointSettings) -> Preflight:
    url, status = settings.base_url, refusal.status
    if status in (401, 403):
        raise EndpointUnusable(
            f"{url} refused the key (HTTP {status}): put a valid one into the variable "
            f"{settings.api_key_env}, or name another variable with --api-key-env"
        )
    if 300 <= status < 400:
        target = refusal.headers.get("location", "elsewhere")
        raise EndpointUnusable(f"{url} redirects to {target[:200]}: use that address as base URL")
    if status == 503:
        raise EndpointUnusable(f"{url} is still loading its model (HTTP 503): try again later")
    if status in (404, 405):
        if "v1" not in urlsplit(url).path:
            raise EndpointUnusable(
                f"{url}/models was not found (HTTP {status}): the base URL usually ends in /v1, "
                f"try {url.rstrip('/')}/v1"
            )
        if settings.model:
            note = f"{url} lists no models; going on with {settings.model!r} as it was named"
            return Preflight(settings, (note,))
        raise UsageError(f"{url} lists no models: name one with --model")
    raise EndpointUnusable(f"{url}/models answered HTTP {status}: {_excerpt(refusal.body)}")


def _choose(body: bytes, settings: EndpointSettings) -> Preflight:
    url = settings.base_url
    try:
        served = [m.id for m in msgspec.json.decode(body, type=_Models).data if m.id]
    except (msgspec.MsgspecError, RecursionError):
        raise EndpointUnusable(_not_an_api(url, body)) from None
    if not settings.model:
        if len(served) == 1:
            return Preflight(settings.model_copy(update={"model": served[0]}))
        raise UsageError(
            f"{url} serves {len(served)} models: name one with --model. "
            f"Served: {', '.join(served[:20]) or 'none'}."
        )
    if served and settings.model not in served:
        raise EndpointUnusable(
            f"{url} does not serve {settings.model!r}. {nearest(settings.model, served)}"
        )
    return Preflight(settings)


def _not_an_api(url: str, body: bytes) -> str:
    if body.lstrip()[:1] == b"<":
        hint = "" if "v1" in urlsplit(url).path else f"; try {url.rstrip('/')}/v1"
        return f"{url} answers with a web page, not with an OpenAI-compatible API{hint}"
    return f"{url}/models is no model list: {_excerpt(body)}; is this an OpenAI-compatible API?"


def _excerpt(body: bytes) -> str:
    text = body[:200].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else " " for c in text).strip() or "an empty body"
