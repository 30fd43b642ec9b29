"""Files of a series that are damaged: the message names the file and the mend, nothing crashes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.series.kills import Victims

DEEP = b"[" * 200_000
RAW = {
    "nested too deeply": b'{"schema_version": 1, "id": "x", "junk": ' + DEEP,
    "nested objects": b'{"a":' * 100_000,
    "empty": b"",
    "binary": bytes(range(256)),
    "null": b"null",
    "a list": b"[]",
    "an empty object": b"{}",
    "cut off": b'{"schema_version": 1, "id": "2026',
}
WRONG: tuple[Any, ...] = (None, "x", -7, [[]], {"x": 1})
RESTORE = "restore it from a copy, or start a new series"


@pytest.fixture(scope="module")
def finished(some: Victims, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished series under a gate, and a finished ladder."""
    place = tmp_path_factory.mktemp("finished")
    series = ("run", "three-notes", "--endpoint", "sim:steady", "--quiet")
    assert some.plain(place, *series, "--repeats", "2", "--out", "series")[0] == 0
    levels = ("--concurrency", "1,2", "--repeats", "2")
    assert some.plain(place, *series, *levels, "--out", "ladder")[0] == 0
    return place


def _damaged(path: Path) -> Iterator[tuple[str, bytes]]:
    """What may stand in this file instead: no JSON, the wrong JSON, one key of a wrong type."""
    good = json.loads(path.read_bytes()) if path.exists() else {}
    yield from RAW.items()
    yield "newer", json.dumps(good | {"schema_version": 99}).encode()
    for key in good:
        for wrong in WRONG:
            yield f"{key} = {wrong!r}", json.dumps(good | {key: wrong}).encode()


@pytest.mark.parametrize(
    ("file", "commands", "mend"),
    [
        ("series/series.json", ("resume", "score", "report"), RESTORE),
        ("series/gate.json", ("score", "gate"), "remove it, and name the gate again"),
        ("series/scores.json", ("report", "gate"), "run `evalstab score series`"),
        ("ladder/ladder.json", ("resume", "score"), "restore it from a copy"),
        ("series/launch.json", ("resume", "report"), "restore it, or remove it"),
    ],
)
@pytest.mark.nightly
def test_whatever_stands_in_a_file(
    file: str, commands: tuple[str, ...], mend: str, some: Victims, finished: Path, tmp_path: Path
) -> None:
    for number, (what, data) in enumerate(_damaged(finished / file)):
        for command in commands:
            place = tmp_path / f"{number}-{command}"
            shutil.copytree(finished, place)
            (place / file).write_bytes(data)
            root = file.partition("/")[0]
            code, said = some.plain(place, command, root)
            assert "Traceback" not in said, (what, said)
            assert code in (0, 3, 4, 5, 6), (what, said)
            if code == 3 and "cannot be read" in said:
                assert file in said, (what, said)
                assert mend in said or "upgrade" in said, (what, said)
            shutil.rmtree(place)


@pytest.mark.parametrize(
    ("file", "command", "mend"),
    [
        ("series/series.json", "resume", RESTORE),
        ("series/gate.json", "score", "remove it, and name the gate again"),
        ("series/scores.json", "report", "run `evalstab score series`"),
        ("ladder/ladder.json", "resume", "restore it from a copy, or name the folder of a rung"),
    ],
)
@pytest.mark.parametrize("what", ["nested too deeply", "binary", "a list"])
def test_a_damaged_file_names_itself_and_its_mend(
    file: str,
    command: str,
    mend: str,
    what: str,
    some: Victims,
    finished: Path,
    tmp_path: Path,
) -> None:
    place = tmp_path / "damaged"
    shutil.copytree(finished, place)
    (place / file).write_bytes(RAW[what])
    code, said = some.plain(place, command, file.partition("/")[0])
    assert code == 3
    assert said.startswith(f"error: {file} cannot be read: ")
    assert said.endswith(f"{mend}\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "key", "wrong", "mend"),
    [
        ("series/series.json", "task", {}, RESTORE),
        ("series/series.json", "endpoint", {}, RESTORE),
        ("series/series.json", "settings", {"odd": 1}, RESTORE),
        ("series/series.json", "conditions", {"concurrency": [], "context": 7}, RESTORE),
        ("ladder/ladder.json", "request", {"flags": 7}, RESTORE),
        ("ladder/ladder.json", "request", {"task": "three-notes", "contexts": "x"}, RESTORE),
    ],
)
def test_what_a_file_does_not_say_is_told(
    file: str, key: str, wrong: Any, mend: str, some: Victims, finished: Path, tmp_path: Path
) -> None:
    place = tmp_path / "damaged"
    shutil.copytree(finished, place)
    stored = json.loads((place / file).read_bytes()) | {key: wrong}
    (place / file).write_text(json.dumps(stored))
    code, said = some.plain(place, "resume", file.partition("/")[0])
    assert code == 3, said
    assert said.startswith(f"error: {file} ")
    assert mend in said
    assert said.count("\n") == 1


def test_a_broken_history_is_named_with_its_mend(some: Victims, tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    for data in (b"no database at all", b"SQLite format 3\x00" + bytes(2000), DEEP):
        (tmp_path / "reports" / "history.sqlite").write_bytes(data)
        code, said = some.plain(tmp_path, "history")
        assert code == 3, said
        assert "reports/history.sqlite" in said
        assert "can be removed: it is made again from the series folders" in said
        assert "Traceback" not in said


def test_a_damaged_record_names_its_line_and_is_scored_all_the_same(
    some: Victims, finished: Path, tmp_path: Path
) -> None:
    place = tmp_path / "damaged"
    shutil.copytree(finished, place)
    record = place / "series" / "trials" / "002" / "events.jsonl"
    whole = record.read_bytes().splitlines(keepends=True)
    for line in (
        b"null\n",
        b"\xff\xfe\n",
        b'{"type": "step", "number": 1, "junk": ' + DEEP + b"\n",
        b'{"type": "step", "number": 2, "started": 0, "seconds": 0, "attempts": []}\n',
    ):
        record.write_bytes(b"".join([*whole[:2], line, *whole[2:-1]]))
        code, said = some.plain(place, "resume", "series")
        assert code == 3, said
        assert "error: series/trials/002/events.jsonl" in said
        assert "move the trial's folder away and run `evalstab resume`" in said
        assert some.plain(place, "score", "series")[0] == 0
