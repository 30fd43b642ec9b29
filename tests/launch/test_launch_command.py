"""``evalstab launch`` as its users call it, and the launch that every series keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstab.sim.open import open_sim
from tests.cli.program import evalstab
from tests.launch.programs import put_container, put_on_path

CONFIG = """
[endpoints.rig]
base_url = "{url}/v1"
launch = {{ container = "vllm-qwen36-tp8" }}
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    put_container(tmp_path, "docker_inspect_container.json", "docker_image_inspect.json")
    return {
        "PATH": put_on_path(tmp_path, "docker", "ssh"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "HOME": str(tmp_path),
    }


def _run(tmp_path: Path, env: dict[str, str], out: str) -> dict[str, Any]:
    words = ("run", "three-notes", "--endpoint", "rig", "--repeats", "1", "--out", out, "--json")
    done = evalstab(*words, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    scores: dict[str, Any] = json.loads(done.stdout)
    return scores


def test_a_series_keeps_its_launch(tmp_path: Path, env: dict[str, str]) -> None:
    with open_sim("steady") as url:
        (tmp_path / "evalstab.toml").write_text(CONFIG.format(url=url))
        scores = _run(tmp_path, env, "one")
        changed = (tmp_path / "container.json").read_text().replace("fp8_e5m2", "int8")
        (tmp_path / "container.json").write_text(changed)
        _run(tmp_path, env, "two")
        refused = evalstab("resume", "one", "--repeats", "2", cwd=tmp_path, env=env)
    assert "series.unproven_launch" not in [f["code"] for f in scores["findings"]]
    launch = json.loads((tmp_path / "one" / "launch.json").read_text())
    assert launch["captured"]
    conditions = json.loads((tmp_path / "one" / "series.json").read_text())["conditions"]
    assert conditions["launch"] == launch["fingerprint"]
    assert conditions["engine"].startswith("vllm")
    assert launch["fingerprint"] in (tmp_path / "one" / "report.md").read_text()
    shown = evalstab("launch", "show", "one", cwd=tmp_path, env=env)
    assert shown.stdout.startswith("docker run -d --name vllm-qwen36-tp8 ")
    assert "hf_EXAMPLE" not in shown.stdout
    differing = evalstab("launch", "diff", "one", "two", "--json", cwd=tmp_path, env=env)
    found = {d["fact"]: d for d in json.loads(differing.stdout)["differences"]}
    assert [fact for fact, d in found.items() if d["answer"] == "differs"] == []
    assert {s["value"] for c in launch["contradictions"] for s in c["said"]} >= {"fp8_e5m2"}
    assert refused.returncode == 0, refused.stderr


def test_resume_refuses_a_server_that_is_started_otherwise(
    tmp_path: Path, env: dict[str, str]
) -> None:
    with open_sim("steady") as url:
        (tmp_path / "evalstab.toml").write_text(CONFIG.format(url=url))
        _run(tmp_path, env, "one")
        text = (tmp_path / "container.json").read_text()
        fewer = text.replace('"--tensor-parallel-size", "8"', '"--tensor-parallel-size", "4"')
        assert fewer != text
        (tmp_path / "container.json").write_text(fewer)
        refused = evalstab("resume", "one", "--repeats", "2", cwd=tmp_path, env=env)
        differing = evalstab("launch", "show", "--endpoint", "rig", "--json", cwd=tmp_path, env=env)
        (tmp_path / "now.json").write_text(differing.stdout)
        told = evalstab("launch", "diff", "one", "now.json", cwd=tmp_path, env=env)
    assert refused.returncode == 3
    assert "tp was 8, is 4" in refused.stderr
    assert "differs     tp" in told.stdout


def test_a_lost_command_is_recovered(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / ".bash_history").write_text(
        "docker run -d --name vllm-qwen36-tp8 -p 8020:8000 -e HF_TOKEN=hf_"
        + "A1" * 20
        + " vllm/vllm-openai:v0.14.1 --model /models/Qwen3.6-27B-AWQ --kv-cache-dtype auto\n"
    )
    done = evalstab("launch", "recover", "--container", "vllm-qwen36-tp8", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "recovered, not observed" in done.stdout
    assert "for it: same container name" in done.stdout
    assert "kv_k: auto there, fp8_e5m2 in the running server" in done.stdout
    assert "A1A1" not in done.stdout


def test_another_machine(tmp_path: Path, env: dict[str, str]) -> None:
    words = ("launch", "show", "--container", "vllm-qwen36-tp8", "--on")
    there = evalstab(*words, "rig1", cwd=tmp_path, env=env)
    assert there.stdout.startswith("docker run"), there.stderr
    nowhere = evalstab(*words, "rig2", cwd=tmp_path, env=env)
    assert "launch not captured" in nowhere.stdout


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("show",), 2, "name the server"),
        (("show", "nowhere"), 3, "holds no launch.json"),
        (("diff", "nowhere", "else"), 3, "holds no launch.json"),
        (("show", "--endpoint", "none"), 3, "unknown endpoint"),
    ],
)
def test_what_cannot_be_shown(
    tmp_path: Path, env: dict[str, str], words: tuple[str, ...], code: int, told: str
) -> None:
    done = evalstab("launch", *words, cwd=tmp_path, env=env)
    assert done.returncode == code, done.stderr
    assert told in done.stderr


def test_a_remote_endpoint_says_so_on_the_first_screen(tmp_path: Path) -> None:
    (tmp_path / "evalstab.toml").write_text('[endpoints.far]\nbase_url = "http://rig.test/v1"\n')
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    far = evalstab("launch", "show", "--endpoint", "far", "--json", cwd=tmp_path, env=env)
    assert far.returncode == 0, far.stderr
    with open_sim("steady") as url:
        words = ("run", "three-notes", "--base-url", f"{url}/v1", "--repeats", "1", "--out", "s")
        assert evalstab(*words, cwd=tmp_path, env=env).returncode == 0
    (tmp_path / "s" / "launch.json").write_text(far.stdout)
    done = evalstab("score", "s", cwd=tmp_path, env=env)
    assert "launch and hardware not captured (remote)" in done.stdout
    assert "series.unproven_launch" in (tmp_path / "s" / "scores.json").read_text()
