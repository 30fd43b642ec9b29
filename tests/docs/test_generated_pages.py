"""Pages that are made from the program are as the program is now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_commands_is_not_stale() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "commands", "-"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == made.stdout.removesuffix("\n"), "run: python docs/generate.py commands"
