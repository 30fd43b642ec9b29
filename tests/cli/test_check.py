"""Check as people use it: every fault is told with what to do, and unknown is never ok."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalstab.sim.open import open_sim
from tests.cli.chat_server import ChatServer, chatting
from tests.cli.program import answering, evalstab

ROOT = Path(__file__).parent.parent.parent
Rows = dict[str, dict[str, Any]]


def _check(place: Path, *arguments: str | Path, exit_code: int = 0) -> tuple[Rows, dict[str, Any]]:
    done = evalstab("check", *arguments, "--json", cwd=place)
    assert done.returncode == exit_code, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert {row["status"] for row in answer["rows"]} <= {"ok", "warning", "failed", "unknown"}
    assert all(row["found"] for row in answer["rows"])
    return {row["subject"]: row for row in answer["rows"]}, answer


def _llama(context: int = 65_536, slots: int = 1, **more: Any) -> dict[str, Any]:
    props = {
        "build_info": "b6700-abc",
        "total_slots": slots,
        "model_path": "/m.gguf",
        "default_generation_settings": {"n_ctx": context, "params": {"temperature": 0.8}},
    }
    return {"/props": props | more}


DIALECTS = {
    "vllm": ("ok", "ok", "ok"),
    "sglang": ("ok", "ok", "ok"),
    "llamacpp": ("ok", "ok", "unknown"),
    "ik_llamacpp": ("unknown", "ok", "unknown"),
    "ollama": ("ok", "ok", "unknown"),
    "minimax": ("unknown", "ok", "unknown"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_good_server_of_each_dialect(dialect: str, tmp_path: Path) -> None:
    with open_sim("steady", dialect=dialect) as url:
        rows, answer = _check(tmp_path, "--base-url", f"{url}/v1", "--context", "60k")
    server, context, pool = DIALECTS[dialect]
    assert rows["server"]["status"] == server
    assert rows["context for 60,000"]["status"] == context
    assert rows["KV cache"]["status"] == pool
    assert rows["tool calls"]["status"] == "ok"
    assert rows["reasoning sent back"]["status"] == "ok"
    assert rows["streamed and plain"]["status"] == "ok"
    assert rows["temperature"]["status"] == "warning"
    assert answer["status"] in ("warning", "unknown")
    assert answer["facts"]["pages"]["models"] == "read"


def test_too_little_of_everything_fails_hard(tmp_path: Path) -> None:
    with chatting(ChatServer(pages=_llama(context=32_768))) as chat:
        rows, answer = _check(
            tmp_path, "--base-url", chat.url, "--context", "16k,60k", "--concurrency", "8",
            exit_code=4,
        )  # fmt: skip
    assert rows["context for 16,000"]["status"] == "ok"
    assert rows["context for 60,000"]["status"] == "failed"
    assert "--ctx-size" in rows["context for 60,000"]["advice"]
    assert rows["trials at once"]["status"] == "failed"
    assert "computes 1 at once" in rows["trials at once"]["found"]
    assert rows["KV cache"]["status"] == "unknown"
    assert answer["status"] == "failed"


def test_a_context_too_small_for_the_task_itself_fails(tmp_path: Path) -> None:
    for context, status, code in ((8_192, "failed", 4), (262_144, "ok", 0)):
        with chatting(ChatServer(pages=_llama(context=context))) as chat:
            options = ("--base-url", chat.url, "--task", "eleven-profiles")
            rows, _ = _check(tmp_path, *options, exit_code=code)
        assert rows["context for eleven-profiles"]["status"] == status
        assert f"{context:,}" in rows["context for eleven-profiles"]["found"]


def test_a_kv_pool_too_small_for_all_trials_fails(tmp_path: Path) -> None:
    metrics = 'vllm:cache_config_info{block_size="16",cache_dtype="fp8",num_gpu_blocks="10000"} 1\n'
    pages = {
        "/version": {"version": "0.25.1"},
        "/metrics": metrics,
        "/v1/models": {"data": [{"id": "m", "max_model_len": 131_072}]},
    }
    with chatting(ChatServer(pages=pages)) as chat:
        options = ("--base-url", chat.url, "--context", "60k", "--concurrency")
        rows, _ = _check(tmp_path, *options, "4", exit_code=4)
        assert rows["KV cache"]["status"] == "failed"
        assert "2.67 sessions of 60,000" in rows["KV cache"]["found"]
        assert rows["trials at once"]["status"] == "unknown"
        rows, _ = _check(tmp_path, *options, "2")
        assert rows["KV cache"]["status"] == "ok"


@pytest.mark.parametrize(
    ("tools", "status", "told"),
    [
        ("text", "failed", "without a call"),
        ("refuse", "failed", "does not support tools"),
        ("leak", "failed", "tool.leaked_markup"),
        ("when required", "warning", "required"),
    ],
)
def test_a_server_without_tools(tools: Any, status: str, told: str, tmp_path: Path) -> None:
    with chatting(ChatServer(tools=tools, pages=_llama())) as chat:
        code = 4 if status == "failed" else 0
        rows, _ = _check(tmp_path, "--base-url", chat.url, exit_code=code)
    assert rows["tool calls"]["status"] == status
    assert told in rows["tool calls"]["found"]
    assert rows["tool calls"]["advice"]


def test_parameters_used_overruled_ignored_and_refused(tmp_path: Path) -> None:
    chat = ChatServer(refuses=("min_p",), uses={"top_k": 40}, pages=_llama())
    sent = ["sampling.temperature=0.6", "sampling.top_p=0.95", "extra_body.top_k=20"]
    sent += ["extra_body.min_p=0.01", "extra_body.repetition_penalty=1.1"]
    options = [text for pair in sent for text in ("--set", pair)]
    with chatting(chat):
        rows, _ = _check(tmp_path, "--base-url", chat.url, *options, exit_code=4)
    assert rows["parameter temperature"]["status"] == "ok"
    assert rows["parameter min_p"]["status"] == "failed"
    assert "unknown parameter min_p" in rows["parameter min_p"]["found"]
    assert rows["parameter top_k"]["status"] == "warning"
    assert "40 is used" in rows["parameter top_k"]["found"]
    assert rows["parameter repetition_penalty"]["status"] == "warning"
    assert "min_p" not in chat.bodies[-1]


def test_what_a_server_is_known_to_ignore_and_what_nobody_can_see(tmp_path: Path) -> None:
    pages = {"/api/version": {"version": "0.13.2"}, "/api/ps": {"models": []}}
    with chatting(ChatServer(pages=pages, reads=("reasoning",))) as chat:
        rows, _ = _check(
            tmp_path, "--base-url", chat.url, "--set", "extra_body.top_k=40",
            "--set", "sampling.temperature=0.6",
        )  # fmt: skip
    assert "known to be ignored" in rows["parameter top_k"]["found"]
    assert rows["parameters"]["status"] == "unknown"
    assert "temperature = 0.6" in rows["parameters"]["found"]
    assert rows["real context"]["status"] == "unknown"
    assert rows["reasoning sent back"]["status"] == "warning"
    assert rows["reasoning sent back"]["advice"] == 'set replay_reasoning = "reasoning"'


def test_reasoning_that_is_dropped_and_usage_that_only_plain_answers_have(tmp_path: Path) -> None:
    with chatting(ChatServer(reads=(), usage_streamed=False)) as chat:
        rows, _ = _check(tmp_path, "--base-url", chat.url)
    assert rows["reasoning sent back"]["status"] == "warning"
    assert "does not grow" in rows["reasoning sent back"]["found"]
    assert rows["streamed and plain"]["status"] == "warning"
    assert "token counts only plain" in rows["streamed and plain"]["found"]
    assert rows["server"]["status"] == "unknown"


def test_a_connection_that_was_closed_behind_a_stream_is_no_fault(tmp_path: Path) -> None:
    with chatting(ChatServer(pages=_llama(), drops_after_stream=True)) as chat:
        rows, _ = _check(
            tmp_path, "--base-url", chat.url, "--set", "extra_body.repetition_penalty=1.1"
        )
    assert rows["streamed and plain"]["status"] == "ok"
    assert rows["reasoning sent back"]["status"] == "ok"
    assert "known to be ignored" in rows["parameter repetition_penalty"]["found"]
    assert "repetition_penalty" not in rows


def test_settings_that_confound(tmp_path: Path) -> None:
    pages = {"/version": {"version": "0.25.1"}}
    with chatting(ChatServer(pages=pages)) as chat:
        (tmp_path / "evalstab.toml").write_text(
            f'[endpoints.rig]\nbase_url = "{chat.url}"\nthinking = "off"\n'
            "sampling = { frequency_penalty = 0.4, max_tokens = 2000, seed = 7 }\n"
            "extra_body = { repetition_penalty = 1.1 }\n"
        )
        rows, _ = _check(tmp_path, "--endpoint", "rig")
    for subject, told in {
        "repetition_penalty": "whole prompt",
        "frequency_penalty": "0.4",
        "seed": "fixed seed 7",
        "temperature": "generation_config.json",
        "max_tokens": "2,000",
        "thinking": "reasoning arrived all the same",
    }.items():
        assert rows[subject]["status"] == "warning", subject
        assert told in rows[subject]["found"]
        assert rows[subject]["advice"]


def test_kv_arithmetic_and_a_file_that_is_none(tmp_path: Path) -> None:
    config = {
        "num_hidden_layers": 62,
        "num_attention_heads": 48,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "hidden_size": 3072,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    with open_sim("steady") as url:
        options = ("--base-url", f"{url}/v1", "--context", "100k")
        rows, answer = _check(tmp_path, *options, "--model-config", "config.json")
        assert answer["kv"]["bytes_per_token"] == 62 * 8 * 128 * 2
        assert answer["kv"]["sessions"][0]["fit"] == pytest.approx(5.24, abs=0.01)
        assert "5.24 fit" in rows["KV arithmetic"]["found"]
        bad = evalstab("check", *options, "--model-config", "missing.json", cwd=tmp_path)
        assert bad.returncode == 3
        assert "missing.json" in bad.stderr


def test_save_keeps_the_answer_for_the_owner_only(tmp_path: Path) -> None:
    with chatting(ChatServer(pages=_llama())) as chat:
        done = evalstab("check", "--base-url", chat.url, "--save", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (saved,) = (tmp_path / "reports" / "checks").glob("*.json")
    assert saved.stat().st_mode & 0o777 == 0o600
    answer = json.loads(saved.read_text())
    assert answer["facts"]["context"] == {
        "value": 65_536,
        "source": "/props default_generation_settings.n_ctx",
    }
    assert str(saved.relative_to(tmp_path)) in done.stderr


def test_a_task_that_needs_no_tools_is_only_warned(tmp_path: Path) -> None:
    task = tmp_path / "quiet"
    shutil.copytree(ROOT / "tasks" / "three-notes", task)
    text = (task / "task.toml").read_text()
    (task / "task.toml").write_text(text.replace('tools = "free"', 'tools = "none"'))
    with chatting(ChatServer(tools="text")) as chat:
        rows, _ = _check(tmp_path, "--base-url", chat.url, "--task", "./quiet")
    assert rows["tool calls"]["status"] == "warning"
    assert "needs no tools" in rows["tool calls"]["found"]


def test_nobody_there_and_no_api(tmp_path: Path) -> None:
    rows, answer = _check(tmp_path, "--base-url", "http://127.0.0.1:9/v1", exit_code=4)
    assert rows["endpoint"]["status"] == "failed"
    assert "real context" not in rows
    assert answer["facts"] == {}
    with answering(200, b"<html>") as url:
        rows, _ = _check(tmp_path, "--base-url", f"{url}/v1", exit_code=4)
    assert "web page" in rows["endpoint"]["found"]


def test_text_is_plain_where_there_is_no_terminal(tmp_path: Path) -> None:
    hostile = _llama(build_info="b1\u001b[31m\u202eevil")
    with chatting(ChatServer(pages=hostile)) as chat:
        done = evalstab("check", "--base-url", chat.url, "--context", "60k", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\u001b" not in done.stdout
    assert "\u202e" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ok       endpoint")
    assert "  -> " in done.stdout
    assert "can be tested as asked" in lines[-1]


def test_a_key_that_the_server_repeats_is_not_shown(tmp_path: Path) -> None:
    key = "rig-5f1d8a0c77e94b2f"
    told = json.dumps({"error": {"message": f"the key {key} is not known"}}).encode()
    for more in ((), ("--json",), ("--save", "--json")):
        with answering(500, told) as url:
            done = evalstab(
                "check", "--base-url", f"{url}/v1", "--model", "m", *more,
                cwd=tmp_path, env={"OPENAI_API_KEY": key},
            )  # fmt: skip
        assert done.returncode == 4
        assert "is not known" in done.stdout
        assert key not in done.stdout + done.stderr
    for saved in (tmp_path / "reports" / "checks").glob("*.json"):
        assert key not in saved.read_text()


def test_usage_errors(tmp_path: Path) -> None:
    assert evalstab("check", "--context", "many", cwd=tmp_path).returncode == 2
    assert evalstab("check", "--endpoint", "no-such", cwd=tmp_path).returncode == 3
    secret = evalstab("check", "--base-url", "http://me:hunter2@127.0.0.1:9/v1", cwd=tmp_path)
    assert secret.returncode == 3
    assert "hunter2" not in secret.stdout + secret.stderr
    assert evalstab("check", "--task", "no-such", cwd=tmp_path).returncode == 3
