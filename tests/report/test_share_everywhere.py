"""Secrets seeded into every place of a series and of a ladder: nothing that is shared holds one."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from evalstab.report.launch_line import public, shared_launch, shared_rig
from evalstab.series.ladder import Rung, open_ladder, write_ladder
from evalstab.workflow.reporting import NAMES, report
from tests.report.ladder_cases import STEADY, TORN, ladder_of
from tests.report.test_share import unpacked

SEED = "Geheimwort"
"""Stands in every text; a counter after it tells which place let it out."""

LAUNCH = (
    f"ssh -p 2222 {SEED}@rig-{SEED}.lan docker run --name {SEED} -v /home/{SEED}/models:/m "
    f"-e USER={SEED} vllm/vllm-openai:v0.25.1 --model /m/{SEED}/q.gguf --host rig.{SEED}.lan "
    f"--served-model-name {SEED} --api-key sk-{SEED} --tensor-parallel-size 8 --dtype=float16"
)
OURS = {
    "outcome", "status", "kind", "side", "channel", "tokens_source", "code", "source",
    "schema_version", "model",
}  # fmt: skip
"""Keys whose values are words of ours, which a reader needs to know what is meant."""


NUMBERED: dict[str, Any] = {
    "attrition": 1, "finding_counts": 1, "counts": 1, "totals": 1.0, "candidates": {},
}  # fmt: skip
"""Blocks whose keys are free and whose values are not: a strange key is put in as well."""


class Seeding:
    """Puts a numbered secret in the place of every text, and of every name of a candidate."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.names: dict[str, str] = {}

    def secret(self, where: str) -> str:
        self.places.append(where)
        return f"{SEED}{len(self.places)}x"

    def of(self, value: Any, where: str) -> Any:
        if isinstance(value, dict):
            told = {self._key(k): self.of(v, f"{where}.{k}") for k, v in value.items()}
            new = NUMBERED.get(where.rpartition(".")[2], self.secret(f"{where} (a key)"))
            return told | {f"{SEED}_key": new}
        if isinstance(value, list):
            return [self.of(one, where) for one in value] + (
                [self.secret(where)] if value and isinstance(value[0], str) else []
            )
        if not isinstance(value, str) or where.rpartition(".")[2] in OURS:
            return value
        return self.names.get(value) or self.secret(where)

    def _key(self, key: str) -> str:
        return self.names.get(key, key)


def seeded(root: Path) -> Seeding:
    """A ladder in whose files every text is a secret."""
    ladder_of(root, [("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, TORN)])
    seeding = Seeding()
    for rung in ("16k", "60k"):
        place = root / rung
        scores = json.loads((place / "scores.json").read_text())
        for name in scores["stability"]["candidates"]:
            seeding.names.setdefault(name, seeding.secret("candidates"))
        scores["verdict"] = _verdict()
        finding = {
            "code": "text.foreign_script", "side": "model", "step": 1, "channel": "file",
            "start": 0, "end": 3, "excerpt": "x", "detail": {"path": "x", "script": "Han"},
        }  # fmt: skip
        scores["findings"] = [finding]
        scores["trials"][0]["findings"] = [finding]
        scores["trials"][1]["outcome"] = "failed"
        _write(place / "scores.json", seeding.of(scores, "scores"))
        file = json.loads((place / "series.json").read_text())
        file["conditions"] |= {"hardware": f"8 × RTX 3090 in {SEED}", "agent": "x", "launch": "x"}
        file["settings"] |= {"base_url": "x", "headers": {"a": "x"}, "sampling": {"stop": "x"}}
        kept = {k: file["conditions"].get(k) for k in ("hardware", "context", "concurrency")}
        model = {"model": "Qwen3-8B", "quant": "AWQ", "engine": "vLLM 0.25.1"}
        told = seeding.of(file, "series")
        told["conditions"] |= kept | model
        told["created"] = "2026-11-30T02:14:00+00:00"
        _write(place / "series.json", told)
        _write(place / "launch.json", {"command": LAUNCH, "captured": True, "fingerprint": SEED})
    (root / "16k" / "gate.json").write_text("{}")
    return seeding


def _verdict() -> dict[str, Any]:
    rule = {
        "name": "x", "kind": "count", "key": "trial_winner:x", "value": 1, "threshold": 0,
        "status": "fail", "reason": "x",
    }  # fmt: skip
    return {
        "status": "fail", "gate": "x", "reason": "x", "rules": [rule], "notes": ["x"],
        "next": ["evalstab run x"], "provisional": False,
    }  # fmt: skip


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def everything(path: Path) -> str:
    """All that a file says: pictures inside a page, and what a PNG says beside its pixels."""
    data = path.read_bytes()
    if not data.startswith(b"\x89PNG"):
        return unpacked(data.decode())
    found, at = b"", 8
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        if kind != b"IDAT":
            found += kind + body
            if kind in (b"zTXt", b"iTXt"):
                found += zlib.decompress(body.partition(b"\0")[2][1:])
        at += size + 12
    return found.decode("latin-1")


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seeding]:
    root = tmp_path_factory.mktemp("share") / f"{SEED}-folder"
    seeding = seeded(root)
    file = open_ladder(root)
    write_ladder(
        root,
        type(file)(
            id=SEED, created="2026-11-30T02:14:00+00:00", task=SEED, endpoint=SEED, simulated=False,
            repeats=5, seed=1, request={"task": f"/home/{SEED}/task", "agent": SEED},
            rungs=(*file.rungs, Rung(
                name=f"{SEED}-rung", context_target=80_000, concurrency=1, problem=f"no {SEED}"
            )),
            notes=(f"see {SEED}",), expected={SEED: 1},
        ),
    )  # fmt: skip
    return root, seeding


@pytest.mark.parametrize("form", sorted(NAMES))
@pytest.mark.parametrize("place", ["", "60k"])
def test_no_secret_goes_out(
    ladder: tuple[Path, Seeding],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    place: str,
    form: str,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root, seeding = ladder
    assert len(seeding.places) > 100
    report(root / place, form, None, share=True)
    files = [path for path in (root / place / "shared").rglob("*") if path.is_file()]
    assert files
    for path in files:
        told = everything(path)
        leaks = {seeding.places[int(n) - 1] for n in re.findall(rf"{SEED}(\d+)x", told)}
        assert not leaks, path.name
        assert SEED.lower() not in told.lower(), path.name
        assert root.name not in told


def test_the_own_report_does_hold_them(ladder: tuple[Path, Seeding], tmp_path: Path) -> None:
    root, _ = ladder
    for place in ("", "60k"):
        assert SEED in everything(report(root / place, "html", tmp_path / "own.html"))
    card = everything(report(root / "60k", "card", tmp_path / "own.svg"))
    assert SEED in card
    for gone in (f"@rig-{SEED}", f"/home/{SEED}", f"rig.{SEED}.lan", f"--name {SEED}"):
        assert gone not in card


def test_a_shared_card_keeps_what_is_known_to_be_harmless(
    ladder: tuple[Path, Seeding], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    told = everything(report(ladder[0] / "60k", "card", tmp_path / "card.svg", share=True))
    for kept in ("· AWQ · vLLM 0.25.1", "--tensor-parallel-size 8", "8 × RTX 3090 …"):
        assert kept in told
    assert "vllm/vllm-openai:v0.25.1 --model …" in told
    assert "--dtype=float16" in told


@pytest.mark.parametrize(
    ("rig", "told"),
    [
        ("8 × NVIDIA GeForce RTX 3090, 24 GiB", "8 × NVIDIA GeForce RTX 3090 24 GiB"),
        ("2x H100 SXM in room 4 at Erika's", "2x H100 SXM … 4 …"),
        ("10.0.0.7 and 192.168.1.1:80", "…"),
        ("Erika", "…"),
        ("", ""),
    ],
)
def test_a_rig_keeps_words_of_hardware(rig: str, told: str) -> None:
    assert shared_rig(rig) == told


@pytest.mark.parametrize(
    "command",
    [
        "ssh rig1 vllm serve m", "ssh -p 22 -i key rig1.lan vllm",
        "C:\\Users\\rig1\\llama-server.exe -m m",
        "vllm serve ~rig1/models/m.safetensors", "$HOME/rig1/vllm serve m", "x --url tcp://rig1:80",
        "vllm serve m --host [fe80::1%rig1]", "curl rig1.internal:8000", "a --host=rig1", "-h rig1",
        "docker run --name rig1 x", "a --user=rig1 -h rig1 -p 80",
        "file:///home/rig1/m", "scp rig1@host:/a/b c", "ollama --user rig1",
    ],
)  # fmt: skip
def test_hosts_and_folders_leave_no_trace(command: str) -> None:
    assert "rig1" not in public(command)
    assert "rig1" not in shared_launch(command)


def test_an_address_is_no_number() -> None:
    for command in (
        "vllm serve --host 10.0.0.7 -p 80",
        "x 10.0.0.7",
        "x --a=10.0.0.7:80",
        "x 1:2:3",
    ):
        assert "10.0" not in shared_launch(command)
        assert "1:2" not in shared_launch(command)
    assert "rig1" not in shared_launch("vllm --served-model-name rig1 --name=rig1")
    assert shared_launch("vllm --tp 8 --gpu-memory-utilization 0.95") == (
        "vllm --tp 8 --gpu-memory-utilization 0.95"
    )
