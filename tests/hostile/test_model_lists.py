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
