"""evalstab init: what it writes is read back by our own reader, for every server and for none."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from evalstab.endpoint.server_facts import Fact, ServerFacts
from evalstab.nightly.config import nightly_settings
from evalstab.settings import read_config
from evalstab.sim.open import open_sim
from evalstab.workflow.init import Found, init, spellings, written
from tests.cli.program import answering, evalstab


@pytest.mark.parametrize(
    ("dialect", "server", "typed"),
    [
        ("vllm", "vllm", "/v1"),
        ("llamacpp", "llama.cpp", ""),
        ("ik_llamacpp", "ik_llama.cpp", "/"),
        ("ollama", "ollama", "/v1/chat/completions"),
        ("sglang", "sglang", "/v1/models"),
    ],
)
def test_a_server_that_is_there_is_written_down(
    tmp_path: Path, dialect: str, server: str, typed: str
) -> None:
    with open_sim("steady", dialect=dialect) as url:
        init(tmp_path, f"{url}{typed}")
        text = (tmp_path / "evalstab.toml").read_text()
        config = read_config(tmp_path / "evalstab.toml")
        ((name, endpoint),) = config.endpoints.items()
        assert endpoint.base_url == f"{url}/v1"
        assert endpoint.model == "sim-steady"
        assert f"# {server}" in text
        assert "# context of one session: " in text
        night = nightly_settings(config, "evalstab.toml")
        assert [entry.endpoint for entry in night.series] == [name]


def test_the_file_is_one_that_a_night_can_be_planned_with(tmp_path: Path) -> None:
    with open_sim("steady") as url:
        made = evalstab("init", "--base-url", f"{url}/v1", cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        plan = evalstab("nightly", "--dry-run", cwd=tmp_path)
    assert plan.returncode == 0, plan.stderr
    assert plan.stdout.startswith("eleven-profiles on sim-steady: ")


def test_an_address_is_understood_as_people_write_it() -> None:
    assert spellings("rig1:8000") == ["http://rig1:8000/v1", "http://rig1:8000"]
    assert spellings(" https://h/api/v1/ ") == ["https://h/api/v1"]
    assert spellings("http://h:1/v1/models") == ["http://h:1/v1"]


def test_every_server_found_gets_a_series_and_a_name_of_its_own() -> None:
    facts = ServerFacts(models=("Qwen/Qwen3-30B",))
    text = written([Found(f"http://localhost:{port}/v1", facts) for port in (8000, 8001)])
    read = tomllib.loads(text)
    assert list(read["endpoints"]) == ["qwen3-30b", "qwen3-30b-2"]
    assert [one["endpoint"] for one in read["nightly"]["series"]] == ["qwen3-30b", "qwen3-30b-2"]


def test_without_a_server_the_file_works_with_the_simulated_one(tmp_path: Path) -> None:
    (tmp_path / "evalstab.toml").write_text(written([]))
    night = nightly_settings(read_config(tmp_path / "evalstab.toml"), "evalstab.toml")
    assert [entry.endpoint for entry in night.series] == ["sim:steady"]


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "evalstab.toml").write_text("# mine\n")
    done = evalstab("init", cwd=tmp_path)
    assert done.returncode == 3
    assert (tmp_path / "evalstab.toml").read_text() == "# mine\n"


def test_a_server_that_wants_a_key_is_written_down_without_one(tmp_path: Path) -> None:
    with answering(401, b'{"error": "key"}') as url:
        done = evalstab(
            "init", "--base-url", f"{url}/v1", cwd=tmp_path, env={"OPENAI_API_KEY": "sk-hidden-1"}
        )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "evalstab.toml").read_text()
    assert 'api_key_env = "RIG_KEY"' in text
    assert "sk-hidden-1" not in text + done.stdout + done.stderr


def test_a_named_server_that_is_none_is_refused(tmp_path: Path) -> None:
    with answering(200, b"<html>hello</html>") as url:
        done = evalstab("init", "--base-url", f"{url}/v1", cwd=tmp_path)
    assert done.returncode == 2
    assert not (tmp_path / "evalstab.toml").exists()


def test_what_a_hostile_server_calls_itself_stays_text() -> None:
    evil = 'x"\n[nightly]\nbudget = "\x1b[2J'
    facts = ServerFacts(
        models=(evil, "other\r\n[gates.x]"),
        engine=Fact("e\n[a]", "page"),
        quant=Fact('q"\nz = 1', "page"),
    )
    text = written([Found("http://localhost:1/v1", facts, container='c"}\nb = 2')])
    read = tomllib.loads(text)
    assert set(read) == {"endpoints", "nightly"}
    ((_, endpoint),) = read["endpoints"].items()
    assert endpoint["model"] == evil
    assert "\x1b" not in text
