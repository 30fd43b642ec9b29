"""Limits and spoilt trials of an agent's program are those of our own loop."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from evalstab.trial.record import TrialEnded, read_events
from tests.cli.program import evalstab

AGENT = """
import json, sys, urllib.request, urllib.error
base_url, model, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
messages = [{"role": "user", "content": "Rank."}]
tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
def ask(body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(base_url + "/chat/completions", json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]
ask({"model": model, "messages": [{"role": "user", "content": "A title for this."}]})
for turn in range(turns):
    try:
        said = ask({"model": model, "messages": messages, "tools": tools})
    except urllib.error.HTTPError as error:
        error.read()  # who leaves before it has come, leaves no reason in the record
        sys.exit("the server said " + str(error.code))
    messages += [said, {"role": "user", "content": f"Go on {turn}."}]
"""  # noqa: E501

Reply = Callable[[int], tuple[int, bytes]]


def says(text: str, number: int = 0) -> bytes:
    message: dict[str, object] = {"role": "assistant", "content": text}
    if number:
        function = {"name": "look", "arguments": json.dumps({"at": number})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        message["tool_calls"] = [call]
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": usage, "model": "m"}).encode()


@contextmanager
def answering_in_turn(reply: Reply) -> Iterator[str]:
    """A server whose answers to chat requests with the agent's tools follow a count from 1."""
    asked = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            models = {"object": "list", "data": [{"id": "m", "object": "model"}]}
            known = self.path.endswith("/models")
            self._send(200 if known else 404, json.dumps(models).encode() if known else b"{}")

        def do_POST(self) -> None:
            nonlocal asked
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if b'"look"' not in body:
                self._send(200, says("A title"))
                return
            asked += 1
            self._send(*reply(asked))

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def command(folder: Path, url: str, turns: int) -> list[str]:
    script = folder / "agent.py"
    script.write_text(AGENT)
    agent = f"{shlex.quote(sys.executable)} {script} {{base_url}} {{model}} {turns}"
    words = ["run", "three-notes", "--base-url", url, "--model", "m"]
    return [*words, "--agent", f"{agent} {{prompt}}", "--out", str(folder / "series"), "--json"]


def ending(folder: Path, trial: str = "001") -> TrialEnded:
    events = list(read_events(folder / "series" / "trials" / trial / "events.jsonl"))
    assert isinstance(events[-1], TrialEnded)
    return events[-1]


def test_the_limit_of_steps_is_kept_and_titles_do_not_count(tmp_path: Path) -> None:
    with answering_in_turn(lambda number: (200, says("So far.", number))) as url:
        options = ("--repeats", "1", "--max-steps", "3")
        done = evalstab(*command(tmp_path, url, 3), *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["trials"][0]["steps"] == 3
        assert "trial.step_limit" not in json.loads(done.stdout)["trials"][0]["finding_counts"]
        shutil.rmtree(tmp_path / "series")
        done = evalstab(*command(tmp_path, url, 9), *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert (trial["outcome"], trial["steps"]) == ("failed", 3)
    assert trial["finding_counts"]["trial.step_limit"] == 1
    ended = ending(tmp_path)
    assert (ended.ending, ended.reason) == ("step_limit", "no end after 3 steps")
    assert json.loads((tmp_path / "series" / "series.json").read_bytes())["work"]["max_steps"] == 3


def test_a_trial_that_the_rig_spoilt_is_set_aside_and_repeated(tmp_path: Path) -> None:
    cuda = json.dumps({"error": {"message": "CUDA error: device-side assert triggered"}}).encode()

    def reply(number: int) -> tuple[int, bytes]:
        return (500, cuda) if number == 2 else (200, says("So far.", number))

    with answering_in_turn(reply) as url:
        done = evalstab(*command(tmp_path, url, 2), "--repeats", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    assert scores["series"]["invalid"] == 1
    assert [(t["outcome"], t["attempt"]) for t in scores["trials"]] == [("completed", 2)]
    assert ending(tmp_path, "001.invalid-1").outcome == "invalid"
    logs = sorted(p.parent.name for p in (tmp_path / "series" / "exchanges").rglob("*.jsonl"))
    assert logs == ["001", "001.2"]


def test_an_endpoint_that_answers_nothing_any_more_ends_the_series(tmp_path: Path) -> None:
    spent = json.dumps({"error": {"message": "no such key", "code": "invalid_api_key"}}).encode()

    def reply(number: int) -> tuple[int, bytes]:
        return (401, spent) if number == 2 else (200, says("So far.", number))

    with answering_in_turn(reply) as url:
        done = evalstab(*command(tmp_path, url, 2), "--repeats", "2", cwd=tmp_path)
        assert done.returncode == 4, done.stderr
        assert "evalstab resume" in done.stderr
        assert ending(tmp_path).outcome == "aborted"
        again = evalstab("resume", tmp_path / "series", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    scores = json.loads(again.stdout)
    assert [t["outcome"] for t in scores["trials"]] == ["completed"] * 2
    assert scores["series"]["invalid"] == 0


def test_what_the_agent_would_not_hear_of_is_refused(tmp_path: Path) -> None:
    for option in (("--max-tokens", "5"), ("--no-stream",), ("--set", "sampling.temperature=1")):
        done = evalstab(*command(tmp_path, "http://127.0.0.1:9/v1", 1), *option, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "would have no effect" in done.stderr
