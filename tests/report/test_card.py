"""The results card: what stands on it, and what is taken out of the launch line."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from evalstab.report.card import build_card
from evalstab.report.card_drawing import draw_card
from evalstab.report.facts import facts_of
from evalstab.report.launch_line import public
from evalstab.report.model import build_report
from evalstab.series.folder import SeriesFolder, open_series
from tests.report.page_cases import PAYLOADS, hostile_series
from tests.report.report_cases import FIVE_RUN, five_run, nulled, scores_of


def svg_of(folder: SeriesFolder, scores: dict[str, Any]) -> str:
    card = build_card(folder, facts_of(scores), build_report(folder, scores).answer)
    return draw_card(card).decode()


def words(svg: str) -> str:
    texts = (e for e in ET.fromstring(svg).iter() if e.tag.endswith("}text"))
    return "\n".join("".join(e.itertext()) for e in texts)


def test_model_launch_rig_verdict_ranks_and_rates(tmp_path: Path) -> None:
    place = tmp_path / "series"
    shutil.copytree(FIVE_RUN, place)
    launch = "docker run -v /home/erika/models:/m vllm/vllm-openai --model /m/MiniMax"
    (place / "launch.json").write_text(json.dumps({"command": launch}))
    series = json.loads((place / "series.json").read_text())
    series["conditions"]["hardware"] = "8 × RTX 3090"
    (place / "series.json").write_text(json.dumps(series))
    scores = five_run()[1]
    scores["speed"] = {"decode_tok_s": {"p50": 60.6}, "context_tokens": 61_900}
    told = words(svg_of(open_series(place), scores))
    assert "MiniMax-M2.7-AWQ-hybrid-int8kv · hybrid AWQ, int8 KV · vLLM" in told
    assert "vllm/vllm-openai --model …/MiniMax" in told
    assert "erika" not in told
    assert "8 × RTX 3090" in told
    assert "The ranking is not reproducible" in told
    assert "person_11, 3× first" in told
    assert "Kendall tau (95 %)\n0.77 (0.54 to 0.89)" in told
    assert "60.6 tok/s at 61.9k" in told
    assert "1 of 5" in told


def test_what_is_not_known_is_said() -> None:
    folder, scores = five_run()
    told = words(svg_of(folder, scores))
    assert "launch: not captured" in told
    assert "rig:    not captured" in told
    empty = words(svg_of(folder, nulled(scores)))
    assert "not known" in empty
    assert "NaN" not in empty


def test_the_same_card_is_the_same_bytes() -> None:
    folder, scores = five_run()
    card = build_card(folder, facts_of(scores), build_report(folder, scores).answer)
    assert draw_card(card) == draw_card(card)
    png = draw_card(card, "png")
    assert png == draw_card(card, "png")
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (1200, 630)


def test_hostile_names_are_text_of_the_picture(tmp_path: Path) -> None:
    folder, scores = hostile_series(tmp_path / "hostile")
    svg = svg_of(folder, scores)
    tags = {e.tag.rpartition("}")[2] for e in ET.fromstring(svg).iter()}
    assert not tags & {"script", "image", "a", "foreignObject", "iframe"}
    assert not any(c in svg for c in (*"\x1b\x00\u202e", PAYLOADS["script"]))


@pytest.mark.parametrize("count", [2, 8, 30])
def test_any_number_of_candidates_fits(count: int) -> None:
    rows: list[list[float | None]] = [
        [float((i * 7 + t) % count) for i in range(count)] for t in range(12)
    ]
    scores = scores_of(rows)
    told = words(svg_of(five_run()[0], scores))
    assert told.count("candidate_") >= min(count, 8)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "llama-server -m /home/erika/m/q.gguf --port 8080",
            "llama-server -m …/q.gguf --port 8080",
        ),
        ("ssh erika@rig vllm serve Qwen/Qwen3-8B", "ssh … vllm serve Qwen/Qwen3-8B"),
        ("vllm serve m --host 192.168.1.20", "vllm serve m --host …"),
        ("x --url https://user.example/private?a=b -q", "x --url … -q"),
        ("vllm/vllm-openai:v0.25.1 --tp 8", "vllm/vllm-openai:v0.25.1 --tp 8"),
    ],
)
def test_the_launch_line_may_be_posted(command: str, told: str) -> None:
    assert public(command) == told
