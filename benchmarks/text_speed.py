"""Speed of the text room, as ratios to one pass of zlib over the same bytes.

    python benchmarks/text_speed.py

Absolute times differ from machine to machine; the ratio says how many times longer than
compressing the text once (zlib, level 1) a scan takes. MB are UTF-8 megabytes.
"""

import sys
import time
import zlib
from collections.abc import Callable

from reasoning_texts import honest

from evalstab.text.expected import Expectation
from evalstab.text.inputs import InputIndex
from evalstab.text.language import channel_language, scan_languages
from evalstab.text.repetition import (
    TailWatch,
    degenerate,
    low_entropy,
    repeated_share,
    rewording_profile,
    verbatim_loops,
)
from evalstab.text.scripts import scan_scripts
from evalstab.text.special_tokens import special_tokens

DE = Expectation("de")
BLOCK = 400_000
LARGE = 20_000_000
REPEATS = 3


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Fastest of a few calls, the first one left out as a warm-up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def german(size: int) -> str:
    """Mostly ASCII text with umlauts and a foreign word every 100,000 characters."""
    piece = honest(1, 100_000).replace("a", "ä", 2000) + " Das ist 符合要求 und gut. "
    return (piece * (size // len(piece) + 1))[:size]


def watch(text: str) -> None:
    """A whole stream in deltas of 16 characters."""
    tail = TailWatch()
    for place in range(0, len(text), 16):
        tail.feed(text[place : place + 16])


def main() -> int:
    """Print the table."""
    large, block, delta = german(LARGE), german(BLOCK), "Das Ergebnis ist gut."
    index = InputIndex([block])
    works: list[tuple[str, str, Callable[[], object]]] = [
        ("scan_scripts, large text", large, lambda: scan_scripts(large, DE)),
        ("scan_scripts with inputs", block, lambda: scan_scripts(block, DE, index)),
        ("scan_languages", block, lambda: scan_languages(block, DE)),
        ("channel_language", block, lambda: channel_language(block, DE)),
        ("verbatim_loops", block, lambda: verbatim_loops(block)),
        ("low_entropy", block, lambda: low_entropy(block)),
        ("degenerate", block, lambda: degenerate(block)),
        ("special_tokens", block, lambda: special_tokens(block)),
        ("rewording_profile", block, lambda: rewording_profile(block)),
        ("repeated_share", block, lambda: repeated_share(block)),
        ("TailWatch, deltas of 16", block, lambda: watch(block)),
    ]
    out = sys.stdout.write
    out("| work | characters | ms | MB/s | times one zlib pass |\n|---|---|---|---|---|\n")
    for name, text, work in works:
        data = text.encode()
        base = seconds(lambda data=data: zlib.compress(data, 1), 1)  # type: ignore[misc]
        took = seconds(work)
        out(
            f"| {name} | {len(text):,} | {1000 * took:.1f} | {len(data) / took / 1e6:.0f} "
            f"| {took / base:.2f} |\n"
        )
    took = seconds(lambda: [scan_scripts(delta, DE) for _ in range(1000)])
    out(f"\nscan_scripts on a delta of {len(delta)} characters: {1000 * took:.2f} µs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
