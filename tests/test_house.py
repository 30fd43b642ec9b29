"""The house: rooms import only rooms above them, and the command line starts light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "evalstab"

ROWS: tuple[tuple[str, ...], ...] = (
    ("errors", "private", "sendable"),
    ("chat", "findings", "reach", "redact", "settings"),
    ("statistics", "text"),
    ("task",),
    ("tools",),
    ("endpoint",),
    ("launch", "hardware"),
    ("trial",),
    ("intake",),
    ("series",),
    ("measures",),
    ("gate",),
    ("report",),
    ("history",),
    ("view",),
    ("sim",),
    ("workflow",),
    ("nightly",),
    ("cli",),
    ("__main__",),
)
"""Rooms in import order: each may import only rooms above it, never one of its own row."""

HEAVY = ("openai", "scipy", "numpy", "langdetect", "py3langid", "matplotlib", "starlette")


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _row(room: str) -> int:
    return next(number for number, row in enumerate(ROWS) if room in row)


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_rooms_import_only_rooms_above_them() -> None:
    wrong = []
    for path in _files():
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] == "__init__":
            continue
        room = parts[0]
        for name in _imports(path):
            other = _room(name) if name.startswith("evalstab") else ""
            if other and other != room and _row(other) >= _row(room):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_every_room_has_a_row() -> None:
    rooms = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in _files()}
    assert rooms - {"__init__"} <= {room for row in ROWS for room in row}


@pytest.mark.parametrize(
    ("package", "home"),
    [
        ("openai", "endpoint"),
        ("typer", "cli"),
        ("matplotlib", "report"),
        ("jinja2", "report"),
        ("starlette", "sim"),
    ],
)
def test_a_library_stays_in_its_room(package: str, home: str) -> None:
    users = {
        path.relative_to(PACKAGE)
        for path in _files()
        for name in _imports(path)
        if name.split(".")[0] == package
    }
    assert users
    assert {path.parts[0] for path in users} == {home}
    assert package != "openai" or len(users) == 1


def test_only_the_command_line_prints() -> None:
    printing = [
        str(path.relative_to(PACKAGE))
        for path in _files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
        and path.relative_to(PACKAGE).parts[0] not in ("cli", "sim")
    ]
    assert not printing


def test_the_command_line_starts_light() -> None:
    code = (
        "import sys, evalstab.cli, evalstab.cli.app;"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_and_functions_are_small() -> None:
    big = []
    for path in _files():
        source = path.read_text(encoding="utf-8")
        lines = source.count("\n") + 1
        if lines > 300:
            big.append(f"{path.relative_to(PACKAGE)}: {lines} lines")
        if path.relative_to(PACKAGE).parts[:2] == ("cli", "run.py"):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > 40:
                    big.append(f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}: {length}")
    assert not big, "\n".join(big)
