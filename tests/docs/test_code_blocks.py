"""Every code block of README and docs is executed, in an empty folder, against a real server.

``sh`` blocks are run line by line with ``evalstab`` on the path; ``toml`` blocks become the
``evalstab.toml`` of the commands after them, unless a comment before the block names another file
(``<!-- file: NAME -->``). Addresses of a rig (``http://localhost:8000``) are those of a simulated
endpoint. A block that cannot be run here says why in ``<!-- not run: REASON -->``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalstab.sim.open import open_sim
from tests.cli.program import environment

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
RIG = "http://localhost:8000"

_BLOCK = re.compile(
    r"(?:<!--\s*(?P<note>.*?)\s*-->\s*\n)?^```(?P<kind>sh|toml|python)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block and the remark in front of it."""

    line: int
    kind: str
    text: str
    note: str

    @property
    def runs(self) -> bool:
        """Whether it is executed."""
        return not self.note.startswith("not run:")


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text")) + 1
        yield Block(line, match["kind"], match["text"], match["note"] or "")


def _with_blocks() -> list[Path]:
    return [page for page in PAGES if any(block.runs for block in _blocks(page))]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", _with_blocks(), ids=_name)
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    with open_sim("steady") as url:
        for block in _blocks(page):
            if block.runs:
                _run(block, page, tmp_path, url)


def test_a_block_that_is_not_run_says_why() -> None:
    for page in PAGES:
        for block in _blocks(page):
            assert block.runs or len(block.note) > len("not run: ") + 10, (page, block.line)


def _run(block: Block, page: Path, folder: Path, url: str) -> None:
    where = f"{_name(page)}:{block.line}"
    text = block.text.replace(RIG, url)
    if block.kind == "toml":
        name = block.note.removeprefix("file:").strip() if "file:" in block.note else ""
        (folder / (name or "evalstab.toml")).write_text(text, encoding="utf-8")
        return
    if block.kind == "python":
        done = _execute([sys.executable, "-c", text], folder)
    else:
        done = _execute(["bash", "-euo", "pipefail", "-c", text], folder)
    assert done.returncode == 0, f"{where}\n{text}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


def _execute(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    programs = str(Path(sys.executable).parent)
    home = folder / "home"
    (home / "applications").mkdir(parents=True, exist_ok=True)
    for name in ("anna", "bo", "cy"):
        (home / "applications" / f"{name}.txt").write_text(f"{name} has mended pumps for years.\n")
    extra = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(extra),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_ci_runs_the_test_line_of_the_readme() -> None:
    lines = [block.text.strip() for block in _blocks(ROOT / "README.md") if "pytest" in block.text]
    assert len(lines) == 1
    assert lines[0] in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
