"""Gates as people use them: real runs on the simulated endpoint, exit codes, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from tests.cli.program import evalstab

PERSONAS = ("steady", "perfect", "drifting", "echo")
ENDS = {"steady": (0, 13), "perfect": (0, 13), "drifting": (5, 5), "echo": (5, 5)}
"""Exit code of the acceptance gate and the trials after which it stops, by persona."""


def scores(folder: Path) -> dict[str, Any]:
    """scores.json of a series."""
    found: dict[str, Any] = json.loads((folder / "scores.json").read_text())
    return found


def run(folder: Path, persona: str, *more: str) -> Any:
    """A series of eleven profiles on a persona."""
    return evalstab(
        "run", "eleven-profiles", "--endpoint", f"sim:{persona}", "--out", folder, *more,
        cwd=folder.parent,
    )  # fmt: skip


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series on the steady persona that the acceptance gate has stopped."""
    folder = tmp_path_factory.mktemp("gate") / "steady"
    assert run(folder, "steady", "--gate", "acceptance").returncode == 0
    return folder


def test_a_steady_model_is_accepted_after_thirteen_of_twenty(accepted: Path) -> None:
    found = scores(accepted)
    assert found["verdict"]["status"] == "pass"
    assert not found["verdict"]["provisional"]
    assert len(found["trials"]) == 13
    assert "Pass" in (accepted / "report.md").read_text()


@pytest.mark.parametrize("persona", PERSONAS[1:])
def test_acceptance(tmp_path: Path, persona: str) -> None:
    code, trials = ENDS[persona]
    done = run(tmp_path / persona, persona, "--gate", "acceptance", "--json")
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    assert len(found["trials"]) == trials
    assert f"saved {20 - trials} trials" in done.stderr
    if code == 5:
        assert found["verdict"]["next"]
        again = evalstab("gate", persona, "--gate", "nightly", cwd=tmp_path)
        assert again.returncode == 5, again.stdout


@pytest.mark.parametrize("persona", PERSONAS[:2])
def test_nightly_passes_provisionally_within_five(tmp_path: Path, persona: str) -> None:
    done = run(tmp_path / "n", persona, "--gate", "nightly")
    assert done.returncode == 0, done.stderr
    verdict = scores(tmp_path / "n")["verdict"]
    assert (verdict["status"], verdict["provisional"], verdict["trials"]) == ("pass", True, 5)
    longer = evalstab(
        "resume", "n", "--gate", "acceptance", "--repeats", "20", "--json", cwd=tmp_path
    )
    assert longer.returncode == 6, longer.stderr
    found = json.loads(longer.stdout)
    assert len(found["trials"]) == 8
    assert found["verdict"]["next"] == ["evalstab resume n --repeats 13"]
    assert any("chosen after 5" in note for note in found["verdict"]["notes"])


def test_another_gate_only_looks(tmp_path: Path) -> None:
    done = run(tmp_path / "n", "perfect", "--gate", "nightly")
    assert done.returncode == 0, done.stderr
    before = {p: p.read_bytes() for p in (tmp_path / "n").iterdir() if p.is_file()}
    look = evalstab("gate", "n", "--gate", "acceptance", "--json", cwd=tmp_path)
    assert look.returncode == 6, look.stdout
    verdict = json.loads(look.stdout)["verdict"]
    assert verdict["gate"] == "acceptance"
    assert verdict["next"] == ["evalstab resume n --gate acceptance --repeats 8"]
    assert look.stderr.count("only a look: the series was run under gate 'nightly'") == 1
    assert {p: p.read_bytes() for p in (tmp_path / "n").iterdir() if p.is_file()} == before
    shown = evalstab("history", "--reports", ".", cwd=tmp_path)
    assert "pass (nightly)" in shown.stdout
    on = evalstab("resume", "n", "--gate", "acceptance", "--repeats", "8", cwd=tmp_path)
    assert on.returncode == 6, on.stderr
    assert evalstab("gate", "n", "--gate", "nightly", cwd=tmp_path).returncode == 0
    assert scores(tmp_path / "n")["verdict"]["gate"] == "acceptance"


def test_without_a_gate_of_its_own_the_last_one_is_kept_and_the_replaced_one_named(
    tmp_path: Path,
) -> None:
    assert run(tmp_path / "n", "perfect").returncode == 0
    assert evalstab("gate", "n", cwd=tmp_path).returncode == 0
    second = evalstab("gate", "n", "--gate", "acceptance", cwd=tmp_path)
    assert second.returncode == 6
    assert "replaces the verdict of gate 'nightly' (pass)" in second.stderr
    assert scores(tmp_path / "n")["verdict"]["gate"] == "acceptance"
    back = evalstab("gate", "n", "--gate", "nightly", cwd=tmp_path)
    assert back.returncode == 0, back.stdout
    assert scores(tmp_path / "n")["verdict"]["gate"] == "nightly"


def test_a_stopped_series_is_finished(accepted: Path) -> None:
    done = evalstab("resume", accepted, "--quiet", cwd=accepted.parent)
    assert done.returncode == 0, done.stderr
    assert len(scores(accepted)["trials"]) == 13
    refused = evalstab("score", accepted, cwd=accepted.parent)
    assert refused.returncode == 0
    assert scores(accepted)["verdict"]["status"] == "pass"


def test_gate_by_file_json_and_junit(accepted: Path, tmp_path: Path) -> None:
    gate = tmp_path / "strict.toml"
    gate.write_text(
        'repeats = 13\nrules = [{ name = "all-alike", value = "stability.kendall_tau.min", '
        "min = 0.999 }]\n"
    )
    junit = tmp_path / "gate.xml"
    done = evalstab("gate", accepted, "--gate", gate, "--junit", junit, "--json", cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert json.loads(done.stdout)["verdict"]["gate"] == "strict"
    read = JUnitXml.fromfile(str(junit))
    assert (read.failures, read.errors) == (2, 0)
    back = evalstab("gate", accepted, "--gate", "acceptance", cwd=tmp_path)
    assert back.returncode == 0, back.stdout
    assert "PASS" in back.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--gate", "nightly", "--task", "three-notes"), 3, ("cannot pass", "--repeats 19")),
        (("--gate", "nigthly"), 3, ("nightly",)),
        (("--gate", "rate.toml"), 3, ("cannot pass", "59 trials")),
        (("--gate", "key.toml"), 3, ("key.toml", "stability.scale.cv")),
    ],
)
def test_gates_that_are_refused_before_the_first_request(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    rate = 'rate = "trial_has:text.foreign_script", max = 0.05'
    (tmp_path / "rate.toml").write_text(f'repeats = 20\nrules = [{{ name = "x", {rate} }}]\n')
    key = 'value = "stability.scale.vc", max = 0.2'
    (tmp_path / "key.toml").write_text(f'repeats = 5\nrules = [{{ name = "x", {key} }}]\n')
    task = "three-notes" if "three-notes" in arguments else "eleven-profiles"
    given = [a for a in arguments if a not in ("--task", "three-notes")]
    done = evalstab("run", task, *given, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "reports").exists()


def test_no_early_stop_and_gates_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "evalstab.toml").write_text(
        '[gates.mine]\nrepeats = 4\nrules = [{ name = "none", count = "ranked", at_most = 0 }]\n'
    )
    stopped = evalstab("run", "three-notes", "--gate", "mine", "--out", "a", cwd=tmp_path)
    assert stopped.returncode == 5
    assert len(scores(tmp_path / "a")["trials"]) == 3
    full = evalstab(
        "run", "three-notes", "--gate", "mine", "--no-early-stop", "--out", "b", cwd=tmp_path
    )
    assert full.returncode == 5
    assert len(scores(tmp_path / "b")["trials"]) == 4


def test_more_trials_than_the_plan_has_looks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "evalstab.toml").write_text(
        '[gates.mine]\nrepeats = 3\nrules = [{ name = "r", rate = "ranked", min = 0.3 }]\n'
    )
    done = evalstab("run", "three-notes", "--gate", "mine", "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    more = evalstab("resume", "a", "--repeats", "9", cwd=tmp_path)
    assert more.returncode == 2
    assert "planned looks" in more.stderr


def test_gate_refuses_what_cannot_pass_or_names_nobody(tmp_path: Path) -> None:
    begun = evalstab(
        "run", "three-notes", "--endpoint", "sim:steady", "--repeats", "3", "--out", "three",
        "--quiet", cwd=tmp_path,
    )  # fmt: skip
    assert begun.returncode == 0, begun.stderr
    for verb in ("gate", "resume"):
        done = evalstab(verb, "three", "--gate", "nightly", cwd=tmp_path)
        assert done.returncode == 3, done.stdout
        assert "--repeats 19" in done.stderr
    rule = '{ name = "x", rate = "trial_winner:nobody", min = 0.5 }'
    (tmp_path / "who.toml").write_text(f"repeats = 5\nrules = [{rule}]\n")
    done = evalstab("gate", "three", "--gate", "who.toml", cwd=tmp_path)
    assert done.returncode == 3
    assert "no candidate 'nobody'" in done.stderr
    assert not (tmp_path / "three" / "gate.json").exists()
