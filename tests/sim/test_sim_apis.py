"""The responses and messages APIs: the same persona, the same faults, in other forms."""

from __future__ import annotations

import http.client
import json
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from evalstab.sim.dialect import dialects
from evalstab.sim.open import running
from evalstab.sim.shell import output_of
from evalstab.task.brief import opening_messages
from evalstab.task.load import load_task
from tests.sim.agent_loop import Heard, post, refused
from tests.sim.api_answers import PATHS, ask_by, events, request_for
from tests.sim.fault_server import TASKS, body_of, faulty_server, injections, notes

Json = dict[str, Any]
SPEAKING = sorted(name for name, dialect in dialects().items() if dialect.speaks)
OTHERS = ("responses", "messages")
TASK = load_task(TASKS / "three-notes", {"task.tools": "none"})


@pytest.fixture(scope="module", params=SPEAKING)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with running(["--persona", "steady", "--dialect", request.param, "--context", "8000"]) as url:
        yield request.param, url


def _answer(**fields: Any) -> Json:
    """A request whose answer has reasoning and content."""
    return {"model": "sim-steady", "messages": opening_messages(TASK)} | fields


def _said(heard: Heard) -> tuple[str, str, list[tuple[str, str]]]:
    return heard.reasoning, heard.content, [(c["name"], c["arguments"]) for c in heard.calls]


def test_all_apis_say_the_same(server: tuple[str, str]) -> None:
    _, url = server
    for body in (_answer(), body_of(notes(), model="sim-steady")):
        chat, responses, messages = (ask_by(api, url, body) for api in PATHS)
        assert _said(responses) == _said(messages) == _said(chat)
        assert chat.reasoning
        assert chat.content or chat.calls
        assert responses.finish == "completed"
        assert messages.finish == ("tool_use" if chat.calls else "end_turn")


def test_counts_mean_the_same(server: tuple[str, str]) -> None:
    name, url = server
    # The second trial, so that the prompt is cached.
    chat, responses, messages = (ask_by(api, url, _answer(), "s/2/1").usage for api in PATHS)
    assert chat is not None
    assert responses is not None
    assert messages is not None
    cached = chat["prompt_tokens_details"]["cached_tokens"]
    assert cached > 0
    assert responses["input_tokens"] == chat["prompt_tokens"]
    assert responses["input_tokens_details"] == {"cached_tokens": cached}
    assert messages["output_tokens"] == responses["output_tokens"] == chat["completion_tokens"]
    if name == "vllm":
        assert messages["input_tokens"] == chat["prompt_tokens"]
        assert responses["output_tokens_details"] == chat["completion_tokens_details"]
    else:
        assert messages["cache_read_input_tokens"] == cached
        assert messages["input_tokens"] + cached == chat["prompt_tokens"]
    if name != "ik_llamacpp":
        asked = request_for("messages", _answer())
        counted = json.loads(post(f"{url}/v1/messages/count_tokens", asked))
        assert counted["input_tokens"] == chat["prompt_tokens"]


def test_openais_own_client_reads_the_responses(server: tuple[str, str]) -> None:
    _, url = server
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    asked = request_for("responses", body_of(notes(), model="sim-steady"))
    asked["extra_headers"] = {"X-Evalstab-Trial": "s/1/1"}
    del asked["stream"]
    with client:
        whole = client.responses.create(**asked, stream=False)
        with client.responses.create(**asked, stream=True) as stream:
            last = list(stream)[-1]
    assert last.type == "response.completed"
    kinds = [item.type for item in whole.output]
    assert kinds[0] == "reasoning"
    assert kinds[-1] == "function_call"
    assert [i.model_dump() for i in last.response.output] == [i.model_dump() for i in whole.output]
    assert last.response.usage == whole.usage
    call = whole.output[-1].model_dump()
    assert (call["name"], call["arguments"]) == ("list_files", "{}")


def test_a_whole_message_holds_what_its_stream_holds(server: tuple[str, str]) -> None:
    _, url = server
    body = body_of(notes(), model="sim-steady")
    streamed = ask_by("messages", url, body)
    asked = request_for("messages", body | {"stream": False})
    whole = json.loads(post(f"{url}/v1/messages", asked, {"X-Evalstab-Trial": "s/1/1"}))
    blocks = {block["type"]: block for block in whole["content"]}
    assert blocks["thinking"]["thinking"] == streamed.reasoning
    assert (blocks["tool_use"]["name"], blocks["tool_use"]["input"]) == ("list_files", {})
    assert blocks["tool_use"]["id"] == streamed.calls[0]["id"]
    assert whole["stop_reason"] == streamed.finish == "tool_use"


def test_a_token_limit_is_said_as_the_server_says_it(server: tuple[str, str]) -> None:
    name, url = server
    responses, messages = (ask_by(api, url, _answer(max_tokens=40)) for api in OTHERS)
    assert responses.usage is not None
    assert responses.usage["output_tokens"] == 40
    assert responses.finish == ("incomplete" if name == "vllm" else "completed")
    assert messages.finish == ("end_turn" if name == "ik_llamacpp" else "max_tokens")


@pytest.mark.parametrize("api", OTHERS)
def test_refusals_have_the_form_of_the_api(server: tuple[str, str], api: str) -> None:
    name, url = server
    for body in (b"{", b"[]", b"{}"):
        status, answer = refused(f"{url}{PATHS[api]}", body)
        assert status in (400, 404)
        assert answer["error"]["message"]
        assert (answer.get("type") == "error") == (api == "messages" and name == "vllm")
    long = _answer(messages=[{"role": "user", "content": "word " * 9000}])
    status, answer = refused(f"{url}{PATHS[api]}", request_for(api, long))
    assert status == (500 if name == "ik_llamacpp" else 400)
    assert "context" in answer["error"]["message"]


@pytest.mark.parametrize("api", OTHERS)
def test_servers_that_do_not_speak_an_api_do_not_have_it(api: str) -> None:
    with (
        running(["--persona", "steady", "--dialect", "sglang"]) as url,
        pytest.raises(urllib.error.HTTPError, match="404") as error,
    ):
        post(f"{url}{PATHS[api]}", request_for(api, _answer()))
    error.value.close()


def test_parts_are_closed_one_by_one_or_all_at_the_end() -> None:
    for dialect, together in (("vllm", False), ("llamacpp", True)):
        with running(["--persona", "steady", "--dialect", dialect]) as url:
            for api, opened, closed in (
                ("responses", "response.output_item.added", "response.output_item.done"),
                ("messages", "content_block_start", "content_block_stop"),
            ):
                kinds = [e["type"] for e in events(ask_by(api, url, _answer()).raw)]
                order = [kind for kind in kinds if kind in (opened, closed)]
                turns = [opened, opened, closed, closed] if together else [opened, closed] * 2
                assert order == turns


CALL_FAULTS = {"cut-call": "tool.truncated", "malformed-call": "tool.malformed_arguments"}


@pytest.mark.parametrize("api", OTHERS)
@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_faults_of_calls_arrive_and_stand_in_the_truth(kind: str, api: str, tmp_path: Path) -> None:
    with faulty_server(tmp_path, kind) as url:
        heard = ask_by(api, url, body_of(notes("typed")))
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|delimiter|Extra"):
        json.loads(heard.calls[-1]["arguments"])
    assert [i["code"] for i in injections(tmp_path)] == [CALL_FAULTS[kind]]


@pytest.mark.parametrize("api", OTHERS)
@pytest.mark.parametrize("dialect", ["vllm", "llamacpp"])
def test_an_error_in_a_stream_is_its_end(dialect: str, api: str, tmp_path: Path) -> None:
    with faulty_server(tmp_path, "error-frame", "--dialect", dialect) as url:
        asked = request_for(api, body_of(notes()))
        raw = post(f"{url}{PATHS[api]}", asked)
    last = raw.decode().rstrip("\n").split("\n\n")[-1]
    data = json.loads(last.rsplit("data: ", 1)[1])
    if dialect == "llamacpp" and api == "responses":
        assert last.startswith("data: ")
        assert set(data) == {"error"}
    else:
        assert last.startswith("event: error\n")
        assert (data.get("error") or data)["message"]
    assert [i["code"] for i in injections(tmp_path)] == ["server.error_in_stream"]


def test_only_what_a_form_shows_is_injected(tmp_path: Path) -> None:
    with faulty_server(tmp_path, "no-done no-finish missing-call") as url:
        responses = ask_by("responses", url, body_of(notes()))
        assert (responses.finish, len(responses.calls)) == ("completed", 1)
        assert injections(tmp_path) == []
        messages = ask_by("messages", url, body_of(notes()), "s/2/1")
    assert (messages.finish, messages.calls) == ("tool_use", [])
    assert b"message_stop" not in messages.raw
    assert {i["code"] for i in injections(tmp_path)} == {"stream.no_done", "tool.missing_call"}


@pytest.mark.parametrize("api", OTHERS)
def test_doubled_deltas_open_nothing_twice(api: str, tmp_path: Path) -> None:
    with faulty_server(tmp_path, "doubled-deltas") as url:
        heard = ask_by(api, url, body_of(notes()))
    opened = ("response.output_item.added", "content_block_start")
    begun = [event for event in events(heard.raw) if event["type"] in opened]
    places = [event.get("output_index", event.get("index")) for event in begun]
    assert places == list(range(len(begun)))
    half = heard.reasoning[: len(heard.reasoning) // 2]
    assert heard.reasoning != half * 2
    assert len(heard.reasoning) % 2 == 0
    assert [i["code"] for i in injections(tmp_path)] == ["reasoning.duplicated_by_transport"]


def test_an_answer_that_broke_off_is_gone_on_with(tmp_path: Path) -> None:
    """Codex sends back what it kept: it is the same step of the same trial."""
    with faulty_server(tmp_path, "drop") as url:
        asked = request_for("responses", body_of(notes()))
        with pytest.raises((OSError, http.client.HTTPException)):
            post(f"{url}/v1/responses", asked)
        kept = {
            "type": "reasoning",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "First"}],
        }
        again = post(f"{url}/v1/responses", asked | {"input": [*asked["input"], kept]})
    assert b"response.completed" in again
    told = json.loads((tmp_path / "truth.json").read_bytes())["trials"]
    assert [(t["trial"], [s["step"] for s in t["steps"]]) for t in told] == [(1, [1])]


def test_a_request_for_a_title_is_no_trial(tmp_path: Path) -> None:
    with running(["--persona", "steady", "--truth", str(tmp_path)]) as url:
        body = body_of(notes(), model="sim-steady")
        ask = request_for("messages", {k: v for k, v in body.items() if k != "tools"})
        assert post(f"{url}/v1/messages", ask)
        assert not (tmp_path / "truth.json").exists()
        assert post(f"{url}/v1/messages", request_for("messages", body))
        told = json.loads((tmp_path / "truth.json").read_bytes())["trials"]
    assert [trial["trial"] for trial in told] == [1]


def test_a_summary_is_written_and_gone_on_with(tmp_path: Path) -> None:
    """As agents do: history and a request for a summary, then the summary in place of it all."""
    with running(["--persona", "steady", "--truth", str(tmp_path)]) as url:
        body = body_of(notes(), model="sim-steady", stream=False)
        messages = body["messages"]
        for answer in ("notes/note_a.md\nnotes/note_b.md\nnotes/note_c.md", "Noise.", "Light."):
            said = _message(url, body | {"messages": messages})
            said["tool_calls"] = said["tool_calls"][:1]
            told = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": answer}
            messages = [*messages, said, told]
        ask = {"role": "user", "content": "Write a summary of this conversation."}
        written = _message(url, body | {"messages": [*messages, ask]})
        assert "tool_calls" not in written
        assert "- read: `notes/note_a.md`" in written["content"]
        resumed = f"This session goes on from a summary:\n\n{written['content']}"
        after = [messages[0], {"role": "user", "content": resumed}]
        calls = _message(url, body | {"messages": after})["tool_calls"]
        again = _message(url, body | {"messages": [*after, {"role": "user", "content": "Go on."}]})
    names = [call["function"]["name"] for call in calls]
    assert names == ["read_file"]
    assert "note_c" in calls[0]["function"]["arguments"]
    assert again["tool_calls"][0]["function"]["name"] == "read_file"
    trials = json.loads((tmp_path / "truth.json").read_bytes())["trials"]
    assert [trial["trial"] for trial in trials] == [1]


def _message(url: str, body: Json) -> Json:
    """A whole chat message of the series' one trial, which carries no header."""
    answer = json.loads(post(f"{url}/v1/chat/completions", body))
    message: Json = answer["choices"][0]["message"]
    return message


def test_what_codex_puts_before_an_output_is_read_past() -> None:
    head = "Chunk ID: 7ffd2d\nWall time: 0.0000 seconds\nProcess exited with code {}\n"
    rest = "Original token count: 12\nOutput:\nnotes/a.md\n"
    assert output_of(head.format(0) + rest) == "notes/a.md\n"
    assert output_of(head.format(1) + rest) == "Error: notes/a.md\n"
    assert output_of("notes/a.md\n") == "notes/a.md\n"
