"""What machines read of a night: JUnit as its schema has it, Prometheus text, the step summary."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from junitparser import JUnitXml
from prometheus_client.parser import text_string_to_metric_families

from evalstab.history.store import rows_of
from evalstab.nightly import outputs
from evalstab.nightly.config import NightlySettings
from evalstab.nightly.junit import night_junit
from evalstab.nightly.night import Item, Night
from evalstab.nightly.prometheus import night_metrics
from tests.history.test_history import night as past
from tests.history.test_history import scored
from tests.nightly.test_notify import item

__all__ = ["scored"]
EVIL = (
    "]]><failure/>&<\x00\x1b[31m\u202e[[ATTACHMENT|/etc/passwd]] [[ attachment|x]]\n::error::x | y"
)
_TEXT = {"message", "type"}
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    # element: attributes needed, attributes allowed beside them, children (junit-10.xsd of Jenkins)
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "skipped": (set(), _TEXT, set()),
    "error": (set(), _TEXT, set()),
    "failure": (set(), _TEXT, set()),
    "system-out": (set(), set(), set()),
    "system-err": (set(), set(), set()),
}


def require_schema(document: bytes) -> None:
    """AssertionError where an element has what the common schema does not know."""
    for element in ElementTree.fromstring(document).iter():
        needed, allowed, children = SCHEMA[element.tag]
        assert needed <= set(element.attrib) <= needed | allowed, (element.tag, element.attrib)
        assert {child.tag for child in element} <= children, element.tag


def whole(*items: Item) -> Night:
    """A night that ended, with these series."""
    return Night(
        id="20261130-021700", started="2026-11-30T02:17:00+00:00", digest="d", budget=3600.0,
        ended="2026-11-30T04:17:00+00:00", items=items,
    )  # fmt: skip


def at(one: Item, place: Path, **entry: Any) -> Item:
    """The series, its result in this folder, asked for with these keys."""
    result = msgspec.structs.replace(one.results[0], folder=str(place))
    return msgspec.structs.replace(one, entry=one.entry | entry, results=(result,))


def test_the_document_is_as_the_schema_has_it(scored: Path, tmp_path: Path) -> None:
    place = past(scored, tmp_path, 1)
    scores = json.loads((place / "scores.json").read_text())
    scores["trials"][0] |= {"outcome": "failed", "reason": EVIL}
    scores["trials"][1] |= {"outcome": "invalid", "reason": EVIL}
    (place / "scores.json").write_text(json.dumps(scores))
    stopped = item(None, "stopped", exit_code=4, problem=EVIL)
    left = item(None, "left_out", problem="left out: no time")
    night = whole(at(item("fail"), place), stopped, left, item(None, "planned"))
    document = night_junit(night)
    require_schema(document)
    text = document.decode()
    assert text.count("[[ATTACHMENT|") == 1
    assert f"[[ATTACHMENT|{place}/report.html]]" in text
    read = JUnitXml.fromstring(document)
    assert (read.errors, read.failures) == (2, 1)
    suite = next(iter(read))
    assert suite.skipped == 2


def test_a_sample_is_named_once_and_never_nan(scored: Path, tmp_path: Path) -> None:
    place = past(scored, tmp_path, 1, tau=float("nan"))
    one = at(item("pass"), place, task="three-notes", endpoint='r"i\\g\n#')
    night = whole(one, one, at(item("pass"), place, context=["16k"]))
    text = night_metrics(night, rows_of(tmp_path, print)).decode()
    names = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(names) == len(set(names))
    assert "nan" not in text.lower()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert "evalstab_kendall_tau" not in families
    endpoints = {s.labels["endpoint"] for s in families["evalstab_trials"].samples}
    assert endpoints == {'r"i\\g\n#', "rig"}


def test_the_last_success_outlives_a_dead_endpoint(scored: Path, tmp_path: Path) -> None:
    past(scored, tmp_path, 1)
    past(scored, tmp_path, 2, concurrency=4)
    (row, _) = rows_of(tmp_path, print)
    dead = item(None, "stopped", exit_code=4, problem="cannot be reached")
    dead = msgspec.structs.replace(dead, entry={"task": row.task, "endpoint": row.endpoint})
    text = night_metrics(whole(dead), rows_of(tmp_path, print)).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    (sample,) = families["evalstab_last_success_timestamp_seconds"].samples
    assert sample.value == 1793499420.0  # 2026-11-01 02:17 UTC
    assert "evalstab_kendall_tau" not in families


def test_a_reader_sees_a_whole_file_at_any_time(
    scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    place = past(scored, tmp_path, 1)
    night = whole(*(at(item("pass"), place, endpoint=f"rig{n}") for n in range(40)))
    settings = NightlySettings(prometheus=str(tmp_path / "out" / "e.prom"))
    complaints: list[str] = []
    done = threading.Event()

    def write() -> None:
        for _ in range(15):
            outputs.write(night, settings, [], complaints.append)
        done.set()

    private = os.umask(0o077)
    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        if (tmp_path / "out" / "e.prom").exists():
            seen.add((tmp_path / "out" / "e.prom").read_bytes())
    writer.join()
    os.umask(private)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out" / "e.prom").stat().st_mode & 0o777 == 0o644
    assert len(seen) == 1
    assert seen.pop().endswith(b"\n")
    assert complaints == []


def test_the_step_summary_takes_several_nights_and_no_more_than_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    summary = tmp_path / "step.md"
    summary.write_bytes(b"x" * 900_000 + b"\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    entries = [
        msgspec.structs.replace(item("fail"), name=f"task {number} <b>|{EVIL}", problem="x" * 9000)
        for number in range(250)
    ]
    for _ in range(3):
        outputs.write(whole(*entries), NightlySettings(), [], lambda _line: None)
    text = summary.read_text()
    assert summary.stat().st_size < 1024 * 1024
    assert text.count("# Night of 2026-11-30") > 1
    assert text.rstrip().endswith("(cut: the step summary holds 1 MiB)")
    assert "<b>" not in text
    shutil.rmtree(tmp_path / "reports")
