"""No secret stays in an exchange, however it is cut or escaped, and the pieces keep their times."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.intake.exchange import LOG_NAME, Exchange, read_exchanges
from evalstab.intake.exchange_log import ExchangeLog
from evalstab.intake.exchange_secrets import (
    clean_body,
    clean_headers,
    clean_pieces,
    clean_query,
)
from evalstab.redact import remember

KEY = "sk-planted-0123456789abcdefXYZ"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
OWN = "a word, of no known shape"


def delta(text: str, index: int = 0) -> bytes:
    chunk = {"choices": [{"index": index, "delta": {"content": text}}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def said(pieces: list[tuple[float, str]], index: int = 0) -> str:
    """What a stream says in one choice."""
    frames = "".join(text for _, text in pieces).split("\n\n")
    choices = [json.loads(f[6:])["choices"][0] for f in frames if f.startswith("data: {")]
    return "".join(c["delta"]["content"] for c in choices if c["index"] == index)


@given(
    secret=st.sampled_from((KEY, TOKEN)),
    cuts=st.lists(st.integers(1, 60), max_size=4),
    edges=st.lists(st.integers(1, 400), max_size=8),
)
def test_a_secret_over_frames_and_pieces_is_taken_out(
    secret: str, cuts: list[int], edges: list[int]
) -> None:
    text = f"größer:\n{secret}\nund fertig"
    places = sorted({0, len(text), *(cut % len(text) for cut in cuts)})
    stream = b"".join(delta(text[a:b]) for a, b in itertools.pairwise(places))
    bounds = sorted({0, len(stream), *(edge % len(stream) for edge in edges)})
    pieces = [(float(n), stream[a:b]) for n, (a, b) in enumerate(itertools.pairwise(bounds))]
    clean = clean_pieces(pieces)
    assert [at for at, _ in clean] == [at for at, _ in pieces]
    whole = said(clean)
    assert whole.startswith("größer:\n<redacted")
    assert whole.endswith(">\nund fertig")


def test_pieces_without_secrets_stay_as_they_came() -> None:
    stream = [delta("größer"), b": ping\n\n", delta("x"), b"data: no json\n\n", b"\xff\n"]
    pieces = [(n / 7, piece) for n, piece in enumerate(stream)]
    clean = clean_pieces(pieces)
    assert [text.encode() for _, text in clean[:4]] == stream[:4]
    assert clean[4] == (round(4 / 7, 6), "\ufffd\n")


def test_frames_beside_a_secret_keep_their_bytes_and_choices_are_told_apart() -> None:
    half = len(KEY) // 2
    stream = [delta(KEY[:half]), delta("other", 1), delta(KEY[half:]), delta(" end")]
    clean = clean_pieces([(float(n), piece) for n, piece in enumerate(stream)])
    assert clean[1][1].encode() == stream[1]
    assert clean[3][1].encode() == stream[3]
    assert said(clean).startswith("<redacted")
    assert said(clean, 1) == "other"


def test_escaped_secrets_are_found() -> None:
    escaped = "".join(f"\\u{ord(c):04x}" for c in KEY)
    body = f'{{"error": {{"message": "no key {escaped}", "n": 1}}}}'.encode()
    ((at, text),) = clean_pieces([(0.5, body)])
    assert at == 0.5
    assert json.loads(text)["error"]["message"].startswith("no key <redacted")
    remember(OWN)
    (one, two) = clean_pieces([(0.1, f"said: {OWN[:9]}".encode()), (0.2, OWN[9:].encode())])
    assert one == (0.1, "said: ")
    assert two[1].startswith("<redacted")


@pytest.mark.parametrize(
    "name",
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie",
     "set-cookie", "x-auth-token", "x-amz-security-token", "ocp-apim-subscription-key",
     "x-portkey-api-key", "x-litellm-api-key", "private-token", "x-vault-token", "helicone-auth",
     "cf-access-client-secret", "x-functions-key"],
)  # fmt: skip
def test_headers_of_known_names_are_taken_out(name: str) -> None:
    assert "hunter22" not in clean_headers({name: "Bearer hunter22hunter22"})[name]
    assert clean_headers({"x-session-id": "ses_1"}) == {"x-session-id": "ses_1"}


def test_queries_and_bodies_are_cleaned_by_name_and_the_conversation_by_shape() -> None:
    clean = clean_query("api-version=2&key=hunter22&api_key=hunter23&beta=true")
    assert clean.startswith("api-version=2&key=%3Credacted")
    assert clean.endswith("&beta=true")
    assert "hunter" not in clean
    body: dict[str, Any] = {
        "model": "m",
        "api_key": "hunter24",
        "prompt_cache_key": "ses_1",
        "max_tokens": 5,
        "metadata": {"note": f"with {KEY}"},
        "messages": [{"role": "user", "content": f"password: tree and \n{TOKEN}"}],
    }
    made = clean_body(body)
    assert made["api_key"].startswith("<redacted")
    assert (made["prompt_cache_key"], made["max_tokens"]) == ("ses_1", 5)
    assert made["metadata"]["note"].startswith("with <redacted")
    assert made["messages"][0]["content"].startswith("password: tree and \n<redacted")


def test_nothing_of_it_reaches_the_file(tmp_path: Path) -> None:
    log = ExchangeLog(tmp_path, "test")
    exchange = Exchange(
        session="s",
        path="/v1/chat/completions",
        query="key=hunter25hunter25",
        upstream="http://me:hunter26@rig:8000",
        req_headers={"authorization": f"Bearer {KEY}"},
        req_body={"messages": [{"role": "user", "content": f"{KEY} and hunter25hunter25"}]},
        status=200,
        resp_headers={"set-cookie": "sid=hunter27hunter27"},
    )
    half = len(KEY) // 2
    log.write(exchange, [(0.1, delta(KEY[:half])), (0.2, delta(KEY[half:])), (0.3, delta("."))])
    raw = (tmp_path / "s" / LOG_NAME).read_bytes()
    assert b"hunter" not in raw
    assert KEY[:half].encode() not in raw
    assert KEY[half:].encode() not in raw
    (read,) = read_exchanges(tmp_path / "s" / LOG_NAME)
    assert [at for at, _ in read.chunks] == [0.1, 0.2, 0.3]
    assert read.assembled is not None
    assert read.assembled["content"].startswith("<redacted")
