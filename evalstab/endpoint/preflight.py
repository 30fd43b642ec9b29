"""Before a series: is anybody there, does it take our key, does it serve the model asked for."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any
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


_TOO_LONG = re.compile(r"/(?:chat/completions|completions|responses|models)/?$")
_VERSION = re.compile(r"/v\d")


async def preflight(client: OpenAIChat, settings: EndpointSettings) -> Preflight:
    """Ask for the models served; EndpointUnusable names what is wrong and how to mend it.

    A server without a model list is used as configured, with a note. Where exactly one model is
    served and none was asked for, that one is taken.
    """
    ready = await _asked(client, settings)
    return replace(ready, notes=(*_unset_key(settings), *ready.notes))


def _unset_key(settings: EndpointSettings) -> tuple[str, ...]:
    """A note where a variable was named for the key and holds none."""
    name = settings.api_key_env
    if "api_key_env" not in settings.model_fields_set or os.environ.get(name):
        return ()
    return (f"api_key_env names {name}, which is not set: requests go without a key",)


async def _asked(client: OpenAIChat, settings: EndpointSettings) -> Preflight:
    url = settings.base_url
    parts = urlsplit(url)
    if parts.query:
        raise ConfigError(
            f"base_url {url!r}: paths are added behind it, so it can have no query. Write it "
            "without, and put what the server wants to know into headers or extra_body"
        )
    if _TOO_LONG.search(parts.path):
        shorter = _TOO_LONG.sub("", url)
        raise EndpointUnusable(f"base URL {url} names a page of the API: use {shorter}")
    try:
        body = await client.get("/models")
    except Refusal as refusal:
        return _refused(refusal, settings)
    except TimeoutError:
        raise EndpointUnusable(f"{url} does not answer within 10 s: is the server up?") from None
    except ConnectionError as error:
        raise EndpointUnusable(f"{url} cannot be reached ({error}): {_mend(url, error)}") from None
    return _choose(body, settings)


_MENDS = (
    ("https:", "wrong_version_number", "no TLS is spoken there: write http:// for https://"),
    ("https:", "record_layer_failure", "no TLS is spoken there: write http:// for https://"),
    ("https:", "certificate_verify", "name the certificate to be trusted in ca_file"),
    ("https:", "certificate_required", "the server wants a certificate: name it in client_cert"),
    ("http:", "reset by peer", "if TLS is spoken there, write https:// for http://"),
    ("http:", "disconnected", "if TLS is spoken there, write https:// for http://"),
    ("http:", "bad status line", "if TLS is spoken there, write https:// for http://"),
)
"""What to do by scheme and by what stands in the transport's reason."""


def _mend(url: str, error: Exception) -> str:
    scheme, said = f"{urlsplit(url).scheme}:", str(error).lower().replace(" ", "_")
    for known, sign, mend in _MENDS:
        if scheme == known and sign.replace(" ", "_") in said:
            return mend
    return "is the server up?"


def _refused(refusal: Refusal, settings: EndpointSettings) -> Preflight:
    url, status = settings.base_url, refusal.status
    if status in (401, 403):
        raise EndpointUnusable(_locked(url, status, settings.api_key_env))
    if 300 <= status < 400:
        target = refusal.headers.get("location", "elsewhere")
        raise EndpointUnusable(f"{url} redirects to {target[:200]}: use that address as base URL")
    if status == 503:
        raise EndpointUnusable(f"{url} is still loading its model (HTTP 503): try again later")
    if status in (404, 405):
        if hint := _add_v1(url):
            raise EndpointUnusable(f"{url}/models was not found (HTTP {status}){hint}")
        if settings.model:
            note = f"{url} lists no models; going on with {settings.model!r} as it was named"
            return Preflight(settings, (note,))
        raise UsageError(
            f"{url}/models was not found (HTTP {status}): is {url} the base URL of an "
            "OpenAI-compatible API? It usually ends in /v1. Where its server lists no models, name "
            "one with --model"
        )
    told = f"{url}/models answered HTTP {status}: {_excerpt(refusal.body)}"
    raise EndpointUnusable(f"{told}{_add_v1(url)}")


def _locked(url: str, status: int, variable: str) -> str:
    other = "or name another variable with --api-key-env"
    if status == HTTPStatus.UNAUTHORIZED and not os.environ.get(variable):
        return f"{url} wants a key (HTTP {status}): {variable} is not set; put one into it, {other}"
    return (
        f"{url} refused the key (HTTP {status}): put a valid one into the variable {variable}, "
        f"{other}"
    )


def _choose(body: bytes, settings: EndpointSettings) -> Preflight:
    url = settings.base_url
    try:
        told = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise EndpointUnusable(_not_an_api(url, body)) from None
    listed = told.get("data") if isinstance(told, dict) else told
    named = isinstance(listed, list)
    if not named and (not isinstance(told, dict) or listed is not None or _add_v1(url)):
        raise EndpointUnusable(_not_an_api(url, body))
    served = list(dict.fromkeys(name for entry in listed or () if (name := _name(entry))))
    if not settings.model:
        if len(served) == 1:
            return Preflight(settings.model_copy(update={"model": served[0]}))
        raise UsageError(
            f"{url} serves {len(served)} models: name one with --model. "
            f"Served: {', '.join(name[:100] for name in served[:20]) or 'none'}."
        )
    if served and settings.model not in served:
        raise EndpointUnusable(
            f"{url} does not serve {settings.model!r}. {nearest(settings.model, served)}"
        )
    return Preflight(settings)


def _name(entry: Any) -> str | None:
    """The id of an entry, None where it has none: one odd entry spoils no list."""
    name = entry.get("id") if isinstance(entry, dict) else entry
    return name if isinstance(name, str) and name else None


def _not_an_api(url: str, body: bytes) -> str:
    if body.lstrip()[:1] == b"<":
        told = f"{url} answers with a web page, not with an OpenAI-compatible API"
    else:
        told = f"{url}/models is no model list ({_excerpt(body)}): no OpenAI-compatible API?"
    return f"{told}{_add_v1(url)}"


def _add_v1(url: str) -> str:
    """What to do about a base URL without a version in it, empty where it has one."""
    if _VERSION.search(urlsplit(url).path):
        return ""
    return f"; the base URL usually ends in /v1: add /v1, try {url.rstrip('/')}/v1"


def _excerpt(body: bytes) -> str:
    text = body[:200].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else " " for c in text).strip() or "an empty body"
