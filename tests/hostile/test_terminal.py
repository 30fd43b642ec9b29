"""What a server writes must not steer the terminal of whoever reads it."""

from __future__ import annotations

import pytest

from evalstab.cli.common import say


def test_control_characters_in_prose_are_shown_and_not_obeyed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say("error: HTTP 500: \x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.exe\r\tend\nnext – line")
    shown = capsys.readouterr().err
    assert shown == (
        "error: HTTP 500: \ufffd[2J\ufffd]0;title\ufffd\ufffd31m\ufffdgnp.exe\ufffd\tend\n"
        "next – line\n"
    )
