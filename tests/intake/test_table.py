"""Tables that people bring: forms, and what is said about bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from evalstab.errors import InputError
from evalstab.intake.table import read_table

LONG = "trial,candidate,total\n1,a,3\n1,b,2\n1,c,1\n2,a,1\n2,b,2\n2,c,3\n"


def table(path: Path, text: str) -> Path:
    """A file with this text."""
    path.write_text(text, encoding="utf-8")
    return path


def test_totals_and_places_are_opposite(tmp_path: Path) -> None:
    totals = read_table(table(tmp_path / "t.csv", LONG))
    places = read_table(table(tmp_path / "p.csv", LONG.replace("total", "place")))
    assert totals.places.tolist() == [[1, 2, 3], [3, 2, 1]]
    assert places.places.tolist() == [[3, 2, 1], [1, 2, 3]]
    assert places.totals is None


@pytest.mark.parametrize(
    "text",
    [
        LONG.replace(",", ";"),
        LONG.replace(",", "\t"),
        "\ufeff" + LONG,
        LONG.replace("trial,candidate,total", "Run,Item,Score"),
        LONG.replace("\n", "\r\n"),
        LONG + "\n\n",
    ],
)
def test_forms_of_csv(tmp_path: Path, text: str) -> None:
    found = read_table(table(tmp_path / "t.csv", text))
    assert found.places.tolist() == [[1, 2, 3], [3, 2, 1]]


def test_decimal_commas_beside_semicolons(tmp_path: Path) -> None:
    found = read_table(table(tmp_path / "t.csv", "trial;candidate;total\n1;a;1,5\n1;b;1,25\n"))
    assert found.totals is not None
    assert found.totals.tolist() == [[1.5, 1.25]]


def test_wide_tables_both_ways(tmp_path: Path) -> None:
    rows = table(tmp_path / "r.csv", "trial,a,b,c\n1,3,2,1\n2,1,2,3\n")
    columns = table(tmp_path / "c.csv", "candidate,1,2\na,3,1\nb,2,2\nc,1,3\n")
    for path in (rows, columns):
        found = read_table(path, "total")
        assert found.places.tolist() == [[1, 2, 3], [3, 2, 1]]
        assert found.candidates == ("a", "b", "c")


def test_json_forms(tmp_path: Path) -> None:
    rows = [{"trial": t, "candidate": c, "total": v} for t, c, v in [(1, "a", 3), (1, "b", 2)]]
    assert read_table(table(tmp_path / "l.json", json.dumps(rows))).places.tolist() == [[1, 2]]
    wide = {"1": {"a": 3, "b": 2}, "2": {"a": 1, "b": 2}}
    found = read_table(table(tmp_path / "w.json", json.dumps(wide)), "total")
    assert found.places.tolist() == [[1, 2], [2, 1]]
    scores = {"trials": [{"index": 4, "ranking": [["b"], ["a", "c"]], "totals": {"b": 9}}]}
    found = read_table(table(tmp_path / "s.json", json.dumps(scores)))
    assert found.trials == ("4",)
    assert found.places.tolist() == [[1, 2.5, 2.5]]


def test_scores_keep_the_trials_without_a_ranking(tmp_path: Path) -> None:
    trials = [
        {"index": 1, "outcome": "completed", "ranking": [["b"], ["a"]], "totals": {}},
        {"index": 2, "outcome": "failed", "ranking": None, "totals": None},
        {"index": 3, "outcome": "aborted", "ranking": [["a"], ["b"]], "totals": {}},
        {"index": 4, "outcome": "invalid", "ranking": None, "totals": None},
    ]
    found = read_table(table(tmp_path / "s.json", json.dumps({"trials": trials})))
    assert found.trials == ("1", "2")
    assert found.places[0].tolist() == [1, 2]
    assert np.isnan(found.places[1]).all()


def test_a_trial_without_places_is_ordered_by_its_totals(tmp_path: Path) -> None:
    text = "trial,candidate,total,place\n1,a,2,1\n1,b,3,2\n2,a,3,\n2,b,5,\n"
    found = read_table(table(tmp_path / "t.csv", text))
    assert found.places.tolist() == [[1, 2], [2, 1]]


def test_missing_candidates_and_places_before_totals(tmp_path: Path) -> None:
    text = "trial,candidate,total,place\n1,a,10,2\n1,b,10,1\n2,a,7,1\n2,b,,\n"
    found = read_table(table(tmp_path / "t.csv", text))
    assert found.places[0].tolist() == [2, 1]
    assert np.isnan(found.places[1, 1])


def test_trials_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    text = "trial,candidate,total\n10,a,1\n2,a,2\n"
    assert read_table(table(tmp_path / "t.csv", text)).trials == ("2", "10")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("empty", "header")),
        ("trial,candidate,total\n", ("no rows",)),
        ("trial,candidate,total\n1,a,x\n", ("line 2", "column total", "'x'")),
        ("trial,candidate,total\n1,a,nan\n", ("line 2", "no number")),
        ("trial,candidate,total\n1,a,inf\n", ("line 2", "no number")),
        ("trial,candidate,total\n1,a,1\n1,a,2\n", ("line 3", "line 2", "again")),
        ("trial,candidate,total\n1,,1\n", ("line 2", "candidate", "empty")),
        ("trial,candidate,total\n1,a\n", ("line 2", "2 columns", "3")),
        ("trial,candidate,note\n1,a,1\n", ("total or place", "note")),
        ("x,y,z\n1,a,1\n", ("trial or candidate", "x, y, z")),
        ("trial,a,b\n1,2,3\n", ("--values",)),
        ("trial,candidate,total,total\n1,a,1,2\n", ("twice",)),
        ("[1, 2]", ("list of objects",)),
        ('{"trials": [1]}', ("trials[0]",)),
        ("{", ("JSON",)),
    ],
)
def test_bad_tables_name_place_and_mend(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as error:
        read_table(table(tmp_path / "bad.csv", text))
    for word in words:
        assert word in str(error.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(b"\xff\xfe\x00t")
    with pytest.raises(InputError, match="UTF-8"):
        read_table(path)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ("1,a,1,3\n1,b,2,2\n1,c,3,1\n", None),
        ("1,a,1,3\n1,b,1.5,3\n1,c,3,3\n", None),
        ("1,a,1,1\n1,b,2,2\n1,c,3,3\n", "line 3"),
        ("1,a,1,9\n1,b,2,2\n1,c,2,8\n1,d,4,3\n", "line 5"),
        ("1,a,1,\n1,b,2,2\n1,c,,9\n", None),
    ],
)
def test_the_first_contradiction_of_place_and_total_is_named(
    tmp_path: Path, rows: str, line: str | None
) -> None:
    found = read_table(table(tmp_path / "t.csv", "trial,candidate,place,total\n" + rows))
    if line is None:
        assert found.warning is None
    else:
        assert found.warning is not None
        assert f"{line}: trial 1 places" in found.warning


def test_columns_of_other_names_are_told_what_to_be_called(tmp_path: Path) -> None:
    headers = ("run,who,points", "a,b,c", "run,item,pts")
    for header, missing in zip(headers, ("candidate", "trial or", "total or place"), strict=True):
        with pytest.raises(InputError, match=f"no column {missing}") as found:
            read_table(table(tmp_path / "t.csv", f"{header}\n1,a,3\n"))
        assert ", ".join(header.split(",")) in str(found.value)
        assert "to trial, candidate, and total or place" in str(found.value)
