"""The command that a report gives for asking the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalstab.report.conditions import run_command
from evalstab.series.folder import open_series
from tests.report.report_cases import folder_at

ROOT = Path(__file__).parents[2]
TYPED = {"name": "three-notes", "overrides": {"task.tools": "typed"}}
URL = "http://127.0.0.1:8080/v1"


def test_of_a_configured_endpoint_the_task_key_is_said_and_no_setting() -> None:
    command = run_command(open_series(ROOT / "fixtures" / "series-real").file)
    assert command.startswith(
        "evalstab run three-notes --endpoint llamacpp-smollm2 --set task.tools=typed --repeats 3"
    )


def test_of_a_simulated_endpoint_its_passing_address_is_not_said() -> None:
    command = run_command(open_series(ROOT / "fixtures" / "series-drifting").file)
    assert command.startswith(
        "evalstab run eleven-profiles --endpoint sim:drifting --repeats 5 --seed"
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tool_choice": "required"}, "--set tool_choice=required"),
        ({"parallel_tool_calls": False}, "--set parallel_tool_calls=false"),
        ({"sampling": {"temperature": 0.3}}, "--set sampling.temperature=0.3"),
        ({"extra_body": {"stop": ["a", "b"]}}, """--set 'extra_body.stop=["a", "b"]'"""),
        ({"extra_body": {"note": "5"}}, """--set 'extra_body.note="5"'"""),
        ({"proxy": "http://u:<redacted>@h:1", "stream": False}, "--set stream=false"),
    ],
)
def test_of_an_address_every_setting_is_said(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    endpoint = {"name": "127.0.0.1-8080", "base_url": URL, "model": "m", "configured": {}}
    known = {"base_url": URL, "model": "m"}
    folder = folder_at(tmp_path, task=TYPED, endpoint=endpoint, settings=known | settings)
    assert run_command(folder.file).startswith(
        f"evalstab run three-notes --base-url {URL} --model m --set task.tools=typed {said} "
        "--repeats 5"
    )
