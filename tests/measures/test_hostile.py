"""Whatever stands in a record or a workspace, scoring answers and explains every null."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalstab.chat import ServerTimings, ToolCall, Usage
from evalstab.endpoint.base import Attempt, Clock, Reply
from evalstab.measures.score import score_series
from evalstab.trial.record import Step, ToolResult
from tests.measures.series_making import AT, Written, make_series, make_task, write_trial
from tests.measures.stable_keys import CONTRACT_TRIAL, missing_keys, unexplained

SLOW = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TRUTH = {"person_01": 9.0, "person_02": 8.0, "person_03": 1.0}
TEXTS = st.one_of(
    st.none(), st.text(max_size=120), st.sampled_from(["符" * 30, "!" * 99, "\u202e"])
)
COUNTS = st.one_of(st.none(), st.integers(0, 10**9))
SECONDS = st.one_of(st.none(), st.floats(0, 1e9, allow_nan=False), st.just(5e-324))
CALLS = st.builds(
    ToolCall,
    id=st.sampled_from(["c1", "c2", ""]),
    name=st.sampled_from(["write_file", "edit_file", "read_file", "submit_ranking", "\x00"]),
    arguments=st.one_of(
        st.text(max_size=60),
        st.just('{"path": "ranking.json", "content": "x"}'),
        st.just('{"path": 7, "content": ["a", {"b": null}], "old": 1, "new": "y"}'),
    ),
    complete=st.booleans(),
)
RESULTS = st.builds(
    ToolResult,
    call_id=st.sampled_from(["c1", "c2"]),
    name=st.just("write_file"),
    path=st.one_of(st.none(), st.just("ranking.json"), st.text(max_size=20)),
    wrote=st.booleans(),
    error=st.one_of(st.none(), st.text(max_size=20)),
)
REPLIES = st.builds(
    Reply,
    reasoning=TEXTS,
    content=TEXTS,
    tool_calls=st.lists(CALLS, max_size=3).map(tuple),
    usage=st.one_of(
        st.none(),
        st.builds(
            Usage,
            prompt_tokens=COUNTS,
            completion_tokens=COUNTS,
            reasoning_tokens=COUNTS,
            cached_tokens=COUNTS,
        ),
    ),
    timings=st.one_of(
        st.none(),
        st.builds(
            ServerTimings,
            prompt_tokens=COUNTS,
            prompt_seconds=SECONDS,
            decoded_tokens=COUNTS,
            decode_seconds=SECONDS,
        ),
    ),
)
CLOCKS = st.builds(
    Clock,
    sent=st.just(0.0),
    first=SECONDS,
    last=SECONDS,
    end=st.just(1.0),
    chunks=st.integers(0, 10**6),
)
ATTEMPTS = st.builds(
    Attempt,
    number=st.integers(1, 3),
    at=st.just(AT),
    reply=st.one_of(st.none(), REPLIES),
    clock=st.one_of(st.none(), CLOCKS),
)
MESSAGES = st.one_of(
    st.just({"role": "tool", "tool_call_id": "c1", "content": "李明"}),
    st.just({"role": ["x"], "content": {}}),
    st.just([1, 2]),
).map(lambda message: msgspec.Raw(msgspec.json.encode(message)))
STEPS = st.builds(
    Step,
    number=st.integers(0, 5),
    started=st.floats(0, 1e9),
    seconds=st.floats(0, 1e9),
    attempts=st.lists(ATTEMPTS, max_size=2).map(tuple),
    results=st.lists(RESULTS, max_size=2).map(tuple),
    append=st.lists(MESSAGES, max_size=2).map(tuple),
)
FILES = st.one_of(
    st.binary(max_size=80),
    st.just(b'{"ranking": [{"candidate": "person_01", "place": 1, "total": 1e308}]}'),
    st.just(b'{"person_01": 1e308, "person_02": -1e308, "person_03": 1e-320}'),
)


@SLOW
@given(st.lists(STEPS, max_size=4), FILES)
def test_any_steps_and_any_ranking_file(steps: list[Step], ranking: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        task = make_task(root / "task", truth=TRUTH, people=tuple(TRUTH))
        series = make_series(root / "series", task)
        for index in (1, 2):
            path = write_trial(series, index, Written(steps))
            (path / "workspace" / "ranking.json").write_bytes(ranking)
        scores = score_series(series, detect_languages=False)
    assert [trial["outcome"] for trial in scores["trials"]] == ["completed"] * 2
    assert list(unexplained(scores)) == []
    for trial in scores["trials"]:
        assert missing_keys(trial, CONTRACT_TRIAL) == []


@SLOW
@given(st.binary(max_size=300))
def test_any_bytes_as_a_record(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        series = make_series(root / "series", make_task(root / "task", people=tuple(TRUTH)))
        path = write_trial(series, 1, Written())
        (path / "events.jsonl").write_bytes(data + b"\n")
        (trial,) = score_series(series, detect_languages=False)["trials"]
    assert trial["outcome"] == "aborted"
    assert trial["ranking"] is None
    assert list(unexplained(trial)) == []


def test_deep_json_in_a_record(tmp_path: Path) -> None:
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"))
    path = write_trial(series, 1, Written())
    deep = b"[" * 100_000 + b"]" * 100_000
    line = b'{"type":"trial_started","series":"s","trial":1,"attempt":1,"at":"","messages":[],'
    (path / "events.jsonl").write_bytes(line + b'"fields":{"a":' + deep + b"}}\n")
    (trial,) = score_series(series)["trials"]
    assert trial["outcome"] == "aborted"


def test_a_link_out_of_the_workspace_is_not_read(tmp_path: Path) -> None:
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"))
    path = write_trial(series, 1, Written())
    (tmp_path / "secret.json").write_text('{"ranking": ["person_01", "person_02"]}')
    (path / "workspace" / "ranking.json").symlink_to(tmp_path / "secret.json")
    (trial,) = score_series(series)["trials"]
    assert trial["ranking"] is None
    assert trial["deliverables"]["missing"] == ["ranking.json"]
