"""Scan as people use it: a text, a pipe, a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.program import environment, evalstab

LEAK = "Die Kandidatin hat опыт mit SQL und Python. Sie arbeitet seit Jahren in der Verwaltung.\n"


def _found(place: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    done = evalstab("scan", *arguments, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    findings: list[dict[str, Any]] = answer["findings"]
    return findings


def test_a_file_and_the_inputs_to_except(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text(LEAK)
    (found,) = _found(tmp_path, "answer.md", "--language", "de")
    assert found["code"] == "text.foreign_script"
    assert (found["start"], found["end"], found["channel"]) == (19, 23, "content")
    assert "⟦опыт⟧" in found["excerpt"]
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "cv.txt").write_text("Большой опыт")
    assert _found(tmp_path, "answer.md", "--language", "de", "--inputs", "given") == []
    (found,) = _found(tmp_path, "answer.md", "--language", "ru")
    assert (found["code"], found["detail"]["language"]) == ("text.foreign_language", "de")


def test_the_language_is_the_texts_own_where_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text(LEAK + "Ihre Noten sind 优秀 und sie ist bald frei.\n")
    done = evalstab("scan", "answer.md", cwd=tmp_path)
    assert done.returncode == 0
    assert "judged as de" in done.stderr
    assert done.stdout.count("text.foreign_script") == 2
    assert done.stdout.splitlines()[-1] == "2 findings in 1 text, judged as de"


def test_a_folder_names_the_file_and_leaves_out_what_is_no_text(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "report.md").write_text(LEAK)
    (folder / "a.md").write_text("Alles in Ordnung, die Bewertung ist vollständig.\n")
    (folder / "image.bin").write_bytes(b"\0\1\2" * 50)
    (folder / ".hidden").write_text(LEAK)
    (folder / "link").symlink_to("/etc/hostname")
    (found,) = _found(tmp_path, "workspace", "--language", "de")
    assert found["channel"] == "file"
    assert found["detail"]["path"] == "b/report.md"
    done = evalstab("scan", "workspace", "--language", "de", cwd=tmp_path)
    assert "1 files that are no text" in done.stderr
    assert done.stdout.startswith("b/report.md:19-23  text.foreign_script  Cyrillic")


def test_a_pipe_with_a_loop_and_hostile_text(tmp_path: Path) -> None:
    text = "\u001b[2J\u202e" + "I must check the note again and again. " * 80
    done = subprocess.run(
        [sys.executable, "-m", "evalstab", "scan", "-", "--language", "en",
         "--channel", "reasoning"],
        input=text.encode(), cwd=tmp_path, env=environment(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"reasoning.loop" in done.stdout
    assert b"\x1b" not in done.stdout
    assert "\u202e".encode() not in done.stdout


def test_broken_bytes_are_a_finding_and_a_byte_order_mark_is_none(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b"\xef\xbb\xbfDie Kandidatin ist gut \xff\xfe geeignet.")
    codes = {found["code"] for found in _found(tmp_path, "t.txt", "--language", "de")}
    assert codes == {"text.replacement_char"}


def test_what_cannot_be_read_and_what_cannot_be_meant(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.txt").write_text("x")
    for arguments, code, told in (
        (("missing.txt",), 3, "missing.txt cannot be read"),
        (("empty",), 3, "holds no text file"),
        (("t.txt", "--inputs", "missing"), 3, "missing cannot be read"),
        (("t.txt", "--language", "xx-nonsense"), 3, "unknown language"),
        (("t.txt", "--channel", "contents"), 2, "Did you mean 'content'?"),
    ):
        done = evalstab("scan", *arguments, cwd=tmp_path)
        assert done.returncode == code, (arguments, done.stderr)
        assert told in done.stderr
        assert done.stdout == ""


def test_thinking_in_an_answer_is_told(tmp_path: Path) -> None:
    text = "Hello.\n<think>Which of them is best?</think>\nThe first one is the best of all.\n"
    (tmp_path / "answer.md").write_text(text)
    (found,) = _found(tmp_path, "answer.md", "--language", "en")
    assert found["code"] == "reasoning.leaked_to_content"
    assert text[found["start"] : found["end"]] == "Which of them is best?"
    assert _found(tmp_path, "answer.md", "--language", "en", "--channel", "reasoning") == []


def test_a_lone_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "image.bin").write_bytes(b"\0\1\2" * 50)
    done = evalstab("scan", "image.bin", cwd=tmp_path)
    assert done.returncode == 3
    assert "image.bin is no text file" in done.stderr
