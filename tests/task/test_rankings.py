"""Rankings are read from JSON, tables and lists: leniently, and never by guessing."""

import json

import pytest

from evalstab.task.ranking import StatedRanking, Unreadable
from evalstab.task.ranking_json import read_json
from evalstab.task.ranking_text import read_list, read_table
from tests.task.task_making import CRITERIA, spec

SPEC = spec(criteria=CRITERIA)
A, B, C = "person_01", "person_02", "person_11"


def of_json(text: str) -> StatedRanking:
    return read_json(text, SPEC)[0]


def entry(candidate: str, place: object, total: object = None, **points: object) -> object:
    return {"candidate": candidate, "place": place, "total": total, "criteria": points}


FULL = {"ranking": [entry(C, 1, 13, c1=8, c2=5), entry(A, 2, 9, c1=6, c2=3), entry(B, 2, 9)]}


def test_the_form_of_the_brief() -> None:
    ranking, whole = read_json(json.dumps(FULL), SPEC)
    assert whole
    assert ranking.groups == ((C,), (A, B))
    assert ranking.places == {C: 1, A: 2, B: 2}
    assert ranking.totals == {C: 13, A: 9, B: 9}
    assert ranking.criteria == {C: {"c1": 8, "c2": 5}, A: {"c1": 6, "c2": 3}}
    assert ranking.basis == "places"
    assert not ranking.missing + ranking.unknown + ranking.duplicates + ranking.arithmetic


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(FULL["ranking"]),
        "\ufeff" + json.dumps(FULL),
        f"```json\n{json.dumps(FULL)}\n```",
        f"Here it is:\n\n```\n{json.dumps(FULL, indent=1)}\n```\nBest regards",
        f"{json.dumps(FULL)}\n{json.dumps(FULL)}",
        '["person_11", ["person_01", "person_02"]]',
        '{"ranking": ["Cora Lind", ["p/person_01.md", "person_02.md"]]}',
        '{"person_11": 13, "person_01": 9, "person_02": 9}',
        '{"Ranking": {"Ben Ott": "9,0", "Person 01": "9/15", "**person_11**": "13 Punkte"}}',
        '[{"id": "person_02", "rank": "2."}, {"Name": "Anna Berg", "Platz": "=2"},'
        ' {"kandidat": "person_11 (Cora Lind)", "rang": 1.0}]',
        '[{"candidate": "person_11", "score": 13}, {"candidate": "person_01", "score": 9},'
        ' {"candidate": "person_02", "score": 9}]',
        '{"person_01": {"place": 2}, "person_11": {"place": 1}, "person_02": {"place": 2}}',
        '{"classement": [{"candidat": "Cora Lind", "rang": "1"}, {"candidat": "Anna Berg",'
        ' "rang": "2"}, {"candidat": "Ben Ott", "rang": "2"}]}',
        '{"wynik": [{"kto": "person_11", "miejsce": 1, "uwagi": "dobra"}, {"kto": "person_01",'
        ' "miejsce": 2}, {"kto": "person_02", "miejsce": 2}], "uwagi": ["brak"]}',
    ],
)
def test_plain_variants_say_the_same(text: str) -> None:
    assert set(map(frozenset, of_json(text).groups)) == {frozenset({C}), frozenset({A, B})}
    assert of_json(text).groups[0] == (C,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("null", "no list"),
        ("[]", "none of the candidates"),
        ('["nobody"]', "none of the candidates"),
        ("[1, 2, 3]", "entry 1"),
        ('[{"place": 1}]', "entry 1 names no candidate"),
        ('{"ranking": [], "rangliste": []}', "several rankings"),
        ('{"person_01": 1, "person_01": 2}', "key stands twice"),
        ('{"ranking": {"person_01": 1, "person_02": 3, "person_11": 2}}', "places as well as"),
        ('{"person_01": "good"}', "no number"),
        ('{"person_01": {"total": 3}, "person_02": {}}', "neither places nor a total"),
        ('[{"id": "person_01", "place": 1}, {"id": "person_02"}]', "others do not"),
        ('[{"id": "person_01", "place": "first"}]', "no whole number"),
        ('[{"id": "person_01", "place": 1.5}]', "no whole number"),
        ('[{"id": "person_01", "place": true}]', "no whole number"),
        ('["person_01"]\n["person_02"]', "2 different rankings"),
        ('["person_01", NaN]', "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"person_01": ' + "9" * 5000 + "}", "no JSON"),
        (json.dumps(["person_01"] * 1001), "more than 1000"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        of_json(text)


def test_the_order_of_the_lines_counts_and_totals_against_it_are_told() -> None:
    ranking = of_json('[{"id": "person_01", "total": 3}, {"id": "person_02", "total": 8}]')
    assert ranking.groups == ((A,), (B,))
    assert ranking.basis == "order"
    assert ranking.against_totals == ((A, B),)
    assert ranking.missing == (C,)
    tied = of_json(json.dumps([entry(A, 1, 9), entry(B, 1, 8), entry(C, 2, 8)]))
    assert tied.groups == ((A, B), (C,))
    assert tied.against_totals == ((B, A),)


def test_unknown_missing_and_repeated_candidates_are_named() -> None:
    ranking = of_json('["person_11", "Anna", "Cora Lind", "person_1", "x", "x"]')
    assert ranking.groups == ((C,),)
    assert ranking.unknown == ("Anna", "person_1", "x")
    assert ranking.missing == (A, B)
    assert ranking.duplicates == (C,)


def test_points_that_are_wrong_in_themselves() -> None:
    entries = [entry(A, 1, 99, c1=11, c2=5), entry(B, 2, 9.04, c1=6, c2=3), entry(C, 3, 7, c1=1)]
    slips = [
        (s.kind, s.candidate, s.criterion, s.stated, s.expected)
        for s in of_json(json.dumps(entries)).arithmetic
    ]
    assert slips == [
        ("points", A, "c1", 11, 10),
        ("sum", A, None, 99, 16),
        ("total", A, None, 99, 15),
    ]


TABLE = """\
# Bericht

| Kriterium | Gewicht |
|---|---|
| Klarheit | 3 |

| Rang | Kandidat | Klarheit | Mut (max. 5) | Gesamt (von 15) |
|:----:|----------|---------:|-------------:|----------------:|
| 1.   | **Cora Lind** (person_11) | 8 | 5 | 13,0 |
| 2    | [Anna Berg](p/person_01.md) | 6 | 3 | 9 / 15 |
| =2   | `person_02` | 6 | 3 | 9 Punkte |
|      | Mittelwert | 6,7 | 3,7 | 10,3 |
"""


def test_a_table_with_places_totals_and_points() -> None:
    ranking = read_table(TABLE, SPEC)
    assert ranking.groups == ((C,), (A, B))
    assert ranking.totals == {C: 13, A: 9, B: 9}
    assert ranking.criteria[A] == {"c1": 6, "c2": 3}
    assert not ranking.unknown + ranking.missing


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("Rank | ID\n--- | ---\n2 | person_01\n1 | person_02\n", ((B,), (A,))),
        ("|Platz|Name|\n|--|--|\n|🥇|Ben Ott|\n|🥈|Anna Berg|", ((B,), (A,))),
        ("|Wer|Punkte|\n|--|--|\n|Ben Ott|9|\n|Anna Berg|9|\n|x|1|", ((B, A),)),
        ("|Wer|Score|Total|\n|--|--|--|\n|person_02|1|5|\n|person_01|9|4|", ((B,), (A,))),
        ("|Rank|a\\|b|ID|\n|-|-|-|\n|1|x|person_01|\n|2|y|person_02|", ((A,), (B,))),
        (
            "|Total|ID|\n|-|-|\n|1|person_01|\n|2|person_02|\n\n|Rank|ID|\n|-|-|\n"
            "|2|person_01|\n|1|person_02|",
            ((B,), (A,)),
        ),
        (
            "|Rank|ID|\n|-|-|\n|1|person_01|\n|2|person_02|\n\n|Rank|ID|\n|-|-|\n"
            "|1|person_02|\n|2|person_01|\n|3|person_11|",
            ((B,), (A,), (C,)),
        ),
    ],
)
def test_tables(text: str, groups: object) -> None:
    assert read_table(text, SPEC).groups == groups


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no table", "no table"),
        ("|ID|\n|-|\n|person_01|\n|person_02|", "no table"),
        ("|Rank|ID|\n|-|-|\n|1|person_01|", "no table"),
        ("|Rank|ID|\n|-|-|\n|1|person_01|\n|-|person_02|", "others do not"),
        (
            "|Rank|ID|\n|-|-|\n|1|person_01|\n|2|person_02|\n\n|Rank|ID|\n|-|-|\n"
            "|1|person_02|\n|2|person_01|",
            "2 of its tables",
        ),
    ],
)
def test_tables_that_cannot_be_read(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_table(text, SPEC)


LIST = """\
## Vorgehen
1. Ich habe alles gelesen.
2. Ich habe person_02 mit person_01 verglichen.

## Rangliste
1. **person_11** (Cora Lind) – 13 Punkte, deutlich vor person_01
   1. Stärke: Mut
   2. Schwäche: keine
2. Anna Berg: 9,5/15

   Knapp vor person_02.
3. Platz: Ben Ott (9)

1. Danke
2. Ende
"""


def test_a_numbered_list() -> None:
    ranking = read_list(LIST, SPEC)
    assert ranking.groups == ((C,), (A,), (B,))
    assert ranking.totals == {C: 13, A: 9.5, B: 9}
    assert not ranking.unknown + ranking.missing + ranking.duplicates


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("1. person_11\n1. person_01\n1. person_02", ((C,), (A,), (B,))),
        ("1) person_11\n2) person_01, person_02\n", ((C,), (A, B))),
        ("Platz 1: person_11\nPlatz 2: Anna Berg und Ben Ott", ((C,), (A, B))),
        ("- **1. person_11**\n- **2. person_01**", ((C,), (A,))),
        ("3. person_01\n2. person_02\n1. person_11", ((C,), (B,), (A,))),
        ("1. person_11\n2. person_01\n2. person_02", ((C,), (A, B))),
        ("### 1. Cora Lind\ntext\n### 2. Ben Ott\ntext", ((C,), (B,))),
    ],
)
def test_lists(text: str, groups: object) -> None:
    assert read_list(text, SPEC).groups == groups


def test_a_list_names_whom_nobody_knows() -> None:
    ranking = read_list("1. person_11\n2. person_12: 9\n3. person_01", SPEC)
    assert ranking.unknown == ("person_12: 9",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("person_11, person_01", "no numbered list"),
        ("1. person_11", "no numbered list"),
        ("1. person_11\n2. person_01\n\n# B\n1. person_01\n2. person_11", "2 of its lists"),
    ],
)
def test_lists_that_cannot_be_read(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_list(text, SPEC)


def test_a_text_full_of_small_lists_or_tables_is_refused() -> None:
    with pytest.raises(Unreadable, match="more than 100 lists"):
        read_list("1. person_11\n2. person_01\n" * 101, SPEC)
    with pytest.raises(Unreadable, match="more than 100 tables"):
        read_table("|Rank|ID|\n|-|-|\n|1|person_01|\n|2|person_02|\n\n" * 101, SPEC)


def test_a_name_that_fits_two_fits_none() -> None:
    twins = spec(candidates=[{"id": "a", "file": "x/note.md"}, {"id": "b", "file": "y/note.md"}])
    ranking = read_json('["note.md", "x/note.md", "b"]', twins)[0]
    assert ranking.groups == (("a",), ("b",))
    assert ranking.unknown == ("note.md",)


def test_short_ids_are_not_found_in_sentences() -> None:
    short = spec(candidates=[{"id": "a"}, {"id": "b"}, {"id": "7"}])
    ranking = read_list("1. b: a better note, 7 points\n2. a (5)\n3. 7 - 3", short)
    assert ranking.groups == (("b",), ("a",), ("7",))
    assert ranking.totals == {"b": 7, "a": 5, "7": 3}


@pytest.mark.parametrize(
    "text",
    [
        '{"candidats": ["person_11", "person_01", "person_02"]}',
        '{"a": [{"id": "person_11", "place": 1}], "b": [{"id": "person_01", "place": 1}]}',
        '[{"wer": "person_11", "statt": "person_01", "platz": 1}, {"wer": "person_02"}]',
    ],
)
def test_a_list_under_an_unknown_key_is_not_guessed_at(text: str) -> None:
    with pytest.raises(Unreadable):
        of_json(text)
