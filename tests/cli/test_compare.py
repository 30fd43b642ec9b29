"""Compare, stability and plan as people use them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evalstab.series.ladder import LadderFile, Rung, create_ladder
from tests.cli.program import environment, evalstab


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two series of the same work: steady, and drifting in turn with steady."""
    root = tmp_path_factory.mktemp("compare")
    steady = evalstab(
        "run", "eleven-profiles", "--endpoint", "sim:steady", "--repeats", "4",
        "--out", "reports/steady", cwd=root,
    )  # fmt: skip
    assert steady.returncode == 0, steady.stderr
    turns = evalstab(
        "run", "eleven-profiles", "--endpoint", "sim:drifting", "--repeats", "4",
        "--against", "reports/steady", "--out", "reports/drifting", cwd=root,
    )  # fmt: skip
    assert turns.returncode == 0, turns.stderr
    assert "less stable" in turns.stderr
    return root


def test_trials_took_turns(place: Path) -> None:
    begun = {
        (name, index): json.loads(
            (place / "reports" / name / "trials" / f"{index:03d}" / "events.jsonl")
            .read_text()
            .splitlines()[0]
        )["at"]
        for name in ("drifting", "drifting-base")
        for index in (1, 2, 3, 4)
    }
    order = [name for name, _ in sorted(begun, key=lambda key: begun[key])]
    new, base = "drifting", "drifting-base"
    assert order == [new, base, base, new, new, base, base, new]


def test_nothing_is_written_into_a_baseline(place: Path) -> None:
    set_ = evalstab("baseline", "set", "reports/steady", "--name", "s", cwd=place)
    assert set_.returncode == 0, set_.stderr
    frozen = place / "reports" / "baselines" / "s"
    before = sorted(frozen.rglob("*"))
    done = evalstab("compare", "reports/drifting", "reports/baselines/s", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    page = place / json.loads(done.stdout)["files"]["html"]
    assert page.parent == place / "reports" / "drifting" / "compare"
    shutil.copytree(frozen, place / "other")
    for new in (frozen, frozen / "scores.json"):
        done = evalstab("compare", "other", new, "--json", cwd=place)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["files"] == {}
        assert "nothing is written into a baseline" in done.stderr
    assert sorted(frozen.rglob("*")) == before


def test_compare_writes_page_plot_and_json(place: Path) -> None:
    done = evalstab(
        "compare", "reports/steady", "reports/drifting", "--vary", "model", "--json",
        "--output", "out", cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["stability"]["answer"] == "yes"
    assert [d["factor"] for d in found["differences"] if d["kind"] == "declared"] == ["model"]
    assert (place / found["files"]["svg"]).read_text().startswith("<?xml")
    html = (place / found["files"]["html"]).read_text()
    for heading in ("Side by side", "Conditions", "Tests", "Places of each candidate in both"):
        assert f"<h2>{heading}" in html
    assert 'href="../reports/drifting/report.html">New</a>' in html
    assert html.count("data:image/svg+xml;base64,") == 1
    page = (place / found["files"]["md"]).read_text()
    assert "Has the stability changed?" in page
    assert "cannot tell" in page


def test_a_series_is_not_compared_with_itself(place: Path) -> None:
    done = evalstab("compare", "reports/steady", "reports/../reports/steady", cwd=place)
    assert done.returncode == 3
    assert "are the same series" in done.stderr


def test_folders_are_named_as_given_and_a_difference_once(place: Path) -> None:
    done = evalstab("compare", "reports/steady", "reports/drifting", cwd=place)
    assert done.stdout.startswith("reports/steady against reports/drifting\n")
    assert done.stdout.count("model: sim-steady → sim-drifting") == 1


def test_a_ladder_is_no_series_and_its_rungs_are_named(place: Path) -> None:
    rungs = tuple(Rung(name=n, context_target=None, concurrency=1) for n in ("16k", "40k"))
    file = LadderFile(
        id="x", created="", task="three-notes", endpoint="rig", simulated=True, repeats=1, seed=1,
        request={}, rungs=rungs,
    )  # fmt: skip
    create_ladder(place / "ladder", file)
    (place / "ladder" / "40k").mkdir()
    (place / "ladder" / "40k" / "series.json").write_text("{}")
    done = evalstab("compare", "reports/steady", "ladder", cwd=place)
    assert done.returncode == 3
    assert "name one of its rungs: ladder/40k" in done.stderr
    assert "16k" not in done.stderr


def test_other_work_is_refused(place: Path) -> None:
    done = evalstab("run", "three-notes", "--repeats", "1", "--out", "small", cwd=place)
    assert done.returncode == 0, done.stderr
    refused = evalstab("compare", "reports/steady", "small", cwd=place)
    assert refused.returncode == 3
    assert "task_digest" in refused.stderr
    against = evalstab(
        "run", "three-notes", "--repeats", "1", "--against", "reports/steady", cwd=place
    )
    assert against.returncode == 3
    assert "task_digest" in against.stderr


def test_frozen_scores_are_a_base(place: Path) -> None:
    frozen = place / "frozen.json"
    frozen.write_bytes((place / "reports" / "steady" / "scores.json").read_bytes())
    done = evalstab("compare", frozen, "reports/steady", "--output", "out", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "cannot tell whether the whole work was the same" in done.stdout


def test_an_unknown_factor_is_a_usage_error(place: Path) -> None:
    done = evalstab("compare", "reports/steady", "reports/drifting", "--vary", "qant", cwd=place)
    assert done.returncode == 2
    assert "quant" in done.stderr


def test_plan_from_earlier_series(place: Path) -> None:
    done = evalstab(
        "plan", "--gate", "acceptance", "--endpoint", "sim:steady", "--context", "60k", "--json",
        cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [rung["context"] for rung in found["rungs"]] == [16_000, 60_000]
    assert found["total_minutes"] > 0
    assert found["decides"]["looks"] == [5, 8, 13, 20]
    assert found["total_money"] is None


def test_plan_after_records_were_pruned(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "reports" / "steady", tmp_path / "reports" / "steady")
    ask = ("plan", "--endpoint", "sim:steady", "--json")
    whole = json.loads(evalstab(*ask, cwd=tmp_path).stdout)
    assert whole["total_input_tokens"] > whole["total_output_tokens"] > 0
    (tmp_path / "reports" / "steady" / "trials" / "002" / "events.jsonl").unlink()
    done = evalstab(*ask, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pruned = json.loads(done.stdout)
    assert pruned["total_minutes"] == whole["total_minutes"]
    assert pruned["total_input_tokens"] is None
    assert "tokens unknown" in pruned["rungs"][0]["source"]


def test_plan_says_where_the_conditions_were_others(tmp_path: Path) -> None:
    for words in (("--groups", "2"), ("--context", "16k")):
        done = evalstab(
            "run", "three-notes", "--endpoint", "sim:steady", "--repeats", "1", *words,
            "--quiet", cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        ask = ("plan", "--task", "three-notes", "--gate", "acceptance", "--endpoint", "sim:steady")
        told = evalstab(*ask, cwd=tmp_path)
        assert ("run in 2 groups" in told.stdout) is (words[0] == "--groups")
    assert "run at 16,000 tokens, not the natural size" in told.stdout
    padded = evalstab(*ask, "--context", "16k", cwd=tmp_path)
    assert "not the natural size" not in padded.stdout
    assert "2 groups" not in padded.stdout


def test_plan_with_a_price_and_without_history(place: Path, tmp_path: Path) -> None:
    text = (
        '[endpoints.rig]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
        "price = { input = 1.0, output = 4.0 }\n"
    )
    (tmp_path / "evalstab.toml").write_text(text)
    done = evalstab("plan", "--endpoint", "rig", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "time unknown" in done.stdout
    assert "--probe" in done.stdout


def test_stability_of_a_table(tmp_path: Path) -> None:
    rows = [f"{t},{c},{v}" for t in range(1, 6) for c, v in (("a", 9 - t), ("b", 3), ("c", 1))]
    (tmp_path / "t.csv").write_text("trial,candidate,total\n" + "\n".join(rows) + "\n")
    done = evalstab("stability", "t.csv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    block = json.loads(done.stdout)
    assert block["trials_ranked"] == 5
    assert block["winner"]["counts"] == {"a": 5}
    text = evalstab("stability", "t.csv", cwd=tmp_path)
    assert "Kendall tau" in text.stdout
    assert not text.stderr
    with (tmp_path / "t.csv").open("rb") as file:
        piped = subprocess.run(
            [sys.executable, "-m", "evalstab", "stability", "-", "--json"],
            stdin=file, capture_output=True, check=True, env=environment(None),
        )  # fmt: skip
    assert json.loads(piped.stdout) == block
    (tmp_path / "t.csv").write_text("trial,candidate,place,total\n1,a,1,3\n1,b,2,7\n")
    one = evalstab("stability", "t.csv", cwd=tmp_path)
    assert "1 trial of 2 candidates" in one.stdout
    assert "One trial agrees with nothing: it takes two to compare" in one.stdout
    assert "warning: t.csv: line 3: trial 1 places b behind a and gives it more" in one.stderr
    (tmp_path / "t.csv").write_text("trial,candidate,total\n1,a,many\n")
    bad = evalstab("stability", "t.csv", cwd=tmp_path)
    assert bad.returncode == 3
    assert "line 2" in bad.stderr
