"""A series is asked for again with the options that it was asked for with."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from evalstab.chat import Json
from evalstab.gate.next import Asked, commands
from evalstab.gate.policy import parse_policy
from evalstab.series.folder import open_series
from evalstab.settings import parse_assignment
from evalstab.workflow.again import asked
from tests.gate.making import fault, people, scores_of, trial

FIXTURE = Path(__file__).parents[2] / "fixtures" / "series-drifting"
GATE = parse_policy(
    {
        "repeats": 5,
        "rules": [{"name": "files", "count": "trial_has:text.loop", "at_most": 0}],
    },
    "here",
)
SETTINGS: Json = {
    "base_url": "http://127.0.0.1:9/v1",
    "model": "m",
    "api_key_env": "RIG",
    "proxy": "http://u:<redacted>@h:1",
    "sampling": {"temperature": 0.6, "stop": ["5", "x"]},
    "extra_body": {"repetition_penalty": 1.1, "note": "5", "yes": True, "a": {"b": "c d"}},
}


def series(folder: Path, settings: Json, **conditions: object) -> Path:
    """The recorded series as if it had been asked for in another way."""
    folder.mkdir()
    shutil.copytree(FIXTURE / "task", folder / "task")
    file = json.loads((FIXTURE / "series.json").read_text())
    file["endpoint"] |= {"name": "h", "base_url": settings["base_url"], "model": "m"}
    file["endpoint"] |= {"simulated": False, "configured": {}}
    file["settings"] = settings
    file["conditions"] |= {"sampling": settings["sampling"] | settings["extra_body"]} | conditions
    file["task"]["overrides"] = {"task.tools": "typed"}
    (folder / "series.json").write_text(json.dumps(file))
    return folder


def again(place: Path) -> tuple[Asked, list[list[str]]]:
    """How the series was asked for, and the words of the commands after it failed."""
    names = people(11)
    scores = scores_of([trial(n, names, **fault("text.loop")) for n in range(1, 6)], names)
    verdict = {
        "status": "fail", "provisional": False, "trials": 5, "planned": 5,
        "rules": [{"key": "stability.kendall_tau.mean", "status": "fail", "reason": ""}],
    }  # fmt: skip
    made = asked(open_series(place), scores)
    return made, [shlex.split(line) for line in commands(verdict, GATE, made)]


def test_settings_and_conditions_are_asked_for_again(tmp_path: Path) -> None:
    place = series(tmp_path / "s", SETTINGS, context=[16_000], cache="cold", shuffle=True)
    made, lines = again(place)
    assert made.target == ("--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    sets = [option[1] for option in made.options if option[0] == "--set"]
    back = dict(parse_assignment(text) for text in sets)
    assert back == {
        "api_key_env": "RIG", "sampling.temperature": 0.6, "sampling.stop": ["5", "x"],
        "extra_body.repetition_penalty": 1.1, "extra_body.note": "5", "extra_body.yes": True,
        "extra_body.a.b": "c d", "task.tools": "typed",
    }  # fmt: skip
    launch = lines[-1]
    assert {"--shuffle", "--cache", "--context", 'extra_body.note="5"'} <= set(launch)
    assert launch[-4:] == [str(place), f"{place}-launch", "--vary", "launch"]


def test_what_is_changed_is_not_asked_for_as_it_was(tmp_path: Path) -> None:
    _, lines = again(series(tmp_path / "s", SETTINGS, groups=1, context=[80_000]))
    shorter, neutral, split = lines[:3]
    assert [shorter[i + 1] for i, word in enumerate(shorter) if word == "--context"] == ["16k"]
    assert "extra_body.repetition_penalty=1" in neutral
    assert "extra_body.repetition_penalty=1.1" not in neutral
    assert "extra_body.repetition_penalty=1.1" in split
    assert shorter[-3] == str(tmp_path / "s-context")
    assert neutral[-3] == str(tmp_path / "s-sampling" / "80k")


@pytest.mark.parametrize("typed", [".", "task/.."])
def test_a_folder_without_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    place = series(tmp_path / "s", SETTINGS)
    monkeypatch.chdir(place)
    made, lines = again(Path(typed))
    assert made.folder == str(place.resolve())
    assert lines[-1][-3] == f"{place.resolve()}-launch"


def test_a_task_that_has_no_name_here_is_asked_for_by_its_folder(tmp_path: Path) -> None:
    place = series(tmp_path / "s", SETTINGS)
    own = tmp_path / "elsewhere"
    shutil.copytree(FIXTURE / "task", own)
    text = (place / "series.json").read_text()
    file = json.loads(text)
    file["task"] |= {"name": "nobody-knows", "folder": str(own)}
    (place / "series.json").write_text(json.dumps(file))
    assert again(place)[0].task == str(own)
    shutil.rmtree(own)
    assert again(place)[0].task == str(place / "task")
