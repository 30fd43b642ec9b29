"""The secrets of an endpoint's settings: remembered, so that nothing writes them anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from evalstab.chat import Json
from evalstab.errors import ConfigError
from evalstab.redact import is_secret_name, remember, remember_headers, scrub
from evalstab.settings import EndpointSettings


def remember_secrets(settings: EndpointSettings) -> None:
    """From now on key, header values, proxy password and secret body fields go into no output.

    ConfigError where the base URL itself holds a secret, since that stands in every series.
    """
    address = urlsplit(settings.base_url)
    in_query = any(is_secret_name(name) for name, _ in parse_qsl(address.query))
    if address.password or address.username or in_query:
        raise ConfigError("base_url holds a secret: name the key's variable in api_key_env")
    remember(os.environ.get(settings.api_key_env))
    remember_headers(settings.headers)
    if settings.proxy and (password := urlsplit(settings.proxy).password):
        remember(password, unquote(password))
    remember(*_secret_texts(settings.extra_body))


def as_written(value: Json) -> Json:
    """Plain data as it stands in our files: without remembered secrets."""
    return msgspec.json.decode(scrub(msgspec.json.encode(value)), type=dict)


def with_secrets(recorded: EndpointSettings, configured: EndpointSettings) -> EndpointSettings:
    """Recorded settings with what was left out of the record put back from the configuration."""
    back: dict[str, Any] = {"headers": configured.headers} if configured.headers else {}
    for name in ("proxy", "extra_body"):
        kept, own = getattr(recorded, name), getattr(configured, name)
        if own and kept != own and as_written({"value": own}) == {"value": kept}:
            back[name] = own
    return recorded.model_copy(update=back) if back else recorded


def _secret_texts(value: object, secret: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _secret_texts(item, secret or is_secret_name(str(name)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secret_texts(item, secret)
    elif secret and isinstance(value, str):
        yield value
