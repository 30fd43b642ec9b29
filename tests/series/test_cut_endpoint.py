"""An endpoint that dies, comes back, or comes back as another one, in mid-series and mid-night.

One clear line, exit code 4, and as soon as it is what it was, the scores of an undisturbed series.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from tests.endpoint.test_wrong_protocol import TLS_ALERT
from tests.nightly.night_making import events, free_port, series_in, serving, write_config
from tests.series.kills import PACED, Victims, comparable, no_step_twice, rig, taken_out

RUN = (
    "run",
    "three-notes",
    "--endpoint",
    "rig",
    "--repeats",
    "3",
    "--seed",
    "3",
    "--out",
    "series",
)
SERIES = (*RUN, "--quiet")
NIGHT = ("nightly", "--quiet")
ENTRY = '{ task = "three-notes", endpoint = "rig", repeats = 3 }'
FAULTS = ("server.dead", "server.bad_request", "stream.dropped")
"""What stays on record of a cut: a fault is a fault, though the step is asked again."""

Afterwards = Callable[[], AbstractContextManager[Any]]


class Rig:
    """A server on a port of its own that can be killed and started again, in many forms."""

    def __init__(self, place: Path, some: Victims) -> None:
        self.place, self.port, self._some = place, free_port(), some
        persona = place / "paced.toml"
        persona.write_text(PACED)
        self.same = ("--persona", str(persona), "--time-scale", "400")

    def up(self, *options: str) -> AbstractContextManager[Any]:
        """The server as it was, or with other options."""
        return serving(self.port, *(options or self.same))

    def folder(self, name: str, *, patient: bool = False) -> Path:
        """A folder with a configuration that names this server."""
        folder = self.place / name
        folder.mkdir()
        config = rig(f"http://127.0.0.1:{self.port}")
        write_config(folder, [ENTRY], config.replace("retries = 0\n", "") if patient else config)
        return folder

    def cut(self, folder: Path, command: tuple[str, ...], after: Afterwards) -> tuple[int, str]:
        """Run a command; kill the server when some steps are on disk; what is there afterwards."""
        ended: list[tuple[int, str]] = []
        work = threading.Thread(target=lambda: ended.append(self._some.plain(folder, *command)))
        with self.up() as server:
            work.start()
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and _lines(folder) < 7:
                time.sleep(0.001)
            server.kill()
            server.wait()
        with after():
            work.join()
        return ended[0]


def _lines(folder: Path) -> int:
    return sum(len(events(place)) for place in (folder / "series", *folder.glob("reports/*")))


def _scores(folder: Path) -> Any:
    place = folder / "series"
    return comparable(place if place.exists() else series_in(folder)[0])


def _wrong_protocol(port: int) -> AbstractContextManager[None]:
    """A server that speaks TLS on this port: it answers what it cannot read with an alert."""
    return answering_all(port, TLS_ALERT)


@contextmanager
def answering_all(port: int, answer: bytes) -> Iterator[None]:
    """Answers the first bytes of everybody with these, and closes."""
    import socket  # noqa: PLC0415

    listener = socket.create_server(("127.0.0.1", port))
    done = threading.Event()

    def serve() -> None:
        while not done.is_set():
            with listener.accept()[0] as talk:
                if not done.is_set():
                    talk.recv(65536)
                    talk.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        done.set()
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join()
        listener.close()


def test_a_series_is_cut_from_its_endpoint(some: Victims, tmp_path: Path) -> None:
    site = Rig(tmp_path, some)
    whole, folder = site.folder("whole"), site.folder("cut")
    with site.up():
        assert some.plain(whole, *SERIES)[0] == 0
    code, said = site.cut(folder, SERIES, nullcontext)
    assert code == 4
    assert said.startswith("error: the endpoint can answer nothing any more (")
    assert said.endswith("mend it and run `evalstab resume series`\n")
    assert said.count("\n") == 1
    page = (folder / "series" / "report.md").read_text()
    assert "of 3 valid, no verdict" in page

    def refused(code: int, *words: str) -> None:
        got, told = some.plain(folder, "resume", "series", "--quiet")
        assert (got, told.count("\n")) == (code, 1), told
        assert all(word in told for word in words), told

    refused(4, "cannot be reached", "is the server up?")
    with site.up("--persona", "steady"):
        refused(4, "does not serve 'sim-paced'. Did you mean 'sim-steady'?")
    with site.up(*site.same, "--dialect", "sglang"):
        refused(3, "engine was 'vllm', is 'sglang'", "run `evalstab resume series`")
    with _wrong_protocol(site.port):
        refused(4, "cannot be reached", "write https:// for http://")
    with site.up():
        code, said = some.plain(folder, "resume", "series", "--quiet")
    assert (code, said) == (0, "")
    found = _scores(folder)
    assert taken_out(found, *FAULTS) > 0
    assert found == _scores(whole)


def test_a_series_waits_for_its_endpoint_and_takes_no_other(some: Victims, tmp_path: Path) -> None:
    site = Rig(tmp_path, some)
    folders = {
        name: site.folder(name, patient=True) for name in ("whole", "same", "model", "engine")
    }
    with site.up():
        assert some.plain(folders["whole"], *SERIES)[0] == 0
    assert site.cut(folders["same"], SERIES, site.up) == (0, "")
    code, said = site.cut(folders["model"], SERIES, lambda: site.up("--persona", "steady"))
    assert (code, said.count("\n")) == (4, 1)
    assert "sim-paced" in said
    other = (*site.same, "--dialect", "sglang")
    code, said = site.cut(folders["engine"], SERIES, lambda: site.up(*other))
    assert (code, said.count("\n")) == (4, 1)
    assert "engine was 'vllm', is 'sglang'" in said
    with site.up():
        for name in ("model", "engine"):
            assert some.plain(folders[name], "resume", "series", "--quiet") == (0, "")
    for name in ("same", "model", "engine"):
        found = _scores(folders[name])
        taken_out(found, *FAULTS)
        assert _judged(found) == _judged(_scores(folders["whole"])), name
        no_step_twice(folders[name] / "series")


def _judged(scores: Any) -> Any:
    """Scores without the count of attempts: one that the server spoilt is repeated."""
    trials = [one | {"attempt": 1} for one in scores["trials"]]
    series = {
        k: v for k, v in scores["series"].items() if k not in ("attempts", "invalid", "attrition")
    }
    return scores | {"trials": trials, "series": series}


def test_a_night_is_cut_from_its_endpoint(some: Victims, tmp_path: Path) -> None:
    site = Rig(tmp_path, some)
    whole, folder = site.folder("whole"), site.folder("cut")
    with site.up():
        assert some.plain(whole, *NIGHT)[0] == 0
    code, said = site.cut(folder, NIGHT, nullcontext)
    assert code == 4
    assert said.count("the endpoint can answer nothing any more") == 1

    def refused(code: int, *words: str) -> None:
        got, told = some.plain(folder, *NIGHT)
        assert got == code, told
        assert [line for line in told.splitlines() if all(word in line for word in words)], told
        page = (folder / "reports" / "nightly" / "summary.md").read_text()
        assert "of 3 valid, no verdict" in page

    refused(4, "rig: ", "cannot be reached")
    with site.up("--persona", "steady"):
        refused(4, "rig: ", "does not serve 'sim-paced'")
    with site.up(*site.same, "--dialect", "sglang"):
        refused(3, "rig: ", "engine was 'vllm', is 'sglang'")
    with _wrong_protocol(site.port):
        refused(4, "rig: ", "write https:// for http://")
    with site.up():
        assert some.plain(folder, *NIGHT) == (0, "")
    found = _scores(folder)
    assert taken_out(found, *FAULTS) > 0
    assert found == _scores(whole)
