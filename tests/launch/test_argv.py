"""Command lines of all engines come out in one vocabulary; nothing is filled in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.launch.argv import describe

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "launch"
CASES: list[dict[str, Any]] = json.loads((FIXTURES / "launch_cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_cases(case: dict[str, Any]) -> None:
    made = describe(case["argv"], case["env"])
    said: dict[str, Any] = {"engine": made.engine, "shell_wrapped": made.shell_wrapped}
    said |= made.settings
    for key, value in case["expect"].items():
        assert said.get(key) == value, key


def test_a_config_file_makes_the_command_line_incomplete() -> None:
    made = describe(["vllm", "serve", "--config", "/etc/vllm.yaml"])
    assert made.incomplete == ["settings also stand in /etc/vllm.yaml, which was not read"]


def test_flags_that_no_table_knows_are_kept_as_written() -> None:
    made = describe(["vllm", "serve", "m", "--new-flag", "7", "--another"])
    assert made.others == {"--new-flag": "7", "--another": True}


def test_wrappers_before_the_server_do_not_matter() -> None:
    made = describe(["numactl", "-N", "0", "/usr/bin/env", "A=b", "vllm", "serve", "m", "-tp", "2"])
    assert (made.engine, made.settings["model"], made.settings["tp"]) == ("vllm", "m", 2)


def test_of_several_shell_commands_the_server_is_taken() -> None:
    line = "cd /srv && export A=b; exec llama-server -m q.gguf -c 8192 | tee log"
    made = describe(["bash", "-lc", line])
    assert made.engine == "llama.cpp"
    assert made.settings == {"model": "q.gguf", "ctx": 8192}


def test_no_server_is_no_engine() -> None:
    assert describe(["docker-proxy", "-proto", "tcp"]).engine is None


def test_a_flash_attention_switch_takes_a_value_or_none() -> None:
    assert describe(["llama-server", "-fa", "-mla", "3"]).settings["flash_attention"] is True
    assert describe(["llama-server", "-fa", "off"]).settings["flash_attention"] == "off"


def test_environment_twins_of_switches() -> None:
    made = describe(["llama-server"], {"LLAMA_ARG_JINJA": "0", "LLAMA_ARG_NEW": "x"})
    assert made.settings == {"jinja": False}
    assert made.others == {"LLAMA_ARG_NEW": "x"}


@given(st.lists(st.text(max_size=20), max_size=12))
def test_any_words_are_read(words: list[str]) -> None:
    for head in ([], ["vllm", "serve"], ["llama-server"], ["sh", "-c"]):
        describe([*head, *words])
