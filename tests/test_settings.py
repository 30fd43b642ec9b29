"""Settings that cannot be meant are refused with their key before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalstab.errors import ConfigError
from evalstab.settings import EndpointSettings, address, read_config, validated

NO_ADDRESSES = (
    "http://[::1", "http://h:ab/v1", "http://h:99999/v1", "http://a..b/v1", "http://ho st/v1",
    "http://h\\v1", "ftp://h/v1", "localhost:8000/v1", "http://", " ", "\x00", "http://h/v1#f",
    "http://h\u202e/v1",
)  # fmt: skip


@pytest.mark.parametrize("text", NO_ADDRESSES)
@pytest.mark.parametrize("key", ["base_url", "proxy"])
def test_what_is_no_address(text: str, key: str) -> None:
    with pytest.raises(ConfigError, match=f"^rig: {key}: the text .* is no address: write http"):
        validated(EndpointSettings, {key: text}, "rig")


@pytest.mark.parametrize("text", ["http://u:hunter22@[h/v1", "http://h:x/v1?key=hunter22"])
def test_a_broken_address_is_quoted_without_its_secret(text: str) -> None:
    with pytest.raises(ConfigError, match="is no address") as refused:
        validated(EndpointSettings, {"base_url": text}, "rig")
    assert "hunter22" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["http://[::1]:8000/v1", "https://my_rig/v1", "http://münchen.invalid:1/v1", ""]
)
def test_what_is_one(text: str) -> None:
    assert EndpointSettings(base_url=text).base_url == text


def test_space_around_an_address_is_none_of_it() -> None:
    assert address(" http://h/v1\n") == "http://h/v1"


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("timeouts = { first_token = -inf }", "timeouts.first_token"),
        ("timeouts = { first_token = 0 }", "timeouts.first_token"),
        ("timeouts = { idle = inf }", "timeouts.idle"),
        ("timeouts = { connect = nan }", "timeouts.connect"),
        ("sampling = { frequency_penalty = nan }", "sampling.frequency_penalty"),
        ("price = { input = inf, output = 1 }", "price.input"),
        ("extra_body = { top = { k = nan } }", "extra_body"),
        ("extra_body = { day = 2026-11-30 }", "extra_body"),
        ("tool_choice = { a = [inf] }", "tool_choice"),
    ],
)
def test_what_json_cannot_carry_and_no_clock_can_wait(
    tmp_path: Path, written: str, key: str
) -> None:
    place = tmp_path / "evalstab.toml"
    place.write_text(f"[endpoints.rig]\n{written}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        read_config(place)
    assert str(refused.value).startswith(f"{place}: endpoints.rig.{key}")
