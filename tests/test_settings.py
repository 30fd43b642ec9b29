"""Settings that cannot be meant are refused with their key before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalstab.endpoint.fields import request_fields
from evalstab.errors import ConfigError
from evalstab.sendable import address
from evalstab.settings import EndpointSettings, parse_assignment, read_config, validated

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
        ("extra_body = { messages = [] }", "extra_body: 'messages'"),
        ("extra_body = { model = 'other' }", "extra_body: 'model'"),
        ("headers = { 'X A' = 'b' }", "headers: 'X A'"),
        ("headers = { '' = 'b' }", "headers: ''"),
        ("api_key_env = ''", "api_key_env"),
        ("launch = { port = 99999999 }", "launch.port"),
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


@pytest.mark.parametrize(
    ("written", "secret"),
    [
        ('api_key_env = "sk-hunter22hunter22"', "hunter22"),
        ('headers = { "X-Key" = "hünter22" }', "nter22"),
        ('headers = { "X-Key" = "a\\nhunter22: b" }', "hunter22"),
    ],
)
def test_what_may_be_a_secret_is_not_quoted(tmp_path: Path, written: str, secret: str) -> None:
    place = tmp_path / "evalstab.toml"
    place.write_text(f"[endpoints.rig]\n{written}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        read_config(place)
    assert secret not in str(refused.value)


@pytest.mark.parametrize("text", ["a = " + "[" * 3000 + "]" * 3000, "retries = " + "9" * 5000])
def test_toml_that_python_cannot_hold(tmp_path: Path, text: str) -> None:
    place = tmp_path / "evalstab.toml"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="Mend the"):
        read_config(place)
    assert parse_assignment(f"extra_body.{text.replace(' = ', '=')}")[1]


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    place = tmp_path / "evalstab.toml"
    place.write_text('[endpoints.rig]\nmodel = "m"\n', encoding="utf-8-sig")
    assert read_config(place).endpoints["rig"].model == "m"


def test_one_sentence_for_a_key_that_may_be_two_things(tmp_path: Path) -> None:
    place = tmp_path / "evalstab.toml"
    place.write_text("[endpoints.rig]\nsampling = { seed = 'x' }\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        read_config(place)
    said = str(refused.value)
    assert said.count("\n") == 0
    assert said.startswith(f"{place}: endpoints.rig.sampling.seed: ")
    assert "per-trial" in said


def test_extra_body_adds_to_objects_that_are_sent_anyway() -> None:
    settings = EndpointSettings.model_validate(
        {
            "thinking": "on",
            "extra_body": {
                "stream_options": {"continuous_usage_stats": True},
                "chat_template_kwargs": {"thinking": False, "more": 1},
            },
        }
    )
    fields = request_fields(settings, ())
    assert fields["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    kwargs = {"enable_thinking": True, "thinking": False, "more": 1}
    assert fields["chat_template_kwargs"] == kwargs
