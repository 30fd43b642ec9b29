"""Section 7: the decode rate that each client reports, beside the one at which the server sent.

The peers ask for their usual things, with a tokenizer and a book made here, since theirs would have
to be downloaded. Each gets a stream of 2,000 tokens a second, and 17 of them at once.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.speed import own
from benchmarks.speed.client import HELLO
from benchmarks.speed.pacer import Pacer, paced
from benchmarks.speed.peers import Peers
from benchmarks.speed.result import Section, cpu_of
from evalstab.endpoint.base import Attempt

RATE, FIRST_MS = 2000, 100
STREAMS = (1, 17)
FIRST_ID = 500_000
WORDS = 2000
TOKENIZER = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
words = {word: number for number, word in enumerate(["[UNK]", *sys.argv[2].split()])}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(sys.argv[1])
"""

Reading = dict[str, Any] | str
"""Reported tokens a second, CPU seconds; or why there are none."""


def run(pacer: Pacer, peers: Peers, quick: bool) -> Section:
    """Own client, guidellm and llama-benchy, one after the other."""
    section = Section("peers")
    chunks = 200 if quick else 8000
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        clients: dict[str, Callable[[str, int, int], Reading]] = {
            "own": partial(_own, pacer),
            "guidellm": partial(_guidellm, pacer, peers, place),
            "llama-benchy": partial(_llama_benchy, pacer, peers, place),
        }
        number = FIRST_ID
        for streams in STREAMS:
            for name, ask in clients.items():
                number += 1
                found = ask(paced(number, RATE, chunks, FIRST_MS), streams, chunks)
                if isinstance(found, str):
                    section.skipped[f"{name}, {streams} streams"] = found
                else:
                    section.rows.append(_row(name, streams, found, pacer.rates(number)))
    return section


def _row(name: str, streams: int, found: dict[str, Any], true: list[float]) -> dict[str, Any]:
    mean = sum(true) / len(true)
    return {
        "client": name,
        "streams": streams,
        "sent_tok_s": mean,
        "reported_tok_s": found["rate"],
        "error_pct": 100 * (found["rate"] / mean - 1) if found["rate"] else None,
        "cpu_s": found["cpu_s"],
        "says": found.get("says", ""),
    }


def _own(pacer: Pacer, model: str, streams: int, chunks: int) -> Reading:
    async def ask() -> list[Attempt]:
        client = own.client(pacer.url)
        await client.warm()
        asked = (client.attempt(own.request(model, HELLO)) for _ in range(streams))
        attempts = await asyncio.gather(*asked)
        await client.close()
        return list(attempts)

    attempts, seconds = cpu_of(lambda: asyncio.run(ask()))
    clocks = [attempt.clock for attempt in attempts if attempt.clock]
    said = sorted({clock.unreliable for clock in clocks if clock.unreliable})
    rates = [
        (chunks - 1) / (clock.last - clock.first)
        for clock in clocks
        if clock.first is not None and clock.last is not None and not clock.unreliable
    ]
    rate = sum(rates) / len(rates) if rates else None
    return {"rate": rate, "cpu_s": seconds, "says": said[-1] if said else ""}


def _tokenizer(peers: Peers, name: str, place: Path) -> Path | str:
    home, script = place / f"{name}-tokenizer", place / "tokenizer.py"
    script.write_text(TOKENIZER)
    words = " ".join(f"w{number}" for number in range(WORDS))
    made = peers.command(name, "python", [script, home, words])
    return made if isinstance(made, str) else home


def _guidellm(
    pacer: Pacer, peers: Peers, place: Path, model: str, streams: int, chunks: int
) -> Reading:
    del chunks
    tokenizer = _tokenizer(peers, "guidellm", place)
    if isinstance(tokenizer, str):
        return tokenizer
    out = place / f"guidellm-{streams}.json"
    target = pacer.url.removesuffix("/v1")
    options = {
        "backend": f"kind=openai_http,target={target},model={model}",
        "profile": f"kind=concurrent,streams={streams}",
        "constraint": f"kind=max_requests,count={streams}",
        "tokenizer": f"kind=hf_auto,model={tokenizer}",
        "data": "kind=synthetic_text,prompt_tokens=16,output_tokens=16",
        "output": f"kind=json,path={out}",
    }
    asked = [part for key, value in options.items() for part in (f"--{key}", value)]
    done = peers.command("guidellm", "guidellm", ["run", *asked, "--disable-console"])
    if isinstance(done, str):
        return done
    metrics = json.loads(out.read_text())["benchmarks"][0]["metrics"]
    gap = metrics["inter_token_latency_ms"]["successful"]["mean"]
    return {"rate": 1000 / gap, "cpu_s": done["cpu_s"]}


@contextmanager
def _served(place: Path) -> Iterator[str]:
    """The files of a folder over HTTP on loopback."""
    handler = partial(_Files, directory=str(place))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the benchmark prints tables."""


def _llama_benchy(
    pacer: Pacer, peers: Peers, place: Path, model: str, streams: int, chunks: int
) -> Reading:
    tokenizer = _tokenizer(peers, "llama-benchy", place)
    if isinstance(tokenizer, str):
        return tokenizer
    out, book = place / f"benchy-{streams}.json", place / "book.txt"
    book.write_text(" ".join(random.Random(1).choices([f"w{n}" for n in range(WORDS)], k=20_000)))
    options = {
        "base-url": pacer.url,
        "model": model,
        "tokenizer": tokenizer,
        "pp": 16,
        "tg": chunks,
        "runs": 1,
        "concurrency": streams,
        "latency-mode": "none",
        "format": "json",
        "save-result": out,
    }
    asked = [part for key, value in options.items() for part in (f"--{key}", value)]
    asked += ["--no-warmup", "--skip-coherence", "--no-adapt-prompt"]
    with _served(place) as address:
        asked += ["--book-url", f"{address}/{book.name}"]
        done = peers.command("llama-benchy", "llama-benchy", asked)
    if isinstance(done, str):
        return done
    found = json.loads(out.read_text())["benchmarks"][0]
    return {"rate": found["tg_req_throughput"]["mean"], "cpu_s": done["cpu_s"]}
