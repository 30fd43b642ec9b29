"""Injected faults of the model: each one arrives as the truth says it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalstab.findings import CODES
from evalstab.sim.faults.striking import REPEATED, SPOILERS
from evalstab.sim.persona import load, names
from evalstab.task.load import load_task
from tests.sim.agent_loop import Heard, post, run
from tests.sim.fault_server import TASKS, body_of, faulty_server, first_answer, injections, notes


def _channel(answer: Heard, channel: str) -> str:
    if channel == "file":
        return str(json.loads(answer.calls[-1]["arguments"])["content"])
    return answer.reasoning if channel == "reasoning" else answer.content


def test_every_code_exists_and_every_persona_names_known_faults() -> None:
    for name in names():
        for fault in load(name).faults:
            assert fault.kind in SPOILERS or fault.kind == REPEATED
    assert {fault.kind for fault in load("faulty").faults} >= {"foreign-script", "cut-call"}


TEXT_KINDS = [
    "foreign-script",
    "foreign-script-sentence",
    "foreign-sentence",
    "mixed-script-word",
    "foreign-punctuation",
    "invisible",
    "broken-bytes",
    "verbatim-loop",
    "counting-loop",
    "reworded-loop",
]


@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_text_faults_stand_where_the_truth_says(kind: str, tmp_path: Path) -> None:
    task = load_task(TASKS / "eleven-profiles")
    with faulty_server(tmp_path, kind) as url:
        trial = run(url, "sim-own", task, tmp_path / "w", "s/1/1")
    found = injections(tmp_path)
    assert len(found) >= 2
    for injection in found:
        assert injection["code"] in CODES
        text = _channel(trial.answers[injection["step"] - 1], injection["channel"])
        place = text[injection["start"] : injection["end"]]
        assert place[:200] == injection["excerpt"]
        assert place
        assert injection["context_tokens"] > 0
    assert {"bericht.md", "ranking.json"} <= trial.files.keys()


def test_labelled_sentences_come_whole_and_in_another_language(tmp_path: Path) -> None:
    data = Path(__file__).parents[2] / "evalstab" / "sim" / "data" / "sentences.json"
    known = {s["id"]: s for s in json.loads(data.read_bytes())["sentences"]}
    task = load_task(TASKS / "eleven-profiles")
    with faulty_server(tmp_path, "foreign-sentence") as url:
        run(url, "sim-own", task, tmp_path / "w", "s/1/1")
    for injection in injections(tmp_path):
        sentence = known[injection["detail"]["case"]]
        assert sentence["lang"] != "de"
        assert sentence["text"].startswith(injection["excerpt"])


def test_a_runaway_thought_is_long_and_no_finding_is_due(tmp_path: Path) -> None:
    task = load_task(TASKS / "eleven-profiles")
    with faulty_server(tmp_path, "runaway") as url:
        trial = run(url, "sim-own", task, tmp_path / "w", "s/1/1")
    assert max(trial.reasoning_tokens) > 7_000
    assert {injection["code"] for injection in injections(tmp_path)} == {""}


def test_a_cut_call_stops_before_its_end(tmp_path: Path) -> None:
    task = notes("typed")
    with faulty_server(tmp_path, "cut-call") as url:
        answer = first_answer(url, task)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|delimiter"):
        json.loads(answer.calls[-1]["arguments"])
    assert answer.finish == "tool_calls"
    assert [i["code"] for i in injections(tmp_path)] == ["tool.truncated"]


def test_a_malformed_call_ends_like_a_whole_one(tmp_path: Path) -> None:
    with faulty_server(tmp_path, "malformed-call") as url:
        answer = first_answer(url, notes("typed"))
    arguments = answer.calls[-1]["arguments"]
    assert arguments.endswith("}")
    with pytest.raises(ValueError, match=r"Expecting|delimiter"):
        json.loads(arguments)


@pytest.mark.parametrize(
    ("kind", "code"),
    [("leaked-call", "tool.leaked_markup"), ("call-in-reasoning", "tool.in_reasoning")],
)
def test_a_leaked_call_stands_as_markup(kind: str, code: str, tmp_path: Path) -> None:
    with faulty_server(tmp_path, kind) as url:
        answer = first_answer(url, notes("typed"))
    [injection] = injections(tmp_path)
    assert injection["code"] == code
    assert answer.calls == []
    assert answer.finish == "stop"
    text = _channel(answer, injection["channel"])
    assert "read_file" in text[injection["start"] : injection["end"]]


def test_leaks_come_in_several_families(tmp_path: Path) -> None:
    task = notes("typed")
    with faulty_server(tmp_path, "leaked-call") as url:
        for trial in range(1, 25):
            header = {"X-Evalstab-Trial": f"s/{trial}/1"}
            post(f"{url}/v1/chat/completions", body_of(task), header)
    assert len({injection["kind"] for injection in injections(tmp_path)}) >= 5


def test_missing_lost_and_misnamed_calls(tmp_path: Path) -> None:
    for kind, code in (
        ("missing-call", "tool.missing_call"),
        ("lost-arguments", "tool.malformed_arguments"),
        ("unknown-tool", "tool.unknown_name"),
        ("polluted-name", "tool.polluted_name"),
    ):
        folder = tmp_path / kind
        folder.mkdir()
        with faulty_server(folder, kind) as url:
            answer = first_answer(url, notes("typed"))
        assert [i["code"] for i in injections(folder)] == [code]
        names_ = [call["name"] for call in answer.calls]
        assert answer.finish == "tool_calls"
        if kind == "missing-call":
            assert names_ == []
        elif kind == "lost-arguments":
            assert answer.calls[-1]["arguments"] == "{}"
        else:
            assert names_[0] != "read_file"


def test_a_repeated_call_is_made_four_times_and_then_left(tmp_path: Path) -> None:
    with faulty_server(tmp_path, "repeated-call") as url:
        trial = run(url, "sim-own", notes(), tmp_path / "w", "s/1/1")
    calls = [(c["name"], c["arguments"]) for a in trial.answers for c in a.calls]
    first = injections(tmp_path)[0]
    start = first["step"] - 1
    assert len(set(calls[start : start + 4])) == 1
    assert "ranking.json" in trial.files


def test_faults_by_load_strike_only_under_load(tmp_path: Path) -> None:
    task = notes()
    with faulty_server(tmp_path, "lost-arguments", extra="min_in_flight = 2") as url:
        trial = run(url, "sim-own", task, tmp_path / "w", "s/1/1")
    assert "ranking.json" in trial.files
    assert injections(tmp_path) == []


def test_a_fault_that_a_limit_cuts_off_is_not_in_the_truth(tmp_path: Path) -> None:
    task = notes("none")
    with faulty_server(tmp_path, "counting-loop") as url:
        post(f"{url}/v1/chat/completions", body_of(task, max_tokens=200))
    assert injections(tmp_path) == []


def test_the_truth_of_an_interrupted_series_is_continued(tmp_path: Path) -> None:
    task = notes("none")
    for trial in (1, 2):
        with faulty_server(tmp_path, "foreign-sentence") as url:
            header = {"X-Evalstab-Trial": f"s/{trial}/1"}
            post(f"{url}/v1/chat/completions", body_of(task), header)
    told = json.loads((tmp_path / "truth.json").read_bytes())
    assert [trial["trial"] for trial in told["trials"]] == [1, 2]
