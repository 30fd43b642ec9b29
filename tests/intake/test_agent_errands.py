"""One errand of an agent's program: how it is called, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest

from evalstab.errors import UsageError
from evalstab.intake.agent import LOG_LIMIT, LOG_TAIL, AgentEnd, Errand, carry_out, template

DAEMON = """
import os, sys, time
if os.fork():
    os.wait()
    print("began", flush=True)
    time.sleep(float(sys.argv[1]))
    sys.exit(0)
os.setsid()
if os.fork():
    os._exit(0)
with open("daemon.pid", "w") as file:
    file.write(str(os.getpid()))
time.sleep(300)
"""
GRANDCHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], process_group=0)
open("child.pid", "w").write(str(child.pid))
time.sleep(300)
"""


def errand(folder: Path, prompt: str = "Rank.", seconds: float = 60.0) -> Errand:
    workspace = folder / "a desk" / "workspace"
    workspace.mkdir(parents=True)
    return Errand(
        prompt=prompt,
        base_url="http://127.0.0.1:9/s/001/v1",
        model="a model",
        workspace=workspace,
        seconds=seconds,
    )


def carried_out(folder: Path, words: tuple[str, ...], one: Errand) -> AgentEnd:
    return asyncio.run(carry_out(words, one, folder / "agent.log"))


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *arguments)


def gone(file: Path) -> bool:
    """Whether the process whose number stands in a file has ended."""
    place = Path("/proc") / file.read_text()
    for _ in range(100):
        try:
            if b") Z " in (place / "stat").read_bytes():
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("seconds", ["0.3", "300"])
def test_a_daemon_that_left_its_session_is_ended(seconds: str, tmp_path: Path) -> None:
    one = errand(tmp_path, seconds=2.0)
    end = carried_out(tmp_path, python(DAEMON, seconds), one)
    assert end.timed_out is (seconds == "300")
    assert gone(one.workspace / "daemon.pid")
    assert end.last_words == "began"


def test_children_in_groups_of_their_own_are_ended(tmp_path: Path) -> None:
    one = errand(tmp_path, seconds=1.0)
    assert carried_out(tmp_path, python(GRANDCHILD), one).timed_out
    assert gone(one.workspace / "child.pid")


def test_it_can_be_stopped_and_reads_nothing_from_our_terminal(tmp_path: Path) -> None:
    async def go() -> AgentEnd:
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.5, stop.set)
        one = errand(tmp_path)
        code = "import sys, time; print(repr(sys.stdin.read()), flush=True); time.sleep(300)"
        one = Errand(
            prompt="", base_url="", model="", workspace=one.workspace, seconds=60, stop=stop
        )
        return await carry_out(python(code), one, tmp_path / "agent.log")

    end = asyncio.run(go())
    assert (end.stopped, end.timed_out, end.last_words) == (True, False, "''")


def test_endless_output_is_read_and_its_ends_are_kept(tmp_path: Path) -> None:
    code = "for n in range(40): print(str(n % 10) * (1 << 20))\nprint('the end')"
    end = carried_out(tmp_path, python(code), errand(tmp_path))
    assert (end.code, end.last_words) == (0, "the end")
    log = (tmp_path / "agent.log").read_bytes()
    assert len(log) < LOG_LIMIT + LOG_TAIL + 100
    assert log.startswith(b"0000")
    assert b"bytes left out" in log
    assert log.endswith(b"the end\n")


def test_places_keep_what_stands_in_them(tmp_path: Path) -> None:
    prompt = "Rank \"a\" and 'b'; $HOME `x`\n{model} {nothing} größer"
    one = errand(tmp_path, prompt)
    show = "import sys, json; print(json.dumps(sys.argv[1:]))"
    words = template(
        f"{sys.executable} -c '{show}' '--set={{model}}: {{prompt}}' {{workspace}} '{{'"
    )
    end = carried_out(tmp_path, words, one)
    shown = json.loads((tmp_path / "agent.log").read_text())
    assert shown == [f"--set=a model: {prompt}", str(one.workspace), "{"]
    assert end.code == 0
    words = template(f"{sys.executable} -c 'print(open(\"{{prompt_file}}\").read())'")
    other = tmp_path / "other"
    other.mkdir()
    carried_out(other, words, errand(other, prompt))
    assert (other / "agent.log").read_text() == prompt + "\n"


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-program cannot be started: No such file"):
        carried_out(tmp_path, ("no-such-program",), errand(tmp_path / "a"))
    with pytest.raises(UsageError, match="prompt_file"):
        carried_out(tmp_path, python("pass", "{prompt}"), errand(tmp_path / "b", "x" * 200_000))
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o700)
    with pytest.raises(UsageError, match="cannot be started"):
        carried_out(tmp_path, (str(script),), errand(tmp_path / "c"))
    with pytest.raises(UsageError, match=r"there is no \{promt\}"):
        template("x {promt}")
