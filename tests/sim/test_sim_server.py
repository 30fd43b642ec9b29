"""The server around the model: errors, limits, dialects, its process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstab.errors import ConfigError
from evalstab.sim.dialect import dialects
from evalstab.sim.open import open_sim, running
from evalstab.task.brief import opening_messages
from evalstab.task.load import load_task
from tests.sim.agent_loop import frames, get, hear, post, refused, run

TASK = Path(__file__).parents[2] / "tasks" / "three-notes"
Json = dict[str, Any]


@pytest.fixture(scope="module", params=sorted(dialects()))
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with running(["--persona", "steady", "--dialect", request.param, "--context", "4000"]) as url:
        yield request.param, url


def _chat(**fields: Any) -> Json:
    messages = [{"role": "user", "content": "Hello, who are you?"}]
    return {"model": "sim-steady", "messages": messages} | fields


def _answer(**fields: Any) -> Json:
    """A request whose answer has reasoning and content."""
    task = load_task(TASK, {"task.tools": "none"})
    return _chat(messages=opening_messages(task)) | fields


def test_models_and_unknown_paths(server: tuple[str, str]) -> None:
    _, url = server
    assert get(f"{url}/v1/models")["data"][0]["id"] == "sim-steady"
    with pytest.raises(urllib.error.HTTPError) as error:
        get(f"{url}/v1/nothing-here")
    assert error.value.code == 404
    error.value.close()


IDENTITY = {
    "vllm": ("/version", "version"),
    "sglang": ("/get_server_info", "version"),
    "llamacpp": ("/props", "build_info"),
    "ik_llamacpp": ("/v1/props", "n_ctx"),
    "minimax": ("/v1/models", "data"),
    "ollama": ("/api/version", "version"),
}


def test_each_dialect_can_be_told_by_its_pages(server: tuple[str, str]) -> None:
    name, url = server
    for other, (path, key) in IDENTITY.items():
        if other == name:
            assert get(f"{url}{path}")[key]
    foreign = {"vllm": "/props", "llamacpp": "/version", "ollama": "/metrics"}.get(name)
    if foreign:
        with pytest.raises(urllib.error.HTTPError) as error:
            get(f"{url}{foreign}")
        error.value.close()


def test_broken_and_empty_bodies_are_refused(server: tuple[str, str]) -> None:
    _, url = server
    for body in (b"{", b"[]", b"", b"\xff", b'{"model": "sim-steady", "messages": []}'):
        status, answer = refused(f"{url}/v1/chat/completions", body)
        assert status == 400
        assert "error" in answer or "message" in answer


def test_an_unknown_model_is_refused_where_servers_do(server: tuple[str, str]) -> None:
    name, url = server
    if dialects()[name].unknown_model == "answer":
        answer = json.loads(post(f"{url}/v1/chat/completions", _chat(model="no-such")))
        assert answer["model"] == "sim-steady"
    else:
        status, _ = refused(f"{url}/v1/chat/completions", _chat(model="no-such"))
        assert status == 404


def test_a_prompt_beyond_the_context(server: tuple[str, str]) -> None:
    name, url = server
    long = [{"role": "user", "content": "word " * 9000}]
    if name == "ollama":
        usage = json.loads(post(f"{url}/v1/chat/completions", _chat(messages=long)))["usage"]
        assert usage["prompt_tokens"] == 2002
        return
    status, body = refused(f"{url}/v1/chat/completions", _chat(messages=long))
    assert status == (500 if name == "ik_llamacpp" else 400)
    text = json.dumps(body)
    assert "context" in text
    if name != "ik_llamacpp":
        assert "4000" in text
    if name == "llamacpp":
        assert body["error"]["n_ctx"] == 4000
        assert body["error"]["n_prompt_tokens"] > 9000


def test_reasoning_stands_in_the_dialects_field(server: tuple[str, str]) -> None:
    name, url = server
    fields = {
        key
        for e in frames(post(f"{url}/v1/chat/completions", _answer(stream=True)))
        for c in e["choices"]
        for key in c["delta"]
    }
    whole = json.loads(post(f"{url}/v1/chat/completions", _answer()))["choices"][0]["message"]
    if name == "minimax":
        assert fields == {"role", "content"}
        assert whole["content"].startswith("<think>\n")
        assert "\n</think>\n\n" in whole["content"]
    else:
        own = dialects()[name].reasoning
        assert fields == {"role", "content", own}
        assert len(whole[own]) > 100


def test_streamed_and_whole_answers_say_the_same(server: tuple[str, str]) -> None:
    name, url = server
    body = _answer(stream=True, stream_options={"include_usage": True})
    streamed = hear(post(f"{url}/v1/chat/completions", body, {"X-Evalstab-Trial": "s/4/1"}))
    whole = json.loads(post(f"{url}/v1/chat/completions", _answer(), {"X-Evalstab-Trial": "s/4/1"}))
    message = whole["choices"][0]["message"]
    assert streamed.content == message["content"]
    if name != "minimax":
        assert streamed.reasoning == message[dialects()[name].reasoning]
    assert streamed.usage == whole["usage"]
    assert ("timings" in whole) == dialects()[name].timings


def test_usage_only_where_it_is_asked_for(server: tuple[str, str]) -> None:
    _, url = server
    assert hear(post(f"{url}/v1/chat/completions", _chat(stream=True))).usage is None


@pytest.mark.parametrize("limit", [1, 7, 300])
def test_a_token_limit_cuts(server: tuple[str, str], limit: int) -> None:
    name, url = server
    body = _answer(max_tokens=limit, stream=True, stream_options={"include_usage": True})
    heard = hear(post(f"{url}/v1/chat/completions", body))
    assert heard.usage is not None
    assert heard.usage["completion_tokens"] == limit
    assert heard.finish == ("stop" if name == "ik_llamacpp" else "length")


def test_thinking_can_be_switched_off(server: tuple[str, str]) -> None:
    _, url = server
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    heard = hear(post(f"{url}/v1/chat/completions", _answer(stream=True) | off))
    assert heard.reasoning == ""
    assert heard.content.startswith("```json")


@pytest.mark.parametrize("name", ["vllm", "llamacpp", "sglang", "ollama"])
def test_a_whole_trial_in_other_dialects(name: str, tmp_path: Path) -> None:
    task = load_task(TASK)
    with open_sim("steady", dialect=name) as url:
        trial = run(url, "sim-steady", task, tmp_path / "w", "s/1/1")
    assert "ranking.json" in trial.files


def test_reasoning_sent_back_in_another_field_is_dropped() -> None:
    said = {"role": "assistant", "content": "Yes.", "reasoning": "I think so. " * 50}
    messages = [{"role": "user", "content": "Hello?"}, said, {"role": "user", "content": "Go on"}]
    counts = {}
    for name in ("vllm", "sglang"):
        with open_sim("steady", dialect=name) as url:
            answer = json.loads(post(f"{url}/v1/chat/completions", _chat(messages=messages)))
            counts[name] = answer["usage"]["prompt_tokens"]
    assert counts["vllm"] > counts["sglang"] + 100


def test_minimax_splits_reasoning_off_where_asked() -> None:
    with open_sim("steady", dialect="minimax") as url:
        chat, body, trial = f"{url}/v1/chat/completions", _answer(), {"X-Evalstab-Trial": "s/1/1"}
        body["reasoning_split"] = True
        whole = json.loads(post(chat, body, trial))["choices"][0]["message"]
        events = list(frames(post(chat, body | {"stream": True}, trial)))
    streamed = "".join(
        part["text"]
        for event in events
        for choice in event["choices"]
        for part in choice["delta"].get("reasoning_details", [])
    )
    assert streamed == whole["reasoning_details"][0]["text"]
    assert len(streamed) > 100
    assert whole["content"].startswith("```json")


def test_tokenize_agrees_with_usage() -> None:
    body = _answer()
    with open_sim("steady") as url:
        whole = json.loads(post(f"{url}/v1/chat/completions", body))
        count = json.loads(post(f"{url}/tokenize", {"messages": body["messages"]}))["count"]
        thought = whole["choices"][0]["message"]["reasoning"]
        tokens = json.loads(post(f"{url}/tokenize", {"prompt": thought}))["count"]
    assert count == whole["usage"]["prompt_tokens"]
    assert tokens == whole["usage"]["completion_tokens_details"]["reasoning_tokens"]


def test_a_key_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIM_TEST_KEY", "s3cret")
    with running(["--persona", "steady", "--api-key-env", "SIM_TEST_KEY"]) as url:
        status, _ = refused(f"{url}/v1/chat/completions", _chat())
        assert status == 401
        assert post(f"{url}/v1/chat/completions", _chat(), {"Authorization": "Bearer s3cret"})
        with pytest.raises(urllib.error.HTTPError) as error:
            get(f"{url}/v1/models")
        assert error.value.code == 401
        error.value.close()
        with urllib.request.urlopen(f"{url}/health") as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--persona", "nobody"], "drifting"),
        (["--persona", "steady", "--time-scale", "0"], "--time-scale"),
        (["--persona", "steady", "--port", "70000"], "70000"),
        (["--persona", "steady", "--task-truth", "/no/such/file"], "/no/such/file"),
    ],
)
def test_a_wrong_start_says_why(options: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words), running(options):
        pass


def test_a_persona_file_with_an_unknown_fault_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('about = "x"\n[[faults]]\nkind = "no-such"\nrate = [[0, 1]]\n')
    with pytest.raises(ConfigError, match="foreign-script"), running(["--persona", str(path)]):
        pass


def _started(*options: str, **streams: Any) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "evalstab.sim", "--persona", "steady", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **streams)
    assert process.stdout is not None
    return process, process.stdout.readline()


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it(sign: signal.Signals) -> None:
    process, line = _started(stdin=subprocess.DEVNULL)
    with process:
        assert line.startswith("ready http://127.0.0.1:")
        process.send_signal(sign)
        process.wait(10)


def test_it_goes_when_its_parent_is_gone() -> None:
    read, write = os.pipe()
    process, _ = _started("--with-parent", stdin=read)
    with process:
        os.close(read)
        assert process.poll() is None
        os.close(write)
        process.wait(10)
