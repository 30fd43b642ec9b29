"""A gate over a ladder: the worst of its rungs, and the largest size that still passes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from evalstab.measures.ladder import ladder_result
from evalstab.report.ladder_gate import gate_line, passes_up_to
from evalstab.series.ladder import Rung, open_ladder
from evalstab.workflow.gates import EXIT_CODES
from evalstab.workflow.judging import judge_folder
from tests.cli.program import evalstab
from tests.report.ladder_cases import STEADY, TORN, Totals, ladder_of
from tests.report.report_cases import scores_of

GATE = (
    'repeats = 5\nrules = [{ name = "order", value = "stability.kendall_tau.mean", min = 0.6 }]\n'
)


def _ladder(root: Path, *rungs: tuple[str, int | None, int, Totals | None]) -> Path:
    ladder_of(root / "ladder", rungs)
    (root / "gate.toml").write_text("accept_identical = true\n" + GATE)
    return root


@pytest.mark.parametrize(
    ("rungs", "code", "words"),
    [
        ((STEADY, STEADY, STEADY), 0, "PASS: passed by every rung, up to 80k of context"),
        ((STEADY, STEADY, TORN), 5, "FAIL: passed up to 60k of context, failed at 80k"),
        ((STEADY, TORN, STEADY), 5, "FAIL: passed up to 16k of context, failed at 60k"),
        ((TORN, STEADY, STEADY), 5, "FAIL: not passed, failed at 16k already"),
        ((STEADY, STEADY, None), 4, "INVALID: passed up to 60k of context, not run yet at 80k"),
        ((STEADY, TORN, None), 4, "INVALID: passed up to 16k of context, failed at 60k, not run"),
    ],
)
def test_the_worst_rung_answers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rungs: tuple[Totals | None, ...],
    code: int,
    words: str,
) -> None:
    named = zip(("16k", "60k", "80k"), (16_000, 60_000, 80_000), rungs, strict=True)
    cwd = _ladder(tmp_path, *((name, size, 1, totals) for name, size, totals in named))
    monkeypatch.chdir(cwd)
    found = judge_folder(Path("ladder"), "gate.toml", print, junit_file=Path("g.xml"))
    assert EXIT_CODES[found.status] == code
    assert words in found.lines[0]
    assert ("  evalstab resume ladder" in found.lines) == (None in rungs)
    suites = [suite.name for suite in JUnitXml.fromfile(str(cwd / "g.xml"))]
    assert sum("gate gate" in name for name in suites) == sum(t is not None for t in rungs)
    page = (cwd / "ladder" / "report.md").read_text(encoding="utf-8")
    assert words.partition(": ")[2].partition(",")[0] in page


def test_the_verdict_stands_in_the_ladder_and_in_the_json(tmp_path: Path) -> None:
    cwd = _ladder(tmp_path, ("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, TORN))
    done = evalstab("gate", "ladder", "--gate", "gate.toml", "--json", cwd=cwd)
    assert done.returncode == 5
    document = json.loads(done.stdout)
    gate = document["ladder"]["result"]["gate"]
    assert (gate["status"], gate["gate"]) == ("fail", "gate")
    assert gate["passes_up_to"]["context_target"] == 16_000
    assert [scores["verdict"]["status"] for scores in document["series"]] == ["pass", "fail"]
    kept = open_ladder(cwd / "ladder").result
    assert kept is not None
    assert kept["gate"] == gate
    assert (cwd / "ladder" / "60k" / "gate.json").is_file()


def test_a_ladder_without_a_rung_says_what_to_do(tmp_path: Path) -> None:
    cwd = _ladder(tmp_path, ("16k", 16_000, 1, None))
    done = evalstab("gate", "ladder", cwd=cwd)
    assert done.returncode == 3
    assert "evalstab resume ladder" in done.stderr


def _result(*rungs: tuple[str, int | None, int, str]) -> dict[str, object]:
    known = []
    for name, size, level, status in rungs:
        scores = scores_of([[2.0, 1.0]] * 3)
        for trial in scores["trials"]:
            trial["active_context_tokens"] = size or 9_000
        scores["verdict"] = {"status": status, "gate": "g"}
        known.append((Rung(name=name, context_target=size, concurrency=level), scores))
    found: dict[str, object] = ladder_result(known)["gate"]
    return found


def test_a_size_passes_when_all_its_levels_do() -> None:
    gate = _result(
        ("16k-c1", 16_000, 1, "pass"), ("16k-c4", 16_000, 4, "pass"),
        ("60k-c1", 60_000, 1, "pass"), ("60k-c4", 60_000, 4, "undecided"),
    )  # fmt: skip
    assert gate_line(gate) == ("Undecided: gate g is passed up to 16k of context, open at 60k-c4.")


def test_levels_of_load_are_steps_where_sizes_are_equal() -> None:
    gate = _result(("c1", None, 1, "pass"), ("c4", None, 4, "pass"), ("c8", None, 8, "fail"))
    assert passes_up_to(gate) == "4 trials at once"


def test_a_natural_size_is_named_with_its_context() -> None:
    gate = _result(("natural", None, 1, "pass"), ("60k", 60_000, 1, "fail"))
    assert passes_up_to(gate) == "the task's natural size (about 9,000 tokens of context)"


def test_without_a_gate_there_is_no_verdict() -> None:
    assert _result(("c1", None, 1, "none"), ("c4", None, 4, "none")) is None


def test_open_rungs_say_what_could_decide_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cwd = _ladder(tmp_path, ("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, STEADY))
    monkeypatch.chdir(cwd)
    found = judge_folder(Path("ladder"), "acceptance", print)
    assert found.status == "undecided"
    after = found.lines[found.lines.index("Next, cheapest first:") + 1 :]
    assert len(after) == 2
    assert all(line.startswith("  evalstab ") for line in after)
