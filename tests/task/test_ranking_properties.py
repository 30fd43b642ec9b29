"""Whatever a model writes: no error but the declared one, and what is read is consistent."""

import json
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalstab.task.deliverables import check_deliverables
from evalstab.task.model import Deliverable, Task
from evalstab.task.ranking import StatedRanking, Unreadable
from evalstab.task.ranking_json import read_json
from evalstab.task.ranking_text import read_list, read_table
from tests.task.task_making import CRITERIA, spec

SPEC = spec(criteria=CRITERIA)
IDS = [candidate.id for candidate in SPEC.candidates]
WORDS = st.sampled_from(
    [*IDS, *("Anna Berg", "ben ott", "nobody", "1.", "2", "🥇", "79,5", "9/10 Punkte", "NaN", "-")]
) | st.sampled_from(["", "|", "|---|", "Rang", "Kandidat", "Gesamt", "\n", "# ", "```", *'{}[]":'])
MESSES = st.lists(WORDS, max_size=40).map(" ".join)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            WORDS
            | st.sampled_from(["ranking", "candidate", "id", "place", "total", "criteria", "c1"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
ORDERS = st.permutations(IDS)
TOTALS = st.lists(st.integers(1, 150), min_size=3, max_size=3).map(
    lambda tenths: sorted((value / 10 for value in tenths), reverse=True)
)


def check_sound(ranking: StatedRanking) -> None:
    named = [candidate for group in ranking.groups for candidate in group]
    assert named
    assert len(set(named)) == len(named)
    assert set(named) | set(ranking.missing) == set(IDS)
    assert not set(named) & set(ranking.missing)
    assert set(ranking.totals) | set(ranking.criteria) | set(ranking.duplicates) <= set(named)
    assert all(above <= below for above, below in pairwise(ranking.places.values()))


@settings(deadline=None)
@given(st.one_of(JSONS.map(json.dumps), MESSES, st.text(max_size=80)))
def test_any_json(text: str) -> None:
    with suppress(Unreadable):
        check_sound(read_json(text, SPEC)[0])


@settings(deadline=None)
@given(st.one_of(MESSES, st.text(max_size=80)))
@example("|" * 3000 + "\n" + "|-" * 3000)
@example("1." * 5000)
def test_any_table_and_list(text: str) -> None:
    for read in (read_table, read_list):
        with suppress(Unreadable):
            check_sound(read(text, SPEC))


@settings(deadline=None)
@given(ORDERS, TOTALS)
def test_all_forms_state_the_same_ranking(order: list[str], totals: list[float]) -> None:
    places = [1 + sum(total > mine for total in totals) for mine in totals]
    lines = list(zip(places, order, totals, strict=True))
    entries = [{"candidate": c, "place": p, "total": t} for p, c, t in lines]
    german = [(p, c, f"{t:.1f}".replace(".", ",")) for p, c, t in lines]
    rows = "".join(f"| {p}. | **{c}** | {t} |\n" for p, c, t in german)
    table = f"| Rang | Kandidat | Gesamt |\n|---|---|---|\n{rows}"
    items = "".join(f"{p}. {c}: {t} Punkte\n" for p, c, t in german)
    read = [
        read_json(json.dumps({"ranking": entries}), SPEC)[0],
        read_json(json.dumps([{k: e[k] for k in ("candidate", "total")} for e in entries]), SPEC)[
            0
        ],
        read_table(table, SPEC),
        read_list(items, SPEC) if len(set(places)) > 1 else None,
    ]
    for ranking in filter(None, read):
        assert ranking.places == dict(zip(order, places, strict=True))
        assert ranking.totals == dict(zip(order, totals, strict=True))
        assert not ranking.against_totals + ranking.missing


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["ranking.json", "r.md", "t.md", "f.md"]), st.binary()))
def test_any_files(files: dict[str, bytes]) -> None:
    others = [
        Deliverable(path="r.md", kind="markdown", format="markdown-table", headings=("A",)),
        Deliverable(path="t.md", kind="markdown", format="numbered-list", min_words=3),
        Deliverable(path="f.md", kind="form", fields=("A", "B")),
    ]
    task = _task(others)
    report = check_deliverables(task, files)
    assert report.expected == 4
    assert report.complete + len(report.missing) + len(report.invalid) == 4
    assert set(report.missing) == {d.path for d in task.spec.deliverables} - set(files)


def _task(others: list[Deliverable]) -> Task:
    whole = spec(criteria=CRITERIA, deliverables=[*SPEC.deliverables, *others])
    return Task(whole, Path(), None, "", {}, None, "")
