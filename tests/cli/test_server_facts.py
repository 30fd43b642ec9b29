"""What a server says of itself goes into the series, and shortages are told before the start."""

from __future__ import annotations

import json
from pathlib import Path

from evalstab.sim.open import open_sim
from tests.cli.chat_server import ChatServer, chatting
from tests.cli.program import evalstab


def test_a_series_knows_its_server(tmp_path: Path) -> None:
    with open_sim("steady", dialect="llamacpp") as url:
        done = evalstab(
            "run", "three-notes", "--base-url", f"{url}/v1", "--repeats", "2",
            "--concurrency", "2", "--out", "series", cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "warning: trials at once: 2 asked for, the server computes 1 at once" in done.stderr
    file = json.loads((tmp_path / "series" / "series.json").read_text())
    assert file["conditions"]["engine"] == "llama.cpp b6700-5a91109a"
    launch = json.loads((tmp_path / "series" / "launch.json").read_text())
    assert launch["facts"]["ctx_per_slot"]["value"] == 262_144
    assert launch["facts"]["parallel"]["value"] == 1
    assert "kv_k" not in launch["facts"]
    assert file["endpoint"]["simulator"] is True
    assert "simulated endpoint, no model was judged: http://127.0.0.1" in done.stderr
    report = (tmp_path / "series" / "report.md").read_text()
    assert "llama.cpp b6700-5a91109a, simulated" in report
    assert ", simulated: no model was judged" in report


def test_pages_that_are_nonsense_stop_no_series(tmp_path: Path) -> None:
    pages = {
        path: {"version": ["x"], "models": 7, "n_ctx": "many", "build_info": {"deep": [[[]]]}}
        for path in ("/props", "/v1/props", "/version", "/server_info", "/api/version", "/slots")
    }
    with chatting(ChatServer(tools="text", pages=pages)) as chat:
        done = evalstab(
            "run", "three-notes", "--base-url", chat.url, "--repeats", "1", "--out", "series",
            cwd=tmp_path,
        )  # fmt: skip
    assert (tmp_path / "series" / "trials" / "001" / "events.jsonl").is_file(), done.stderr
    file = json.loads((tmp_path / "series" / "series.json").read_text())
    assert file["conditions"]["engine"] == "unknown"
