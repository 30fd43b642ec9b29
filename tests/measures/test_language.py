"""Leaks: counted by channel and script, copies and code apart, with the place they began."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstab.findings import finding
from evalstab.measures import language
from evalstab.measures.base import Measured
from evalstab.measures.leaks import graphemes
from evalstab.measures.score import score_series
from evalstab.measures.view import read_trial
from evalstab.task.load import load_task
from evalstab.text.scripts import count_graphemes
from evalstab.trial.record import Step, ToolResult
from tests.measures.series_making import (
    Written,
    call,
    counted,
    make_series,
    make_step,
    make_task,
    write_trial,
    writes,
)

GERMAN = "Die Bewerberin leitet seit vier Jahren eine Werkstatt und kennt die Messmittel genau. "
ENGLISH = (
    "The applicant has worked in a large repair shop for many years and knows all of the "
    "measuring tools that are used there every day."
)
CHINESE = "候选人在维修车间工作了很多年，并且非常熟悉那里每天使用的所有测量工具和设备。"


def measure(root: Path, steps: Sequence[Step], opening: str = "Bewerte alle.") -> Measured:
    series = make_series(root / "series", make_task(root / "task"))
    write_trial(series, 1, Written(list(steps), opening=opening))
    return language.compute(read_trial(series.trial(1), load_task(series.task_folder)))


def values_of(measured: Measured) -> dict[str, Any]:
    values: dict[str, Any] = measured.values["language"]
    return values


def test_clean_german_leaks_nothing(tmp_path: Path) -> None:
    steps = [make_step(1, reasoning=GERMAN * 5, content=GERMAN)]
    measured = measure(tmp_path, steps)
    values = values_of(measured)
    assert measured.findings == []
    assert (values["spans"], values["graphemes"], values["per_thousand"]) == (0, 0, 0)
    assert values["first_leak"] is None
    assert values["first_leak_reason"] == "nothing leaked"
    assert values["languages_judged"] is True


def test_one_han_word_in_reasoning(tmp_path: Path) -> None:
    text = GERMAN * 3 + "Das ist 符合 der Anforderung. " + GERMAN * 3
    steps = [make_step(1, reasoning=text, usage=counted(50_000, 200))]
    measured = measure(tmp_path, steps)
    values = values_of(measured)
    assert (values["spans"], values["graphemes"]) == (1, 2)
    assert values["scripts"] == {"Han": 1}
    assert values["channels"] == {"reasoning": 1, "content": 0, "arguments": 0, "file": 0}
    (found,) = measured.findings
    assert found.code == "text.foreign_script"
    assert (found.start, found.end) == (text.index("符"), text.index("合") + 1)
    share = text.index("符") / len(text)
    assert found.context_tokens == 50_000 + round(200 * share)
    assert found.excerpt is not None
    assert "⟦符合⟧" in found.excerpt
    assert values["first_leak"] == {
        "step": 1,
        "channel": "reasoning",
        "context_tokens": found.context_tokens,
    }


def test_per_thousand_counts_what_a_reader_sees(tmp_path: Path) -> None:
    measured = measure(tmp_path, [make_step(1, content="ab cd 符合 " + "x" * 94)])
    assert values_of(measured)["per_thousand"] == pytest.approx(20.0)


def test_a_name_from_the_input_is_copied(tmp_path: Path) -> None:
    steps = [
        make_step(
            1,
            calls=[call("read_file", path="profiles/a.md")],
            results=[ToolResult(call_id="c1", name="read_file", path="profiles/a.md")],
            given=["Bewerbung von 李明, Werkstattleiter."],
        ),
        make_step(2, content="Am besten ist 李明. Schwächer ist 王芳."),
    ]
    measured = measure(tmp_path, steps)
    values = values_of(measured)
    assert (values["spans"], values["copied"]) == (1, 1)
    assert measured.findings[0].excerpt is not None
    assert "王芳" in measured.findings[0].excerpt


def test_what_comes_later_excuses_nothing_earlier(tmp_path: Path) -> None:
    steps = [
        make_step(
            1,
            content="Am besten ist 李明.",
            calls=[call("read_file", path="profiles/a.md")],
            results=[ToolResult(call_id="c1", name="read_file", path="profiles/a.md")],
            given=["Bewerbung von 李明."],
        )
    ]
    assert values_of(measure(tmp_path, steps))["spans"] == 1


def test_files_arguments_and_carry_over(tmp_path: Path) -> None:
    write, result = writes("bericht.md", f"{GERMAN}\nErgebnis: 符合 gut.\n")
    steps = [
        make_step(1, reasoning="Also 符合 gut."),
        make_step(2, calls=[write], results=[result]),
        make_step(3, calls=[call("search_files", pattern="符合")]),
    ]
    measured = measure(tmp_path, steps)
    values = values_of(measured)
    assert values["channels"] == {"reasoning": 1, "content": 0, "arguments": 1, "file": 1}
    assert values["carried_over"] is True
    assert values["returned"] == 2
    assert [f.channel for f in measured.findings] == ["reasoning", "file", "arguments"]
    assert measured.findings[1].detail["path"] == "bericht.md"


def test_an_english_sentence_in_a_german_text(tmp_path: Path) -> None:
    text = f"{GERMAN}{ENGLISH} {GERMAN}{GERMAN}{GERMAN}"
    measured = measure(tmp_path, [make_step(1, reasoning=text)])
    assert [f.code for f in measured.findings] == ["text.foreign_language"]
    assert values_of(measured)["scripts"] == {"Latin-en": 1}
    assert values_of(measured)["switched"] == {}


def test_a_text_in_another_script_is_one_span(tmp_path: Path) -> None:
    steps = [make_step(1, reasoning=GERMAN * 5), make_step(2, reasoning=CHINESE * 2)]
    measured = measure(tmp_path, steps)
    values = values_of(measured)
    scripts = [f for f in measured.findings if f.code == "text.foreign_script"]
    assert [f.step for f in scripts] == [2]
    assert (values["spans"], values["switched"]) == (1, {})
    assert values["graphemes"] > 60


@pytest.mark.parametrize(("foreign", "name"), [(CHINESE, "Han"), (f"{ENGLISH}\n", "Latin-en")])
def test_a_channel_in_another_language_is_no_slip(tmp_path: Path, foreign: str, name: str) -> None:
    steps = [
        make_step(1, reasoning=foreign * 6, content=GERMAN + "Ist 符合 gut?"),
        make_step(2, reasoning=foreign * 3),
    ]
    measured = measure(tmp_path, steps)
    values = values_of(measured)
    assert values["switched"] == {"reasoning": name}
    assert (values["spans"], values["channels"]["reasoning"]) == (1, 0)
    told = [f for f in measured.findings if f.detail.get("channel_switched")]
    assert [(f.step, f.channel) for f in told] == [(1, "reasoning")]


def test_full_width_forms_are_soft(tmp_path: Path) -> None:
    measured = measure(tmp_path, [make_step(1, content="Ergebnis：gut und schön.")])
    values = values_of(measured)
    assert (values["spans"], values["soft_spans"]) == (0, 1)
    assert [f.code for f in measured.findings] == ["text.foreign_punctuation"]


def test_the_series_pools_its_trials(tmp_path: Path) -> None:
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"), repeats=4)
    for index in range(1, 5):
        text = GERMAN + ("Also 符合 gut." if index == 2 else "")
        steps = [make_step(1, reasoning=text, content=GERMAN, usage=counted(1000 * index, 50))]
        write_trial(series, index, Written(steps))
    block = score_series(series)["language"]
    assert block["trials_with_leak"] == 1
    assert block["leak_rate"]["value"] == 0.25
    assert block["leak_rate"]["ci_low"] == pytest.approx(0.0456, abs=5e-4)
    assert block["leak_rate"]["ci_high"] == pytest.approx(0.6994, abs=5e-4)
    assert block["leak_rate_by_channel"]["content"]["value"] == 0
    assert block["carry_over"] == 0
    assert [first["leaked"] for first in block["first_leak"]] == [False, True, False, False]
    assert block["first_leak"][0]["context_tokens"] == 1050


@given(st.text(max_size=200))
def test_quick_graphemes_are_the_slow_ones(text: str) -> None:
    assert graphemes(text) == count_graphemes(text)


@pytest.mark.parametrize(
    "text",
    [
        "Grüße an 李明, „schön“ – 20 €",
        "e\u0301a\u0308 o\u0308",
        "👩‍🔧 und 🇩🇪🇫🇷!",
        "한국어 नमस्ते ไทย",
        "\r\n\u200d a",
    ],
)
def test_graphemes_of_hard_texts(text: str) -> None:
    assert graphemes(text) == count_graphemes(text)


def test_a_control_token_is_one_finding(tmp_path: Path) -> None:
    measured = measure(tmp_path, [make_step(1, content="Fertig.<｜end▁of▁sentence｜> Danke.")])
    assert [f.code for f in measured.findings] == ["text.special_token"]


def test_markup_that_was_told_is_not_told_again(tmp_path: Path) -> None:
    text = "Ich lese. <｜tool▁call▁begin｜>read_file"
    told = finding("tool.leaked_markup", channel="content", start=10, end=len(text))
    measured = measure(tmp_path, [make_step(1, content=text, findings=[told])])
    assert measured.findings == []
