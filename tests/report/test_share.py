"""What is shared holds no text of the task or the model, and no name of a candidate."""

from __future__ import annotations

import base64
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from evalstab.redact import config_folder
from evalstab.report.share import pseudonyms, share_key, shared
from evalstab.workflow.reporting import NAMES, printed, report
from evalstab.workflow.score import score
from tests.report.page_cases import PAYLOADS, hostile_series, write_scores
from tests.report.report_cases import five_run

ROOT = Path(__file__).parents[2]
FIXTURES = ("series-drifting", "series-real")
WORD = re.compile(r"[^\W\d_]{5,}")


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture(scope="module", params=FIXTURES)
def series(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shared") / str(request.param)
    shutil.copytree(ROOT / "fixtures" / str(request.param), place)
    score(place)
    return place


def unpacked(text: str) -> str:
    """A report with its embedded pictures as text."""
    images = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", text)
    bare = re.sub(r"base64,[\w+/=]+|sha256-[\w+/=]+", "", text)
    return bare + "".join(base64.b64decode(image).decode() for image in images)


def their_words(place: Path) -> set[str]:
    """Every longer word of task, prompts and answers that our own sources do not use."""
    texts = [
        path.read_text(encoding="utf-8")
        for part in ("task", "trials")
        for path in (place / part).rglob("*")
        if path.is_file()
    ]
    used = [
        path.read_text(encoding="utf-8")
        for kind in ("*.py", "*.html", "*.css", "*.js")
        for path in (ROOT / "evalstab").rglob(kind)
        if not {"data", "local", "generate", "sim"} & set(path.parts)
    ]
    ours = {word.lower() for text in used for word in WORD.findall(text)}
    return {w.lower() for text in texts for w in WORD.findall(text)} - ours


@pytest.mark.parametrize("form", sorted(NAMES))
def test_no_word_of_task_or_model_goes_out(series: Path, form: str) -> None:
    model = "smollm2-135m-instruct" if "real" in series.name else "sim-drifting"
    text = unpacked(printed(series, form, share=True)).replace(model, "")
    theirs = their_words(series)
    assert len(theirs) > 20
    own = unpacked(printed(series, form))
    assert form in ("card", "junit") or any(name in own for name in ("person_", "note_"))
    known = {"matplotlib", "metadata", "xlink", "stylesheet"}
    assert not {w.lower() for w in WORD.findall(text)} & theirs - known
    assert not re.search(r"person_\d|note_[abc]|three-notes|eleven-profiles|ranking\.json", text)
    assert not re.search(r"\.md\b|127\.0\.0\.1|localhost|llamacpp-smollm2|sim:drifting", text)
    assert series.name not in text
    assert str(series.parent) not in text


def test_hostile_names_stay_at_home(tmp_path: Path) -> None:
    folder, scores = hostile_series(tmp_path / "hostile")
    write_scores(folder, scores | {"series": scores["series"] | {"model": "m"}})
    for form in NAMES:
        text = unpacked(printed(folder.root, form, share=True))
        for name, payload in PAYLOADS.items():
            assert payload not in text, (form, name)
        assert "pwned" not in text
        assert "HYPERLINK" not in text


def test_keys_that_are_not_known_stay_at_home() -> None:
    folder, scores = five_run()
    secret = {"new_key": "Erika Musterfrau", "Erika Musterfrau": 1, "deep": [{"x": "Erika"}]}
    for part in ("series", "stability", "verdict"):
        scores[part] |= secret
    for trial in scores["trials"]:
        trial.update(secret, reason="Erika Musterfrau")
    _, told = shared(folder, scores, bytes(32))
    assert "Erika" not in str(told)
    assert told["trials"][0]["top_score"] == scores["trials"][0]["top_score"]


def test_numbers_stay_as_they_are() -> None:
    folder, scores = five_run()
    _, told = shared(folder, scores, bytes(32))
    for key in ("kendall_tau", "scale", "icc"):
        kept = {k: v for k, v in told["stability"][key].items() if isinstance(v, float | int)}
        assert kept.items() <= scores["stability"][key].items()
    names = told["stability"]["candidates"]
    before = [entry["places"] for entry in scores["stability"]["candidates"].values()]
    assert [entry["places"] for entry in names.values()] == before
    assert len(set(names)) == len(before)
    assert told["verdict"]["status"] == scores["verdict"]["status"]


def test_pseudonyms_depend_on_secret_and_work_only() -> None:
    names = [f"person_{i:02d}" for i in range(1, 31)]
    first = pseudonyms(names, "work", b"a" * 32).names
    assert first == pseudonyms(reversed(names), "work", b"a" * 32).names
    assert first != pseudonyms(names, "work", b"b" * 32).names
    assert first != pseudonyms(names, "other work", b"a" * 32).names
    assert set(first.values()) == {f"candidate {c}" for c in (*_LETTERS, "AA", "AB", "AC", "AD")}
    assert [first[n] for n in names] != sorted(first.values())


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_the_secret_is_made_once_and_kept_private() -> None:
    key = share_key()
    assert len(key) >= 32
    assert share_key() == key
    path = config_folder() / "share.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_model_in_a_folder_goes_out_by_its_name_alone() -> None:
    folder, scores = five_run()
    for raw, shown in (
        ("/home/erika/models/Qwen3-8B-Q4.gguf", "Qwen3-8B-Q4.gguf"),
        ("C:\\Users\\erika\\q.gguf", "q.gguf"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
    ):
        scores["series"]["model"] = raw
        assert shared(folder, scores, bytes(32))[1]["series"]["model"] == shown


def test_a_shared_report_has_a_place_of_its_own(tmp_path: Path) -> None:
    folder, scores = hostile_series(tmp_path / "hostile")
    write_scores(folder, scores)
    made: dict[str, Any] = {form: report(folder.root, form, None, share=True) for form in NAMES}
    assert {path.parent for path in made.values()} == {folder.root / "shared"}
    assert (folder.root / "shared" / "card.png").read_bytes().startswith(b"\x89PNG")
    assert 'id="meta"' not in made["html"].read_text(encoding="utf-8")


def test_a_shipped_gate_and_its_rules_are_told() -> None:
    folder, scores = five_run()
    rule = {
        "name": "leaks", "key": "trial_has:text.foreign_script", "kind": "count", "value": 3,
        "threshold": 1, "bound": "at_most", "trials": 5, "status": "fail", "reason": "of Erika",
    }  # fmt: skip
    own = rule | {"key": "trial_winner:Erika"}
    scores["verdict"] = {"status": "fail", "gate": "nightly", "rules": [rule, own]}
    told = shared(folder, scores, b"k" * 32)[1]["verdict"]
    assert told["gate"] == "nightly"
    assert [one["name"] for one in told["rules"]] == ["leaks", "rule 2"]
    assert told["rules"][0]["reason"] == "3 after 5 trials, at most 1 is asked for"
    assert "Erika" not in str(told)
    scores["verdict"]["gate"] = "for-Erika"
    assert shared(folder, scores, b"k" * 32)[1]["verdict"]["gate"] == "(private)"
