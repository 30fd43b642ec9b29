"""What was delivered is held against what was asked."""

import json
from pathlib import Path

import pytest

from evalstab.task.deliverables import MAX_RANKING_BYTES, check_deliverables
from evalstab.task.documents import faults_in_document
from evalstab.task.model import ANSWER_FILE, Deliverable, Task
from tests.task.task_making import CRITERIA, RANKING, spec

A, B, C = "person_01", "person_02", "person_11"
POINTS = {A: (6, 3), B: (5, 2), C: (8, 5)}
REPORT = Deliverable(path="report.md", kind="markdown", format="markdown-table")
TABLE = "| Rang | Kandidat | Gesamt |\n|---|---|---|\n"


def task(*others: Deliverable, **changes: object) -> Task:
    deliverables = [RANKING, *(other.model_dump() for other in others)]
    whole = spec(criteria=CRITERIA, deliverables=deliverables, **changes)
    return Task(whole, Path(), None, "", {}, None, "")


def ranking(*order: str, **changes: object) -> bytes:
    entries = [
        {
            "candidate": candidate,
            "place": place,
            "total": sum(POINTS[candidate]),
            "criteria": dict(zip(("c1", "c2"), POINTS[candidate], strict=True)),
        }
        | changes
        for place, candidate in enumerate(order, start=1)
    ]
    return json.dumps({"ranking": entries}).encode()


def test_everything_delivered() -> None:
    table = f"# Bericht\n{TABLE}| 1 | {C} | 13 |\n| 2 | {A} | 9,0 |\n| 3 | {B} | 7 |\n"
    files = {"ranking.json": ranking(C, A, B), "report.md": table.encode(), "notes.txt": b"x"}
    report = check_deliverables(task(REPORT), files)
    assert (report.expected, report.complete) == (2, 2)
    assert not report.missing + report.contradictions
    assert not report.invalid | report.arithmetic
    assert report.rankings["ranking.json"].groups == ((C,), (A,), (B,))
    assert report.rankings["report.md"].totals == {C: 13, A: 9, B: 7}


def test_nothing_delivered() -> None:
    report = check_deliverables(task(REPORT), {})
    assert (report.expected, report.complete) == (2, 0)
    assert report.missing == ("ranking.json", "report.md")
    assert report.rankings == {}


@pytest.mark.parametrize(
    ("data", "why", "readable"),
    [
        (ranking(C, A), "not ranked: person_02", True),
        (ranking(C, A, B, C), "ranked more than once: person_11", True),
        (b'["person_01", "x"]', "no such candidate: x", True),
        (ranking(C, A, B, total=None), "without a total: person_11, person_01, person_02", True),
        (ranking(C, A, B, criteria={"c1": 1}), "without points on every criterion", True),
        (b"```json\n" + ranking(C, A, B) + b"\n```", "text stands around the JSON", True),
        (b"", "it is empty", False),
        (b"\xff\xfe", "not UTF-8", False),
        (b"I have ranked them.", "no JSON", False),
        (b" " * (MAX_RANKING_BYTES + 1), "larger than", False),
    ],
)
def test_a_ranking_that_breaks_its_form(data: bytes, why: str, readable: bool) -> None:
    report = check_deliverables(task(), {"ranking.json": data})
    assert report.complete == 0
    assert why in report.invalid["ranking.json"]
    assert ("ranking.json" in report.rankings) == readable


def test_two_deliverables_that_disagree() -> None:
    table = f"{TABLE}| 1 | {A} | 9 |\n| 2 | {C} | 12,5 |\n| 3 | {B} | 7,04 |\n"
    files = {"ranking.json": ranking(C, A, B), "report.md": table.encode()}
    report = check_deliverables(task(REPORT), files)
    assert report.complete == 2
    assert [(c.kind, c.paths, set(c.candidates)) for c in report.contradictions] == [
        ("totals_against_order", ("report.md",), {A, C}),
        ("order", ("ranking.json", "report.md"), {A, C}),
        ("totals", ("ranking.json", "report.md"), {C}),
    ]
    assert "order 1 pairs differently" in report.contradictions[1].text


def test_a_tie_against_an_order_is_a_disagreement_also_in_a_partial_table() -> None:
    table = f"{TABLE}| 1 | {C} | 13 |\n| 1 | {A} | 9 |\n"
    report = check_deliverables(
        task(REPORT), {"ranking.json": ranking(C, A, B), "report.md": table.encode()}
    )
    assert {c.kind for c in report.contradictions} == {"totals_against_order", "order"}
    assert report.invalid == {"report.md": "not ranked: person_02"}


def test_arithmetic_by_path() -> None:
    report = check_deliverables(task(), {"ranking.json": ranking(C, A, B, total=10)})
    assert [slip.candidate for slip in report.arithmetic["ranking.json"]] == [C, A, B]
    assert report.complete == 1


def test_without_tools_the_answer_is_the_ranking() -> None:
    answer = b"Here you are:\n\n```json\n" + ranking(C, A, B) + b"\n```\n"
    report = check_deliverables(task(REPORT, tools="none"), {ANSWER_FILE: answer})
    assert (report.expected, report.complete) == (1, 1)
    assert report.rankings["ranking.json"].places == {C: 1, A: 2, B: 3}
    assert check_deliverables(task(tools="none"), {"ranking.json": answer}).missing


EMPTY = "nothing stands under the heading 'Vorgehen'"
ABSENT = "the heading 'Vorgehen' is missing"
MARKDOWN = Deliverable(
    path="r.md", kind="markdown", headings=("Vorgehen", "Rangfolge: Überblick"), min_words=6
)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("# Vorgehen\nich habe gelesen\n## Rangfolge: Überblick\n1. person_11 ist vorn", []),
        (
            "## 1. **Vorgehen** ##\neins zwei drei\n\nRANGFOLGE: ÜBERBLICK\n-----\nvier fünf sechs",
            [],
        ),
        ("# Vorgehen\n## Details\na b c d\n# Rangfolge: Überblick\ne f", []),
        (
            "# Vorgehen\n# Rangfolge: Überblick\na b c d e f",
            [EMPTY],
        ),
        ("# Vorgehen\na b c d e f", ["the heading 'Rangfolge: Überblick' is missing"]),
        (
            "```\n# Vorgehen\n```\n# Rangfolge: Überblick\na b c d e",
            [ABSENT],
        ),
        ("# Vorgehen\na\n# Rangfolge: Überblick\nb", ["5 words, at least 6 asked for"]),
    ],
)
def test_markdown(text: str, faults: list[str]) -> None:
    assert faults_in_document(text, MARKDOWN) == faults


def test_words_of_languages_without_spaces_are_counted() -> None:
    wanted = Deliverable(path="r.md", kind="markdown", min_words=4)
    assert faults_in_document("候補者一", wanted) == []
    assert faults_in_document("候補者", wanted) == ["3 words, at least 4 asked for"]


NO_REASON = "'Grund: kurz' is missing"
FORM = Deliverable(path="f.md", kind="form", fields=("Name", "Tage", "Grund: kurz"))


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("**Name:** Anna\n**Tage:** 3\n**Grund: kurz:** eilt", []),
        ("Name: Anna\n- Tage: 3\n1. **Grund: kurz**: eilt: sehr", []),
        ("| Name | Anna |\n|---|---|\n| Tage | 3 |\n| Grund: kurz | eilt |", []),
        ("## Name\nAnna\n\n**Tage:**\n3\n\n*Grund: kurz:*\n- eilt", []),
        (
            "Name: Anna\nTage: …\nGrund: kurz: <Grund>",
            ["'Tage' is empty", "'Grund: kurz' is empty"],
        ),
        (
            "Name: Anna\nTage: TODO",
            [NO_REASON, "'Tage' is empty"],
        ),
        (
            "Der Name tut nichts zur Sache",
            ["'Name' is missing", "'Tage' is missing", NO_REASON],
        ),
    ],
)
def test_forms(text: str, faults: list[str]) -> None:
    assert [f.removeprefix("the field ") for f in faults_in_document(text, FORM)] == faults
