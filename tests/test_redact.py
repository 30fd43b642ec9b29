"""Secrets are taken out by name, by shape and by value; what is no secret stays as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalstab.redact import Redactor, is_secret_name
from tests.cli.program import environment

FIXTURES = Path(__file__).parent.parent / "fixtures"
REDACTOR = Redactor(b"a key for tests")
TOKEN = "hf_" + "A1b2C3d4E5" * 4


def _cases() -> list[tuple[str, str, str]]:
    lines = (FIXTURES / "launch" / "redact_cases.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(name, value, expected) for name, value, expected in rows]


@pytest.mark.parametrize(("name", "value", "expected"), _cases())
def test_cases(name: str, value: str, expected: str) -> None:
    became = REDACTOR.env({name: value})[name]
    if expected == "keep":
        assert became == value
    elif expected == "redact":
        assert became == REDACTOR.mark(value)
    else:
        assert "<redacted hmac:" in became
        assert "://" in became
        assert became.rpartition("@")[2] == value.rpartition("@")[2]
        assert "p@" not in became
        assert "pa55" not in became


@pytest.mark.parametrize(
    "name",
    ["PGPASSWORD", "DB_PASS", "clientSecret", "dbPassword", "RIG_KEY", "X-Api-Key", "accessToken"],
)
def test_more_names_that_say_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PWD", "max_tokens", "tokenizer", "MONKEY", "keyboard", "BYPASS"])
def test_names_that_do_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "text",
    [
        f"docker run -e HF_TOKEN={TOKEN} image",
        "docker run -e DB_PASS=hunter22 image",
        "docker run --env PGPASSWORD=hunter22 image",
        "curl -H 'Authorization: Bearer hunter22' http://x",
        'curl -H "X-Api-Key: hunter22" http://x',
        "vllm serve m --api-key hunter22 -tp 8",
        "vllm serve m --api-key=hunter22",
        "llama-server -hft hunter22 -c 4096",
        "redis://:hunter22@host:6379/0",
        "http://user:hunter22@host/v1",
        "http://user:p@hunter22@host/v1",
        "http://host/v1?api_key=hunter22&x=1",
        '{"a": {"clientSecret": "hunter22"}}',
        r'--extra "{\"api_key\": \"hunter22\"}"',
        "password = 'two words hunter22'",
        "api_key: hunter22",
    ],
)
def test_secrets_in_text(text: str) -> None:
    became = REDACTOR.text(text)
    assert "hunter22" not in became
    assert TOKEN not in became
    assert REDACTOR.text(became) == became


def test_a_command_line_keeps_all_but_the_secret() -> None:
    argv = ["vllm", "serve", "m", "--api-key", "abc", "--max-model-len", "4096", "--port", "80"]
    assert REDACTOR.argv(argv) == [*argv[:4], REDACTOR.mark("abc"), *argv[5:]]


def test_equal_marks_mean_equal_secrets_and_need_the_key() -> None:
    other = Redactor(b"another key")
    assert REDACTOR.mark("one") == REDACTOR.mark("one")
    assert REDACTOR.mark("one") != REDACTOR.mark("two")
    assert REDACTOR.mark("one") != other.mark("one")
    assert Redactor(None).mark("one") == "<redacted>"


def test_plain_data_is_read_by_its_keys() -> None:
    data = {"apiKey": "x", "headers": [{"cookie": "a=b"}], "max_tokens": 5, "text": "plain"}
    became = REDACTOR.json(data)
    assert became["apiKey"] == REDACTOR.mark("x")
    assert became["headers"][0]["cookie"] == REDACTOR.mark("a=b")
    assert (became["max_tokens"], became["text"]) == (5, "plain")


def test_long_hostile_text_is_read_in_linear_time() -> None:
    for text in ("a" * 400_000, "://" * 100_000, "a=" * 150_000, "bearer " * 50_000, '"' * 300_000):
        assert len(REDACTOR.text(text)) > 0


_PROGRAM = """
import json, sys
from evalstab import redact
secret = sys.argv[1]
redact.remember(secret, "no", "ollama")
once = json.dumps({"text": secret})
twice = json.dumps({"arguments": once})
print(redact.scrub(once.encode()).decode())
print(redact.scrub(twice.encode()).decode())
print(redact.scrub_text(f"no ollama here: {secret}!"))
"""


@pytest.mark.parametrize(
    "secret", ["plain-secret-1", 'with "quotes" and \\ strokes', "schlüssel-ß"]
)
def test_known_values_are_found_in_json_and_json_within_json(secret: str, tmp_path: Path) -> None:
    env = environment({"XDG_CONFIG_HOME": str(tmp_path)})
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, secret],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert secret not in done.stdout
    once, twice, plain = done.stdout.splitlines()
    assert json.loads(once)["text"].startswith("<redacted hmac:")
    assert json.loads(json.loads(twice)["arguments"])["text"].startswith("<redacted hmac:")
    assert plain.startswith("no ollama here: <redacted")


def test_the_key_is_made_once_and_is_the_users_own(tmp_path: Path) -> None:
    env = environment({"XDG_CONFIG_HOME": str(tmp_path)})
    program = "from evalstab.redact import redactor; print(redactor().mark('x'))"
    marks = {
        subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(marks) == 1
    key = tmp_path / "evalstab" / "redaction.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert os.listdir(key.parent) == ["redaction.key"]


def test_without_a_place_for_the_key_marks_are_bare(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = subprocess.run(
        [sys.executable, "-c", "from evalstab.redact import redactor; print(redactor().mark('x'))"],
        env=environment({"XDG_CONFIG_HOME": str(blocked)}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "<redacted>"
