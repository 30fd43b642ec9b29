"""Every server is known by its own pages, unknown facts stay unknown, no answer does harm."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.endpoint.base import Asked, Attempt, ChatRequest, History
from evalstab.endpoint.gauges import labels_of, read_gauges
from evalstab.endpoint.identify import identify
from evalstab.endpoint.known_parameters import known_ignored
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.preflight import preflight
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.endpoint.server_pages import Limits, dig, whole, word
from evalstab.endpoint.server_table import GAUGES
from evalstab.errors import EndpointUnusable
from evalstab.settings import EndpointSettings
from evalstab.sim.open import open_sim
from tests.endpoint.page_server import Page, serving

RECORDED = Path(__file__).parent.parent.parent / "fixtures" / "introspection" / "llamacpp"


def _look(url: str, model: str, limits: Limits | None = None) -> ServerFacts:
    async def work() -> ServerFacts:
        endpoint = EndpointSettings(base_url=f"{url}/v1", model=model)
        client = OpenAIChat(endpoint, None)
        try:
            return await identify(client, endpoint, limits)
        finally:
            await client.close()

    return asyncio.run(work())


def _at(pages: Mapping[str, Any], model: str = "m") -> ServerFacts:
    bodies = {path: json.dumps(page).encode() for path, page in pages.items()}
    with serving(bodies) as (url, _):
        return _look(url, model)


SIMULATED: dict[str, tuple[str | None, dict[str, Any]]] = {
    "vllm": ("vllm 0.25.1", {"context": 262_144, "slots": 256, "kv_dtype": "fp8_e4m3",
                             "kv_pool": 524_288, "quant": "awq_marlin", "dtype": "bfloat16"}),
    "sglang": ("sglang 0.5.6", {"context": 262_144, "slots": None, "kv_dtype": "fp8_e4m3",
                                "kv_pool": 524_288, "tool_parser": "minimax-m2"}),
    "llamacpp": ("llama.cpp b6700-5a91109a", {"context": 262_144, "slots": 1, "kv_dtype": None,
                                              "kv_pool": None}),
    "ik_llamacpp": ("ik_llama.cpp", {"context": 262_144, "slots": 1, "version": None}),
    "ollama": ("ollama 0.13.2", {"context": 262_144, "quant": "Q4_K_M", "kv_dtype": None}),
    "minimax": (None, {"context": 262_144, "slots": None, "version": None, "quant": None}),
}  # fmt: skip


@pytest.mark.parametrize("dialect", SIMULATED)
def test_each_dialect_is_known_with_its_facts(dialect: str) -> None:
    server, expected = SIMULATED[dialect]
    with open_sim("steady", dialect=dialect) as url:
        facts = _look(url, "sim-steady")
    assert facts.server == server
    assert {name: facts.value(name) for name in expected} == expected
    assert facts.models == ("sim-steady",)


def test_a_recorded_llama_cpp_server() -> None:
    pages = {
        "/props": (RECORDED / "props.json").read_bytes(),
        "/slots": (RECORDED / "slots.json").read_bytes(),
        "/metrics": (RECORDED / "metrics.txt").read_bytes(),
        "/v1/models": (RECORDED / "v1_models.json").read_bytes(),
    }
    missing = Page(b'{"error":{"message":"File Not Found","code":404}}', 404)
    with serving(pages, missing) as (url, asked):
        facts = _look(url, "smollm2-135m-instruct")
    assert facts.value("engine") == "llama.cpp"
    assert facts.value("context") == 8192
    assert facts.value("context_trained") == 8192
    assert facts.value("slots") == 1
    assert facts.value("quant") == "Q4_1"
    assert facts.value("model") == "models/SmolLM2-135M-Instruct.Q4_1.gguf"
    assert facts.value("kv_dtype") is None
    assert facts.sampling["temperature"].value == pytest.approx(0.8)
    assert facts.sampling["top_k"].value == 40
    assert facts.live == {"running": 0.0, "waiting": 0.0}
    assert facts.counters["cached_tokens"] == 4072
    assert len(asked) == len(set(asked)) <= 8
    assert not any("health" in line for line in asked)
    launch = facts.for_launch()
    assert launch["ctx_per_slot"] == 8192
    assert "ctx" not in launch
    assert "kv_k" not in launch


def test_lm_studio_states_the_loaded_context() -> None:
    loaded = {"config": {"context_length": 16_384, "parallel": 4}}
    model = {"key": "m", "quantization": {"name": "Q4_K_M"}, "max_context_length": 131_072}
    facts = _at(
        {
            "/v1/models": {"data": [{"id": "m", "owned_by": "organization_owner"}]},
            "/api/v1/models": {"models": [model | {"loaded_instances": [loaded]}]},
        }
    )
    assert facts.server == "lm-studio"
    assert (facts.value("context"), facts.value("slots")) == (16_384, 4)
    assert facts.value("context_trained") == 131_072
    unloaded = _at({"/api/v1/models": {"models": [model | {"loaded_instances": []}]}})
    assert unloaded.value("context") is None


def test_tgi_and_the_entry_of_the_model_asked_for() -> None:
    info = {"model_id": "x/y", "version": "3.3.1", "max_total_tokens": 8192}
    facts = _at({"/info": info})
    assert (facts.server, facts.value("context")) == ("tgi 3.3.1", 8192)
    two = {"data": [{"id": "a", "max_model_len": 1}, {"id": "m", "max_model_len": 2}]}
    facts = _at({"/v1/models": two, "/version": {"version": "0.9.2"}})
    assert (facts.server, facts.value("context")) == ("vllm 0.9.2", 2)
    assert _at({"/v1/models": two, "/version": {"version": "0.9.2"}}, "z").value("context") is None


def test_a_broker_lists_thousands_of_models() -> None:
    entry = {"context_length": 131_072, "supported_parameters": ["top_k", "tools"]}
    listed = [{"id": f"vendor/model-{n}", "description": "x" * 900} for n in range(2_000)]
    facts = _at({"/v1/models": {"data": [*listed, {"id": "m", **entry}]}})
    assert facts.value("context") == 131_072
    assert facts.value("supported_parameters") == ["top_k", "tools"]
    assert len(facts.models) == 200
    assert known_ignored(facts, "min_p") is not None
    assert known_ignored(facts, "top_k") is None


def test_the_version_page_of_ik_is_no_vllm() -> None:
    features = {"version": 4, "features": {"sql": False}}
    assert _at({"/version": features}).engine is None
    facts = _at({"/version": features, "/v1/props": {"n_ctx": 4096, "model_name": "m"}})
    assert facts.server == "ik_llama.cpp"


def test_ollama_says_what_is_not_loaded_and_what_lies_in_main_memory() -> None:
    version = {"/api/version": {"version": "0.13.2"}}
    facts = _at(version | {"/api/ps": {"models": []}})
    assert facts.value("context") is None
    assert "not loaded" in facts.notes[0]
    half = {"name": "m", "size": 100, "size_vram": 25, "context_length": 4096}
    facts = _at(version | {"/api/ps": {"models": [half]}})
    assert facts.value("context") == 4096
    assert facts.notes == ("75% of the model lies in main memory, not on the GPU",)


def test_pools_and_gauges_of_several_engines_and_ranks() -> None:
    text = (
        'vllm:num_requests_running{engine="0"} 2\nvllm:num_requests_running{engine="1"} 3\n'
        'sglang:num_queue_reqs{tp_rank="0"} 4\nsglang:num_queue_reqs{tp_rank="1"} 4\n'
        'vllm:cache_config_info{cache_dtype="fp8",num_gpu_blocks="None"} 1\n'
        "vllm:kv_cache_usage_perc NaN\n"
    )
    assert read_gauges(text, GAUGES) == {"running": 5.0, "waiting": 4.0}
    assert labels_of(text, "vllm:cache_config_info")["cache_dtype"] == "fp8"
    assert labels_of(text, "vllm:nothing") == {}


HOSTILE = {
    "empty": b"",
    "a page": b"<html>" + b"x" * 10_000,
    "a number": b"17",
    "a list": b"[1, 2, 3]",
    "a deep list": b"[" * 100_000,
    "a deep object": b'{"data":' * 100_000,
    "broken UTF-8": b'{"version": "\xff\xfe"}',
    "a surrogate": b'{"version": "\\ud800", "build_info": "\\ud800"}',
    "wrong types": b'{"data": {"id": []}, "models": 3, "version": [], "build_info": {"a": 1}}',
    "huge numbers": b'{"build_info": "b1", "total_slots": 1e400, "default_generation_settings": '
    b'{"n_ctx": 99999999999999999999999999, "params": {"temperature": -1e999, "top_k": []}}}',
    "null entries": b'{"data": [null, 1, {"id": 7}], "version": null}',
    "endless": b'{"data": "' + b"x" * 3_000_000,
    "control characters": b'{"version": "1.0\\u001b[31m\\n\\u202e"}',
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_no_body_does_harm(body: bytes) -> None:
    with serving({}, Page(body)) as (url, asked):
        facts = _look(url, "m")
    assert len(asked) <= 20
    assert facts.value("context") is None
    assert facts.value("slots") is None
    told = " ".join(str(fact.value) for fact in (facts.engine, facts.version) if fact)
    assert told.isprintable()


@pytest.mark.parametrize("status", [301, 401, 403, 429, 500, 503])
def test_no_status_does_harm(status: int) -> None:
    page = Page(b"{}", status, {"location": "http://127.0.0.1:9/"})
    with serving({}, page) as (url, asked):
        facts = _look(url, "m")
    assert facts.engine is None
    assert set(facts.pages.values()) == {f"HTTP {status}"}
    assert len(asked) <= 20


def test_a_trickle_ends_when_the_time_is_up() -> None:
    with serving({}, Page(b" " * 1000, trickle=0.05)) as (url, asked):
        facts = _look(url, "m", Limits(page=0.2, total=0.5))
    assert facts.engine is None
    assert "not asked: the time was up" in facts.pages.values()
    assert len(asked) <= 4


def test_nobody_there() -> None:
    facts = _look("http://127.0.0.1:9", "m")
    assert facts.engine is None
    assert "read" not in facts.pages.values()


def test_a_hosted_service_is_known_by_its_name_and_asked_for_its_models_only() -> None:
    async def work() -> ServerFacts:
        endpoint = EndpointSettings(base_url="https://openrouter.ai.invalid/api/v1", model="m")
        client = OpenAIChat(endpoint, None)
        try:
            return await identify(client, endpoint, Limits(page=0.1, total=0.2))
        finally:
            await client.close()

    assert asyncio.run(work()).engine is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "id", "models", "params", "n_ctx", "version"]), inner
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(_JSON, st.sampled_from(["data[?].id", "models[0].params.n_ctx", "version", "[0]", "a[?]"]))
def test_digging_finds_something_or_nothing(value: Any, path: str) -> None:
    found = dig(value, path, "m")
    number = whole(found)
    assert number is None or number > 0
    text = word(found)
    assert text is None or text.isprintable()


BROKEN = {
    "a body cut short": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
    "broken chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "broken compression": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
    b"Content-Length: 4\r\n\r\nabcd",
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "nothing": b"",
    "a huge header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000 + b"\r\n\r\n{}",
    "a wrong length": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}",
}


@contextlib.asynccontextmanager
async def _client_of(raw: bytes) -> AsyncIterator[tuple[OpenAIChat, EndpointSettings]]:
    """A client of a server that answers everything with these bytes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(raw)
            await writer.drain()
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    endpoint = EndpointSettings(base_url=f"http://127.0.0.1:{port}/v1", model="m")
    client = OpenAIChat(endpoint, None)
    try:
        yield client, endpoint
    finally:
        await client.close()
        server.close()


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_no_broken_http_does_harm(raw: bytes) -> None:
    async def work() -> tuple[ServerFacts, Attempt]:
        async with _client_of(raw) as (client, endpoint):
            facts = await identify(client, endpoint, Limits(page=1, total=4))
            history = History()
            history.append({"role": "user", "content": "x"})
            asked = Asked(stream=False)
            request = ChatRequest(history=history, fields={"model": "m"}, asked=asked)
            return facts, await client.attempt(request)

    facts, attempt = asyncio.run(work())
    assert facts.engine is None
    assert attempt.findings
    assert attempt.error


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_an_endpoint_that_speaks_no_http_is_unusable_in_words(raw: bytes) -> None:
    async def work() -> None:
        async with _client_of(raw) as (client, endpoint):
            await preflight(client, endpoint)

    with pytest.raises(EndpointUnusable, match=r"127\.0\.0\.1"):
        asyncio.run(work())
