"""Plots by structure: lines, markers and labels; the same bytes twice."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from evalstab.report.page import BumpData, Figure, StripData, Trajectory
from evalstab.report.plots import LEADER, draw

SVG = "{http://www.w3.org/2000/svg}"


def bump(*places: tuple[float | None, ...], names: tuple[str, ...] = ()) -> Figure:
    lines = tuple(
        Trajectory(
            names[n] if names else f"candidate_{n}", line, sum(p == 1 for p in line), leader=n == 0
        )
        for n, line in enumerate(places)
    )
    trials = tuple(str(t + 1) for t in range(len(places[0])))
    return Figure("bump", "Places", "alt", BumpData(trials, lines))


def strips(*columns: tuple[float, ...]) -> Figure:
    trials = tuple(str(t + 1) for t in range(len(columns)))
    return Figure("strips", "Totals", "alt", StripData(trials, columns))


def texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in ET.fromstring(svg).iter(f"{SVG}text")]


def group(svg: str, gid: str) -> ET.Element:
    return next(e for e in ET.fromstring(svg).iter() if e.get("id") == gid)


def points(svg: str, gid: str) -> list[tuple[float, float]]:
    return [(float(u.get("x", 0)), float(u.get("y", 0))) for u in group(svg, gid).iter(f"{SVG}use")]


def pieces(svg: str, gid: str) -> int:
    """Number of unbroken pieces of a line."""
    return (group(svg, gid).find(f"{SVG}path") or ET.Element("path")).get("d", "").count("M")


def test_a_trajectory_for_each_candidate_and_the_winner_stands_out() -> None:
    svg = draw(bump((1, 2, 1), (2, 1, 3), (3, 3, 2)))
    for number in range(3):
        assert len(points(svg, f"line-{number}")) == 3
    assert len(points(svg, "first-0")) == 2
    assert len(points(svg, "first-1")) == 1
    assert len(points(svg, "first-2")) == 0
    assert LEADER.lower() in ET.tostring(group(svg, "line-0"), encoding="unicode").lower()
    assert {"candidate_0, first twice", "candidate_1, first once", "candidate_2"} <= set(texts(svg))
    assert "place (1 = first)" in texts(svg)
    assert "trial" in texts(svg)


def test_tied_candidates_can_both_be_seen_and_named() -> None:
    svg = draw(bump((1.5, 1), (1.5, 2.5), (3, 2.5)))
    starts = [points(svg, f"line-{n}")[0][1] for n in range(3)]
    assert len(set(starts)) == 3
    label_heights = re.findall(r'transform="translate\([\d.]+ ([\d.]+)\)"[^>]*>candidate', svg)
    assert len(set(label_heights)) == len(label_heights)


def test_missing_places_break_the_line_and_an_unranked_trial_says_so() -> None:
    svg = draw(bump((1, None, 2, 1), (2, None, None, 2)))
    assert len(points(svg, "line-0")) == 3
    assert len(points(svg, "line-1")) == 2
    assert texts(svg).count("no ranking") == 1


def test_the_highest_total_of_each_trial_is_marked_and_labelled() -> None:
    svg = draw(strips((158.0, 60.0, 20.5), (79.0, 40.0), ()))
    assert len(points(svg, "totals-0")) == 3
    assert len(points(svg, "highest")) == 2
    assert {"158", "79", "highest", "total awarded (points)", "no totals"} <= set(texts(svg))


@pytest.mark.parametrize("columns", [((0.0,),), ((-5.0, -9.0), (3.0,)), ((7.0, 7.0),)])
def test_scales_of_zero_below_zero_and_constant(columns: tuple[tuple[float, ...], ...]) -> None:
    assert "trial" in texts(draw(strips(*columns)))


def test_the_same_bytes_twice_and_no_date() -> None:
    figure = bump((1, 2), (2, 1))
    assert draw(figure) == draw(figure)
    assert "dc:date" not in draw(figure)


def test_sixty_candidates_twenty_trials() -> None:
    places = [tuple(float((n + t) % 60 + 1) for t in range(20)) for n in range(60)]
    svg = draw(bump(*places))
    assert sum(text.startswith("candidate_") for text in texts(svg)) == 60
    assert len(svg) < 600_000


def test_hostile_names_are_text() -> None:
    names = ('<script>alert("x")</script>', "$\\frac{1}{0}$ 李明 ابن")
    svg = draw(bump((1, 2), (2, 1), names=names))
    assert "<script" not in svg
    assert any(names[0] in text for text in texts(svg))
    assert any(names[1] in text for text in texts(svg))


def test_one_trial() -> None:
    svg = draw(bump((1,), (2,)))
    assert len(points(svg, "line-0")) == 1
