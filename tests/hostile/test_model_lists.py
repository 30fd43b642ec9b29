"""Lists of models that no server should send."""

from __future__ import annotations

import pytest

from evalstab.endpoint.preflight import _choose
from evalstab.errors import EndpointUnusable, nearest
from evalstab.settings import EndpointSettings

SETTINGS = EndpointSettings(base_url="http://127.0.0.1:9/v1", model="m")


def test_a_list_nested_without_end_is_no_model_list() -> None:
    with pytest.raises(EndpointUnusable, match="is no model list"):
        _choose(b'{"data":' + b"[" * 100_000, SETTINGS)


def test_a_long_list_of_names_is_shortened() -> None:
    said = nearest("zzz", [f"model-{number}" for number in range(100_000)])
    assert said.endswith("and 99980 more.")
    assert len(said) < 500


@pytest.mark.parametrize(
    "odd", [b"null", b"7", b'"m"', b"[]", b'{"id":null}', b'{"id":7}', b"{}", b'{"id":["m"]}']
)
def test_one_odd_entry_spoils_no_list(odd: bytes) -> None:
    body = b'{"data":[' + odd + b',{"id":"m"},{"id":"m"}]}'
    assert _choose(body, SETTINGS).settings.model == "m"
    chosen = _choose(body, SETTINGS.model_copy(update={"model": ""}))
    assert chosen.settings.model == "m"


@pytest.mark.parametrize("body", [b"null", b"7", b'"m"', b'{"data":7}', b'{"data":{"id":"m"}}'])
def test_what_holds_no_list_is_none(body: bytes) -> None:
    with pytest.raises(EndpointUnusable, match="is no model list"):
        _choose(body, SETTINGS)
