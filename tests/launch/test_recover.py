"""The command that started a server is found in the stores of agents and shells, and ranked."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from evalstab.launch.capture import Asked, _together
from evalstab.launch.container import found_in
from evalstab.launch.model import Launch
from evalstab.launch.recover import candidates
from evalstab.launch.stores import commands
from tests.launch.programs import FIXTURES

STORES = FIXTURES.parent / "stores"
RUN = "docker run -d --name vllm-qwen36-tp8 --gpus all"


def _launch() -> Launch:
    container = json.loads((FIXTURES / "docker_inspect_container.json").read_text())[0]
    image = json.loads((FIXTURES / "docker_image_inspect.json").read_text())[0]
    return _together([found_in("docker", container, image)], None, Asked(), local=False)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("opencode")
    made = [sys.executable, str(STORES / "make_opencode_samples.py"), str(place)]
    subprocess.run(made, check=True, capture_output=True)
    return place


@pytest.mark.parametrize("store", ["v1", "v2", "json"])
def test_open_code_in_three_generations(samples: Path, store: str, tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path)}
    (tmp_path / "opencode").symlink_to(samples / store, target_is_directory=True)
    found = candidates(commands(tmp_path, env), _launch(), 8020)
    assert len(found) == 1
    assert found[0].command.startswith(RUN)
    assert "same container name" in found[0].reasons
    assert "port 8020" in found[0].reasons
    if store != "json":
        assert "it printed the id of the running container" in found[0].reasons
    written = msgspec.json.encode(found).decode()
    assert "hf_EXAMPLE" not in written
    assert "DO-NOT-COPY" not in written


def test_the_true_command_is_ranked_before_the_remembered_ones(
    samples: Path, tmp_path: Path
) -> None:
    (tmp_path / ".bash_history").write_text(
        "#1796001000\n"
        "docker run -d --name old -p 8020:8000 vllm/vllm-openai:v0.11.0 "
        "--model /models/Qwen3.6-27B-AWQ --kv-cache-dtype auto\n"
        "ls\nvllm serve other --port 9\n"
    )
    codex = tmp_path / ".codex" / "sessions" / "2026"
    codex.mkdir(parents=True)
    lines = [
        {"command": ["bash", "-lc", "llama-server -m q.gguf --port 8020"]},
        {"command": ["bash", "-lc", "ls"]},
    ]
    (codex / "rollout-a.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "timestamp": "2026-11-28T20:00:00Z",
                    "payload": {
                        "type": "function_call",
                        "arguments": json.dumps(line),
                        "call_id": str(number),
                    },
                }
            )
            + "\n"
            for number, line in enumerate(lines)
        )
        + '{"torn'
    )
    claude = tmp_path / ".claude" / "projects" / "p"
    claude.mkdir(parents=True)
    script = (
        "#!/bin/sh\nexport HF_TOKEN=hf_EXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE\nvllm serve m -tp 8\n"
    )
    item = {"type": "tool_use", "id": "t", "input": {"file_path": "start.sh", "content": script}}
    (claude / "s.jsonl").write_text(json.dumps({"message": {"content": [item]}}) + "\n")
    env = {"OPENCODE_DB": str(samples / "v1" / "opencode.db")}
    found = candidates(commands(tmp_path, env), _launch(), 8020)
    assert found[0].command.startswith(RUN)
    assert {one.store for one in found} == {"opencode", "history", "codex", "claude"}
    old = next(one for one in found if "--name old" in one.command)
    assert any(text.startswith("kv_k: auto there, fp8_e5m2") for text in old.differs)
    wrote = next(one for one in found if one.store == "claude")
    assert wrote.command == "vllm serve m -tp 8"
    assert "written into start.sh" in wrote.place


def test_the_newer_generation_keeps_its_shell_calls_elsewhere(
    samples: Path, tmp_path: Path
) -> None:
    database = tmp_path / "opencode.db"
    shutil.copy(samples / "v2" / "opencode.db", database)
    state = {"input": {"command": "vllm serve newer"}, "metadata": {"exit": 0}, "content": []}
    data = {"content": [{"type": "tool", "name": "shell", "state": state, "time": {"ran": 5000}}]}
    with contextlib.closing(sqlite3.connect(database)) as db:
        row = ("m", "s", "assistant", 99, 1, 1, json.dumps(data))
        db.execute("insert into session_message values (?,?,?,?,?,?,?)", row)
        db.commit()
    found = list(commands(tmp_path, {"OPENCODE_DB": str(database)}))
    newer = next(ran for ran in found if ran.command == "vllm serve newer")
    assert (newer.at, newer.exit_code) == (5.0, 0)


def test_sample_sessions_without_a_start_bring_nothing(tmp_path: Path) -> None:
    codex = tmp_path / ".codex" / "sessions"
    codex.mkdir(parents=True)
    for path in STORES.glob("codex_*.jsonl"):
        (codex / path.name).write_bytes(path.read_bytes())
    assert list(commands(tmp_path, {})) == []


def test_broken_stores_are_passed_over(tmp_path: Path) -> None:
    data = tmp_path / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    (data / "opencode.db").write_bytes(b"no database")
    (tmp_path / ".zsh_history").write_bytes(b"\xff\xfe: 1796001000:0;vllm serve m\n")
    assert [ran.command for ran in commands(tmp_path, {})] == [
        b"\xff\xfe: 1796001000:0;vllm serve m".decode("utf-8", "replace")
    ]
