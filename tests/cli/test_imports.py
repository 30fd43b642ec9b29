"""What each command loads: nobody waits for libraries that the command does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalstab.cli.app import COMMANDS
from tests.cli.program import environment

WATCHED = (
    "aiohttp",
    "jsonschema",
    "junitparser",
    "langdetect",
    "matplotlib",
    "numpy",
    "openai",
    "py3langid",
    "pydantic",
    "rich.markdown",
    "scipy",
    "starlette",
    "uvicorn",
)
"""Libraries that take more than about 20 ms to import."""

CODE = """
import atexit, json, sys
def tell():
    loaded = [name for name in {watched!r} if name in sys.modules]
    with open({file!r}, "w") as file:
        json.dump(loaded, file)
atexit.register(tell)
from evalstab.cli import main
main()
"""

OWN_GATE = """
repeats = 2
rules = [{ name = "complete", count = "deliverables_incomplete", at_most = 0 }]
"""
NETWORK = {"aiohttp", "openai"}
MEASURES = {"numpy", "pydantic", "scipy"}
TASKS = {"jsonschema", "pydantic"}
PAGES = {"junitparser", "numpy", "pydantic"}


def loads(folder: Path, *arguments: str) -> set[str]:
    """The watched libraries that are loaded when a command has done its work."""
    file = folder / "loaded.json"
    code = CODE.format(watched=WATCHED, file=str(file))
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode in (0, 6), done.stderr
    return set(json.loads(file.read_text()))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imports")
    for name in ("s", "t"):
        assert loads(folder, "run", "three-notes", "--repeats", "2", "--out", name, "--quiet")
    (folder / "own.toml").write_text(OWN_GATE)
    return folder


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_program_itself_loads_no_library_but_typer(
    tmp_path: Path, arguments: list[str]
) -> None:
    assert loads(tmp_path, *arguments) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_loads_the_panels_only(tmp_path: Path, name: str) -> None:
    assert loads(tmp_path, name, "--help") <= {"rich.markdown", "pydantic"}


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        ("task list", TASKS),
        ("task show three-notes", TASKS),
        ("task check three-notes", TASKS),
        ("stability table.csv --json", {"numpy", "scipy", "pydantic"}),
        ("report s --format json", PAGES),
        ("report s --format md", PAGES | {"matplotlib", "scipy"}),
        ("gate s --gate own.toml", PAGES | {"matplotlib", "scipy"}),
        ("compare s t", PAGES | MEASURES | {"matplotlib"}),
        ("score s", PAGES | MEASURES | {"matplotlib", "py3langid", "langdetect"}),
        ("sim verify s s/truth.json", {"pydantic"}),
    ],
)
def test_a_command_loads_no_more_than_it_needs(
    place: Path, arguments: str, allowed: set[str]
) -> None:
    (place / "table.csv").write_text("trial,candidate,total\n1,a,3\n1,b,2\n2,a,1\n2,b,2\n")
    assert loads(place, *arguments.split()) <= allowed


def test_before_the_streams_only_what_speaks_to_the_endpoint_is_loaded(tmp_path: Path) -> None:
    code = "import sys, evalstab.workflow.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split()) & set(WATCHED)
    assert loaded <= NETWORK | TASKS | PAGES
