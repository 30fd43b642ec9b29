"""Runs evalstab in children of this process; each kills itself in a chosen phase of its work.

Everything is loaded before the first child begins, so that a kill costs what is done until then
and no more. A line on stdin is a job: ``{"folder": …, "log": …, "phase": …, "sighting": …,
"arguments": […]}``, with ``limit`` in bytes where files may grow to no more; a line on stdout
answers how the child ended, as ``Popen.returncode`` would.

In a child a thread looks at the stacks of all others several thousand times a second. What stands
innermost says which phase the program is in. When the phase was seen so many times, its name goes
into the log and the child dies by SIGKILL, without any of its handlers. With phase ``-`` nothing is
killed: the log gets how often each phase was seen; with ``none`` nobody looks.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import runpy
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

COUNT_ONLY = "-"
NOBODY = "none"
PHASES = {
    ("workflow/run.py", "run"): "before series.json",
    ("workflow/run.py", "_created"): "writing series.json",
    ("series/repeat.py", "_trial"): "between trials",
    ("series/converse.py", "converse"): "between trials",
    ("trial/resume.py", "go_on"): "between trials",
    ("workflow/run.py", "_finish"): "during a stream",
    ("trial/loop.py", "run_trial"): "during a stream",
    ("trial/calls.py", "execute"): "during a tool run",
    ("trial/record.py", "append"): "writing a step",
    ("series/grouped.py", "_join"): "joining groups",
    ("measures/score.py", "write_scores"): "scoring",
    ("report/write.py", "write_report"): "writing the report",
    ("workflow/run.py", "resume"): "taking up a series",
    ("workflow/ladder.py", "_ahead"): "looking ahead",
    ("workflow/run.py", "_at_target"): "making a size",
    ("workflow/ladder.py", "_walk"): "between rungs",
    ("workflow/rungs.py", "score_ladder"): "joining the ladder",
    ("nightly/conduct.py", "_begun"): "writing night.json",
    ("nightly/conduct.py", "_noted"): "writing night.json",
    ("nightly/conduct.py", "_planned"): "planning the night",
    ("history/store.py", "sync"): "history",
    ("history/store.py", "open_store"): "history",
    ("nightly/outputs.py", "write"): "pages of the night",
    ("workflow/disk.py", "compress_finished"): "compressing",
    ("workflow/disk.py", "_compressed"): "compressing",
    ("workflow/disk.py", "_pruned"): "pruning",
}
"""What is being done while a function is the innermost of these on some stack."""

LOOK_EVERY = 0.0002
MOST_BYTES = 1 << 20
PATIENCE = 300.0
"""Seconds after which a command hangs: it is killed then, and whoever asked for it is told so."""

SWITCH = 0.0001
"""Seconds after which a thread gives way: the one that looks must not wait for the others."""


def phase_now(stacks: int) -> str | None:
    """The phase by the stacks of all threads but this one; None where none is known.

    ``stacks`` is a file to write them to: ``sys._current_frames`` would be simpler, but walking the
    frames of a thread that goes on meanwhile can end in a segmentation fault. What worker threads
    do (tools, records) goes before what the main thread does meanwhile.
    """
    os.lseek(stacks, 0, os.SEEK_SET)
    os.ftruncate(stacks, 0)
    faulthandler.dump_traceback(stacks, all_threads=True)
    os.lseek(stacks, 0, os.SEEK_SET)
    main = f"0x{threading.main_thread().ident:016x}"
    found: dict[bool, str] = {}
    for stack in os.read(stacks, MOST_BYTES).decode().split("hread ")[1:]:
        head, *frames = stack.split("\n  File ")
        if "most recent" in head and (seen := _innermost(frames)) is not None:
            found.setdefault(head.startswith(main), seen)
    return found.get(False, found.get(True))


def _innermost(frames: list[str]) -> str | None:
    for frame in frames:
        path, _, function = frame.partition(", line ")
        place = "/".join(path.strip('"').rsplit("/", 2)[-2:])
        known = PHASES.get((place, function.partition(" in ")[2].strip()))
        if known is not None:
            return known
    return None


def _watch(log: int, phase: str, sighting: int, seen: Counter[str]) -> None:
    stacks = os.memfd_create("stacks")
    while True:
        time.sleep(LOOK_EVERY)
        now = phase_now(stacks)
        if now is None:
            continue
        seen[now] += 1
        if now == phase and seen[now] >= sighting:
            os.write(log, now.encode())
            os.kill(os.getpid(), signal.SIGKILL)


def _become_evalstab(job: dict[str, Any]) -> None:
    """In a child: begin to look, run the command, end as it ends."""
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    said = os.open(f"{job['log']}.said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(said, stream)
    faulthandler.enable()
    os.chdir(job["folder"])
    if job.get("limit"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["limit"], job["limit"]))
    seen: Counter[str] = Counter()
    if job["phase"] != NOBODY:
        sys.setswitchinterval(SWITCH)
        wanted = (log, job["phase"], job["sighting"], seen)
        threading.Thread(target=_watch, args=wanted, daemon=True).start()
    sys.argv = ["evalstab", *job["arguments"]]
    code = 0
    try:
        runpy.run_module("evalstab", run_name="__main__")
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if job["phase"] == COUNT_ONLY:
        os.write(log, json.dumps(seen).encode())
    sys.stdout.flush()
    os._exit(code)


def _load(warm: Path) -> None:
    """Import and warm up all that a command needs, by scoring a series and drawing its page."""
    import evalstab.cli.people  # noqa: PLC0415
    import evalstab.nightly.conduct  # noqa: PLC0415
    import evalstab.workflow.start  # noqa: F401, PLC0415
    from evalstab.measures.score import score_series  # noqa: PLC0415
    from evalstab.report.write import page  # noqa: PLC0415
    from evalstab.series.folder import open_series  # noqa: PLC0415

    folder = open_series(warm)
    page(folder, score_series(folder))


def main() -> None:
    """Take jobs until stdin ends."""
    _load(Path(sys.argv[1]))
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            _become_evalstab(job)
        patience = threading.Timer(PATIENCE, os.kill, (child, signal.SIGKILL))
        patience.start()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        patience.cancel()
        patience.join()
        print(code, flush=True)


if __name__ == "__main__":
    main()
