"""Containers, units, processes, declarations: three ranks of evidence, put together."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from evalstab.errors import ConfigError
from evalstab.launch.capture import Asked, _together, capture, is_local
from evalstab.launch.container import found_in
from evalstab.launch.fingerprint import differences
from evalstab.launch.model import Launch
from evalstab.launch.process import home_of, look_at_process, pid_listening
from evalstab.settings import Launch as Wanted
from tests.launch.programs import CONTAINER_ID, FIXTURES, fake_proc, put_container, put_on_path

SECRETS = ("hf_EXAMPLEEXAMPLE", "sk-local", "pa55")
VLLM_LOG = """\
2026-11-28T20:14:20Z INFO 11-28 20:14:20 vLLM API server version 0.14.1
INFO non-default args: {'model': '/models/Qwen3.6-27B-AWQ', 'kv_cache_dtype': 'fp8_e4m3', 'x': None}
INFO GPU KV cache size: 474,777 tokens
INFO using key sk-local-0000000000000000
"""
IK_LOG = """\
llama_model_loader: - type q6_K:  198 tensors
llama_new_context_with_model: n_ctx      = 131072
llama_kv_cache_init:      CUDA0 KV buffer size =  2312.00 MiB
llama_new_context_with_model: KV self size = 2312 MiB, K (q8_0): 1156 MiB, V (q4_0):  1156 MiB
"""


def _inspected(container: str, image: str, engine: str = "docker") -> Launch:
    return _launch_of(json.loads((FIXTURES / container).read_text()), image, engine)


def _launch_of(container: object, image: str, engine: str) -> Launch:
    assert isinstance(container, list)
    found = found_in(engine, container[0], json.loads((FIXTURES / image).read_text())[0])
    return _together([found], None, Asked(), local=False)


DOCKER = ("docker_inspect_container.json", "docker_image_inspect.json")


@pytest.mark.parametrize(
    ("container", "image", "engine"),
    [
        (*DOCKER, "docker"),
        ("docker_inspect_hostnet.json", "docker_image_inspect_local_build.json", "docker"),
        ("podman4_inspect_container.json", "docker_image_inspect.json", "podman"),
        ("podman5_inspect_container.json", "docker_image_inspect.json", "podman"),
    ],
)
def test_no_secret_leaves_an_inspected_container(container: str, image: str, engine: str) -> None:
    launch = _inspected(container, image, engine)
    written = msgspec.json.encode(launch).decode()
    assert not [secret for secret in SECRETS if secret in written]
    assert launch.captured
    assert launch.command is not None
    assert launch.command.startswith(f"{engine} run -d --name ")


def test_a_container_says_its_image_flags_and_devices() -> None:
    launch = _inspected(*DOCKER)
    expected = {
        "engine": "vllm",
        "tp": 8,
        "kv_k": "fp8_e5m2",
        "ctx": 65536,
        "prefix_cache": True,
        "image_digest": "sha256:" + "1" * 64,
        "gpus": list("01234567"),
    }
    assert {name: launch.value(name) for name in expected} == expected
    assert launch.value("shm_bytes") is None, "no effect with the host's IPC"
    assert launch.placement["ports"] == {"8000/tcp": ["127.0.0.1:8020"]}
    assert launch.placement["compose"]["service"] == "vllm"
    assert "NVIDIA_DRIVER_CAPABILITIES" not in launch.evidence[0].raw["user_env"]
    assert launch.command is not None
    assert "-v /srv/models:/models:ro" in launch.command
    assert "-e NCCL_P2P_DISABLE=1" in launch.command
    assert launch.command.endswith("hmac:" + launch.command[-10:])


def test_a_host_network_takes_its_port_from_the_command_line() -> None:
    launch = _inspected(
        "docker_inspect_hostnet.json", "docker_image_inspect_local_build.json", "docker"
    )
    assert launch.placement["port"] == 8085
    assert launch.value("engine") == "ik_llama.cpp"
    assert launch.value("local_build") is True
    assert launch.value("image_digest") is None
    assert launch.notes == ("the image was built here: it cannot be pulled by somebody else",)


def test_podman_keeps_the_command_that_was_typed() -> None:
    four = _inspected("podman4_inspect_container.json", DOCKER[1], "podman")
    five = _inspected("podman5_inspect_container.json", DOCKER[1], "podman")
    assert four.command == five.command
    assert four.fingerprint == five.fingerprint
    assert four.command is not None
    assert "--device nvidia.com/gpu=all -e HF_TOKEN -e NCCL_P2P_DISABLE=1" in four.command
    assert four.value("gpus") == ["all"]


def test_a_tag_that_moved_after_the_start_is_told() -> None:
    container = json.loads((FIXTURES / DOCKER[0]).read_text())
    container[0]["Config"]["Image"] = "vllm/vllm-openai:latest"
    assert _launch_of(container, DOCKER[1], "docker").value("tag_moved") is True
    assert _inspected(*DOCKER).value("tag_moved") is None


def test_a_container_by_docker_with_its_boot_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_container(tmp_path, *DOCKER, VLLM_LOG)
    monkeypatch.setenv("PATH", put_on_path(tmp_path, "docker"))
    launch = capture(
        Wanted(container="vllm-qwen36-tp8"), Asked(base_url="http://localhost:8000/v1")
    )
    assert (launch.facts["kv_k"].value, launch.facts["kv_k"].rank) == ("fp8_e4m3", "effective")
    assert (launch.value("version"), launch.value("kv_tokens")) == ("0.14.1", 474_777)
    told = {one.fact: [said.value for said in one.said] for one in launch.contradictions}
    assert told == {"kv_k": ["fp8_e5m2", "fp8_e4m3"], "kv_v": ["fp8_e5m2", "fp8_e4m3"]}
    assert "publishes port 8020, the endpoint is asked on port 8000" in launch.notes[0]
    assert not [s for s in SECRETS if s in msgspec.json.encode(launch).decode()]
    assert launch.files == {"/opt/llm/compose.yml": "unreadable"}


def test_a_boot_log_proves_what_no_page_of_llama_cpp_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_container(
        tmp_path,
        "docker_inspect_hostnet.json",
        "docker_image_inspect_local_build.json",
        IK_LOG,
    )
    monkeypatch.setenv("PATH", put_on_path(tmp_path, "podman"))
    launch = capture(Wanted(container="ik-llama"), Asked())
    assert launch.placement["container_engine"] in ("docker", "podman")
    assert (launch.value("kv_k"), launch.value("kv_v")) == ("q8_0", "q4_0")
    assert [one.fact for one in launch.contradictions] == ["kv_v"]


def test_a_container_that_nobody_knows_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", put_on_path(tmp_path, "docker"))
    launch = capture(Wanted(container="gone"), Asked())
    assert not launch.captured
    assert launch.fingerprint == "unknown"
    assert "No such object" in str(launch.reason)


def test_another_machine_over_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_container(tmp_path, *DOCKER)
    monkeypatch.setenv("PATH", put_on_path(tmp_path, "docker", "ssh"))
    launch = capture(Wanted(container="vllm-qwen36-tp8", ssh="rig1"), Asked())
    assert launch.value("tp") == 8
    nowhere = capture(Wanted(container="vllm-qwen36-tp8", ssh="rig2"), Asked())
    assert "Could not resolve hostname rig2" in str(nowhere.reason)
    with pytest.raises(ConfigError, match="is no host"):
        capture(Wanted(container="x", ssh="-oProxyCommand=x"), Asked())


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.2/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://0.0.0.0:8000/v1", True),
        ("http://192.0.2.7:8000/v1", False),
        ("http://rig.test/v1", False),
        ("nonsense", False),
    ],
)
def test_which_addresses_are_this_machine(url: str, local: bool) -> None:
    assert is_local(url) == local


def test_a_remote_endpoint_is_not_captured() -> None:
    launch = capture(None, Asked(base_url="http://rig.example:8000/v1"))
    assert (launch.captured, launch.method) == (False, "none")
    assert str(launch.reason).startswith("launch and hardware not captured (remote)")


def test_a_bare_process_by_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proc = fake_proc(tmp_path)
    (tmp_path / "unit.txt").write_text("")
    monkeypatch.setenv("PATH", put_on_path(tmp_path, "systemctl"))
    launch = capture(None, Asked(base_url="http://127.0.0.1:8080/v1", proc=proc))
    assert launch.method == "process"
    assert launch.value("model") == "/models/a model with spaces.gguf"
    assert (launch.value("kv_k"), launch.value("tensor_split")) == ("q8_0", [1, 1, 1, 1])
    assert launch.placement["unit"] == "llama-server.service"
    assert launch.facts["env"].value == {
        "CUDA_VISIBLE_DEVICES": "0,1,2,3",
        "GGML_CUDA_NO_PINNED": "1",
    }
    assert not [s for s in SECRETS if s in msgspec.json.encode(launch).decode()]


def test_a_unit_takes_its_arguments_from_the_process_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc = fake_proc(tmp_path)
    shutil.copy(FIXTURES / "systemctl_show.txt", tmp_path / "unit.txt")
    monkeypatch.setenv("PATH", put_on_path(tmp_path, "systemctl"))
    launch = capture(Wanted(unit="llama-server"), Asked(proc=proc))
    assert (launch.method, launch.mark.unit_restarts) == ("unit", 2)
    assert launch.value("model") == "/models/a model with spaces.gguf"
    shutil.rmtree(proc / "41822")
    without = capture(Wanted(unit="llama-server"), Asked(proc=proc))
    assert without.value("ctx") == 65536
    assert any("quoting of ExecStart is lost" in text for text in without.incomplete)
    assert any("secrets.env" in text for text in without.incomplete)


def test_from_a_pid_to_its_container(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path)
    assert home_of(41823, proc).container == CONTAINER_ID
    assert home_of(41824, proc).container == CONTAINER_ID
    assert home_of(41822, proc).unit == "llama-server.service"
    assert pid_listening(8080, proc) == 41822
    assert pid_listening(631, proc) is None, "another user's: its files cannot be read"


def test_an_unreadable_environment_is_not_an_empty_one(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path)
    (proc / "41822" / "environ").unlink()
    found = look_at_process(41822, proc)
    assert found is not None
    assert found.evidence[0].raw["env"] == "unreadable"
    assert "another user's" in found.incomplete[0]


def test_the_listener_of_a_published_port_is_not_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc = fake_proc(tmp_path)
    (proc / "41822" / "comm").write_text("docker-proxy\n")
    (proc / "41822" / "cmdline").write_bytes(b"/usr/bin/docker-proxy\0-host-port\0" + b"8080\0")
    (proc / "41822" / "cgroup").write_text("0::/system.slice/docker.service\n")
    put_container(tmp_path, *DOCKER)
    monkeypatch.setenv("PATH", put_on_path(tmp_path, "docker"))
    launch = capture(None, Asked(base_url="http://127.0.0.1:8080/v1", proc=proc))
    assert (launch.method, launch.value("engine")) == ("container", "vllm")


def test_a_real_process_on_this_machine(tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.write_text(
        "import socket, sys, time\n"
        "s = socket.create_server(('127.0.0.1', 0))\n"
        "print(s.getsockname()[1], flush=True)\n"
        "time.sleep(60)\n"
    )
    words = [sys.executable, str(program), "-c", "4096", "--api-key", "sk-local-111111111111"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        launch = capture(None, Asked(base_url=f"http://127.0.0.1:{port}/v1"))
        process.kill()
    assert (launch.placement["pid"], launch.value("ctx")) == (process.pid, 4096)
    assert launch.captured
    assert launch.mark.pid_started is not None


def test_a_listener_that_is_no_known_server_proves_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        launch = capture(None, Asked(base_url=f"http://127.0.0.1:{port}/v1"))
    assert not launch.captured
    assert "no known inference server" in str(launch.reason)


def test_a_declaration_is_the_lowest_rank(tmp_path: Path) -> None:
    declared = tmp_path / "launch.yaml"
    declared.write_text(
        "command: >-\n  docker run --rm -e HF_TOKEN=hf_EXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE\n"
        "  -p 8000:8000 vllm/vllm-openai:v1 --model /m/Q --kv-cache-dtype int8 --api-key hunter22\n"
        "quant: AWQ\n"
    )
    asked = Asked(base_url="http://rig.example/v1", server={"ctx": 4096, "engine": "vllm"})
    launch = capture(Wanted(declared=str(declared)), asked)
    ranks = {name: (fact.value, fact.rank) for name, fact in launch.facts.items()}
    assert ranks["kv_k"] == ("int8", "declared")
    assert ranks["quant"] == ("AWQ", "declared")
    assert ranks["ctx"] == (4096, "effective")
    assert launch.captured
    written = msgspec.json.encode(launch).decode()
    assert "hunter22" not in written
    assert "hf_EXAMPLE" not in written
    with pytest.raises(ConfigError, match="cannot be read"):
        capture(Wanted(declared=str(tmp_path / "none.yaml")), asked)


def test_placement_lies_outside_the_fingerprint() -> None:
    container = json.loads((FIXTURES / DOCKER[0]).read_text())
    before = _launch_of(container, DOCKER[1], "docker")
    container[0]["Name"] = "/another"
    container[0]["Args"] += ["--port", "9000"]
    container[0]["State"]["Pid"] = 7
    moved = _launch_of(container, DOCKER[1], "docker")
    assert moved.fingerprint == before.fingerprint
    assert [d.answer for d in differences(before, moved)] == ["cannot tell"] * 2
    container[0]["Args"][container[0]["Args"].index("fp8_e5m2")] = "fp8_e4m3"
    changed = _launch_of(container, DOCKER[1], "docker")
    assert changed.fingerprint != before.fingerprint
    told = {d.fact: (d.base, d.new) for d in differences(before, changed) if d.answer == "differs"}
    assert told == {"kv_k": ("fp8_e5m2", "fp8_e4m3"), "kv_v": ("fp8_e5m2", "fp8_e4m3")}


def test_two_unknowns_are_not_equal() -> None:
    nothing = capture(None, Asked(base_url="http://rig.example/v1"))
    assert {d.answer for d in differences(nothing, nothing)} == {"cannot tell"}


OF_NO_SERVER = {"MY_PW": "geheim1", "NOTES": "private words", "HOME": "/home/anna"}


def test_of_a_process_only_what_bears_on_answers_is_written(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path)
    env = OF_NO_SERVER | {"OMP_NUM_THREADS": "4", "LLAMA_API_KEY": "k" * 8, "VLLM_DB_PASS": "p1"}
    raw = b"".join(f"{name}={value}\0".encode() for name, value in env.items())
    (proc / "41822" / "environ").write_bytes(raw)
    found = look_at_process(41822, proc)
    assert found is not None
    evidence = found.evidence[0].raw
    assert sorted(evidence["env"]) == ["LLAMA_API_KEY", "OMP_NUM_THREADS", "VLLM_DB_PASS"]
    assert evidence["env"]["OMP_NUM_THREADS"] == "4"
    assert evidence["env_not_kept"] == len(OF_NO_SERVER)
    written = msgspec.json.encode(found.evidence).decode()
    assert not [v for v in (*OF_NO_SERVER.values(), "k" * 8, '"p1"') if v in written]


@pytest.mark.parametrize("typed", [False, True])
def test_of_a_container_only_what_bears_on_answers_is_written(typed: bool) -> None:
    container = json.loads((FIXTURES / DOCKER[0]).read_text())[0]
    pairs = [f"{name}={value}" for name, value in OF_NO_SERVER.items()]
    container["Config"]["Env"] += pairs
    if typed:
        words = [word for pair in pairs for word in ("-e", pair)]
        container["Config"]["CreateCommand"] = ["podman", "run", *words, f"--env={pairs[1]}", "i"]
    found = found_in("podman", container, None)
    written = msgspec.json.encode([found.evidence, found.command]).decode()
    assert not [value for value in OF_NO_SERVER.values() if value in written]
    assert found.evidence[0].raw["user_env_not_kept"] >= len(OF_NO_SERVER)
