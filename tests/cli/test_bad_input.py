"""Bad input gets one clear line and the right exit code, and nothing is lost."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalstab.sim.open import running
from tests.cli.program import answering, environment, evalstab

MODELS = b'{"object":"list","data":[{"id":"demo-model"}]}'


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _refuses(
    done: subprocess.CompletedProcess[str], code: int, *words: str, tmp_path: Path
) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not list(tmp_path.glob("reports/*/series.json"))


def test_an_unreachable_endpoint(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{_free_port()}/v1"
    done = evalstab("run", "three-notes", "--base-url", url, "--model", "m", cwd=tmp_path)
    _refuses(done, 4, url, "cannot be reached", tmp_path=tmp_path)


@pytest.mark.parametrize(
    ("status", "body", "path", "words"),
    [
        (401, b"{}", "/v1", ("wants a key (HTTP 401): OPENAI_API_KEY is not set",)),
        (403, b'{"error":{"message":"bad key"}}', "/v1", ("refused the key", "OPENAI_API_KEY")),
        (200, b"<!doctype html><title>Hi</title>", "/v1", ("web page",)),
        (200, b"<html>Hi</html>", "", ("web page", "/v1")),
        (404, b"not found", "", ("/v1",)),
        (200, b"not json", "/v1", ("no model list",)),
        (200, b'{"error":"Unexpected endpoint"}', "", ("no model list", "add /v1")),
        (404, b"{}", "", ("add /v1",)),
        (200, b"<!doctype html>", "", ("web page", "add /v1")),
        (404, b"{}", "/v1/chat/completions", ("names a page of the API", "/v1\n")),
        (503, b'{"error":{"message":"Loading model"}}', "/v1", ("loading",)),
        (200, MODELS, "/v1", ("does not serve", "demo-model")),
        (500, b"\x1b[31mboom", "/v1", ("HTTP 500",)),
    ],
)
def test_an_endpoint_that_cannot_be_used(
    tmp_path: Path, status: int, body: bytes, path: str, words: tuple[str, ...]
) -> None:
    with answering(status, body) as url:
        done = evalstab(
            "run", "three-notes", "--base-url", url + path, "--model", "demo-mode", cwd=tmp_path
        )
    _refuses(done, 4, *words, tmp_path=tmp_path)
    assert "\x1b" not in done.stderr


def test_a_web_server_that_is_no_api_is_not_told_to_name_a_model(tmp_path: Path) -> None:
    with answering(404, b"<html>not found</html>") as url:
        done = evalstab("run", "three-notes", "--base-url", f"{url}/v2", cwd=tmp_path)
    _refuses(done, 2, "was not found (HTTP 404)", "usually ends in /v1", tmp_path=tmp_path)


def test_without_a_configuration_init_is_named(tmp_path: Path) -> None:
    for arguments in (("nightly",), ("run", "three-notes", "--endpoint", "rig")):
        done = evalstab(*arguments, cwd=tmp_path)
        _refuses(done, 3, "there is no evalstab.toml here: evalstab init", tmp_path=tmp_path)


def test_a_configured_endpoint_without_v1_says_so(tmp_path: Path) -> None:
    with answering(404, b"{}") as url:
        table = f'[endpoints.rig]\nbase_url = "{url}"\nmodel = "m"\napi_key_env = "NO_SUCH_KEY"\n'
        (tmp_path / "evalstab.toml").write_text(table)
        done = evalstab("run", "three-notes", "--endpoint", "rig", cwd=tmp_path)
        _refuses(done, 4, "add /v1", tmp_path=tmp_path)
        checked = evalstab("check", "--endpoint", "rig", cwd=tmp_path)
    assert checked.returncode == 4
    rows = [line for line in checked.stdout.splitlines() if line[0] != " "]
    assert rows[0].startswith("failed   endpoint")
    assert "add /v1" in rows[0]
    assert len(rows) == 2, "nothing else was looked at"


def test_a_key_variable_that_is_not_set_is_told(tmp_path: Path) -> None:
    with running(["--persona", "perfect"]) as url:
        options = ["--base-url", f"{url}/v1", "--api-key-env", "NO_SUCH_KEY", "--repeats", "1"]
        done = evalstab("run", "three-notes", *options, cwd=tmp_path)
    assert done.stderr.count("NO_SUCH_KEY, which is not set") == 1


def test_a_redirect_to_another_host_is_not_followed(tmp_path: Path) -> None:
    with answering(307, b"", {"location": "http://192.0.2.1/v1/models"}) as url:
        done = evalstab(
            "run", "three-notes", "--base-url", f"{url}/v1", "--model", "m", cwd=tmp_path
        )
    _refuses(done, 4, "redirects", tmp_path=tmp_path)


def test_broken_toml_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "evalstab.toml").write_text('[endpoints.rig]\nbase_url = "http://x\n')
    done = evalstab("run", "three-notes", "--endpoint", "rig", cwd=tmp_path)
    _refuses(done, 3, "evalstab.toml", "line 2", tmp_path=tmp_path)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('[endpoints.rig]\nbase_url = "http://x/v1"\ntemprature = 1\n', "temprature"),
        ('[endpoints.rig]\nbase_url = "x"\nsampling = { temprature = 1 }\n', "temperature"),
        ('[endpoint.rig]\nbase_url = "x"\n', "endpoints"),
        ("[endpoints.rig]\nretries = -1\n", "retries"),
    ],
)
def test_a_wrong_key_is_named_with_the_nearest_known(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "evalstab.toml").write_text(text)
    done = evalstab("run", "three-notes", "--endpoint", "rig", cwd=tmp_path)
    _refuses(done, 3, "evalstab.toml", word, tmp_path=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("run", "three-nots"), 3, "three-notes"),
        (("history", "--reports", "nowhere"), 3, "nowhere"),
        (("run", "three-notes", "--endpoint", "rgi"), 3, "rgi"),
        (("run", "three-notes", "--endpoint", "sim:stedy"), 3, "steady"),
        (("run", "three-notes", "--repeats", "0"), 2, "--repeats"),
        (("run", "three-notes", "--repeats", "many"), 2, "repeats"),
        (("run", "three-notes", "--context", "banana"), 2, "banana"),
        (("run", "three-notes", "--concurrency", "0"), 2, "--concurrency"),
        (("run", "three-notes", "--set", "sampling.temprature=1"), 3, "temperature"),
        (("run", "three-notes", "--set", "task.tool=typed"), 3, "task.tools"),
        (("run", "three-notes", "--set", "novalue"), 2, "key=value"),
        (
            ("run", "three-notes", "--endpoint", "sim:steady", "--base-url", "http://x"),
            2,
            "exclude",
        ),
        (("run", "three-notes", "--base-url", "not-an-address", "--model", "m"), 3, "address"),
        (("run", "three-notes", "--base-url", "http://u:p@127.0.0.1/v1"), 3, "api_key_env"),
        (("resume", "nowhere"), 3, "nowhere"),
        (("score", "."), 3, "series.json"),
        (("report", "."), 3, "series.json"),
    ],
)
def test_what_cannot_be_meant(
    tmp_path: Path, arguments: tuple[str, ...], code: int, word: str
) -> None:
    _refuses(evalstab(*arguments, cwd=tmp_path), code, word, tmp_path=tmp_path)


def test_an_output_folder_that_holds_another_series(tmp_path: Path) -> None:
    out = tmp_path / "mine"
    first = evalstab("run", "three-notes", "--repeats", "1", "--out", out, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    second = evalstab("run", "three-notes", "--repeats", "1", "--out", out, cwd=tmp_path)
    assert second.returncode == 3
    assert "resume" in second.stderr
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_an_output_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"x")
    done = evalstab("run", "three-notes", "--out", tmp_path / "photos", cwd=tmp_path)
    assert done.returncode == 3
    assert "not empty" in done.stderr
    assert [p.name for p in (tmp_path / "photos").iterdir()] == ["a.jpg"]


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    done = evalstab("run", "three-notes", "--out", tmp_path / "plain" / "deep", cwd=tmp_path)
    assert done.returncode == 3
    assert "--out" in done.stderr


def test_a_missing_or_ignored_parent_is_no_obstacle(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("ignored/\n")
    out = tmp_path / "ignored" / "not" / "there" / "yet"
    done = evalstab("run", "three-notes", "--repeats", "1", "--out", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (out / "report.md").is_file()


def test_a_full_disk_says_so_and_keeps_what_was_done(tmp_path: Path) -> None:
    """A file size limit of the process stands in for a disk that takes no more."""
    out = tmp_path / "full"
    code = (
        "import resource, runpy, sys;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "sys.argv = ['evalstab', *sys.argv[1:]];"
        "runpy.run_module('evalstab', run_name='__main__')"
    )
    arguments = ["run", "eleven-profiles", "--repeats", "1", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "resume" in done.stderr
    again = evalstab("resume", out, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (out / "report.md").is_file()


def test_a_read_only_place(tmp_path: Path) -> None:
    done = evalstab("run", "three-notes", "--out", "/proc/evalstab", cwd=tmp_path)
    assert done.returncode == 3
    assert "--out" in done.stderr


def test_control_c_keeps_all_finished_steps(tmp_path: Path) -> None:
    out = tmp_path / "series"
    running = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "evalstab",
            "run",
            "eleven-profiles",
            "--repeats",
            "3",
            "--out",
            str(out),
        ],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    record = out / "trials" / "001" / "events.jsonl"
    for _ in range(600):
        if record.exists() and record.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130, told
    assert "resume" in told
    assert "Traceback" not in told
    before = record.read_bytes()
    done = evalstab("resume", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert record.read_bytes().startswith(before[: before.rfind(b"\n") + 1])


def test_a_model_that_ignores_tools(tmp_path: Path) -> None:
    body = (
        b'{"id":"x","object":"chat.completion","model":"demo-model","choices":[{"index":0,'
        b'"message":{"role":"assistant","content":"I like all of them."},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":900,"completion_tokens":6,"total_tokens":906},'
        b'"data":[{"id":"demo-model"}]}'
    )
    out = tmp_path / "series"
    with answering(200, body, {"content-type": "application/json"}) as url:
        done = evalstab(
            "run",
            "three-notes",
            "--base-url",
            f"{url}/v1",
            "--model",
            "demo-model",
            "--no-stream",
            "--repeats",
            "2",
            "--out",
            out,
            cwd=tmp_path,
        )
    assert done.returncode == 4, done.stderr
    assert "tool" in done.stderr
    assert (out / "report.md").is_file()


def test_a_series_that_nobody_answers_any_more_still_says_what_it_has(tmp_path: Path) -> None:
    with running(["--persona", "steady", "--time-scale", "1000"]) as url:
        done = evalstab(
            "run", "three-notes", "--base-url", f"{url}/v1", "--repeats", "1", "--out", "s",
            "--quiet", cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    again = evalstab("resume", "s", "--repeats", "2", "--json", cwd=tmp_path)
    assert again.returncode == 4
    assert "cannot be reached" in again.stderr
    scores = json.loads(again.stdout)
    assert [trial["index"] for trial in scores["trials"]] == [1]
