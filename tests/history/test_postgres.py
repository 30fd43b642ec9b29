"""History in a team's PostgreSQL: a real server, the answers of SQLite, no password anywhere."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalstab.errors import ConfigError, FolderError
from evalstab.history.rows import Row
from evalstab.history.store import open_store, rows_of
from evalstab.report.standing import standing_table
from evalstab.workflow.trends import Chosen, history
from tests.cli.program import evalstab
from tests.history.postgres import ENCODED, PASSWORD, Server, programs, serving
from tests.history.test_history import night, scored
from tests.nightly.night_making import begin, free_port, write_config

__all__ = ["scored"]
ENTRY = '{ task = "three-notes", endpoint = "sim:steady", repeats = 3 }'
DOCS = Path(__file__).parents[2] / "docs" / "nightly" / "history.md"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server; the tests skip where it, or its driver, is not installed."""
    folder = programs()
    if folder is None:
        _without("apt-get install postgresql")
    try:
        import psycopg  # noqa: F401, PLC0415
    except ImportError:
        _without("pip install 'evalstab[postgres]'")
    assert folder is not None
    with serving(folder) as started:
        yield started


def _without(mend: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"CI must have it: {mend}, see .ci/run")
    pytest.skip(f"no PostgreSQL here: {mend}")


def _synced(reports: Path, url: str | None = None) -> list[Row]:
    with open_store(reports, url) as store:
        return store.sync()


@pytest.mark.system("initdb")
def test_two_nights_at_once_share_it_and_it_answers_as_sqlite_does(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.database("team")
    shared = {"EVALSTAB_HISTORY": url}
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        write_config(folder, (ENTRY,))
    nights = [begin(folder, "nightly", "--quiet", env=shared) for folder in folders]
    assert [running.wait(timeout=240) for running in nights] == [0, 0]
    series = next(folders[0].glob("reports/2*/series.json")).parent.relative_to(folders[0])
    told = ""
    for command in (
        ("baseline", "set", series, "--name", "good"),
        ("prune", "--keep", "0", "--json"),
        ("history", "--json"),
    ):
        there = evalstab(*command, cwd=folders[0], env=shared)
        assert there.returncode == 0, there.stderr
        told += there.stdout + there.stderr
    assert there.stdout == evalstab("history", "--json", cwd=folders[0]).stdout
    known = server.sql("team", "SELECT origin, count(*) FROM evalstab_series_v1 GROUP BY origin")
    assert [count for _, count in known] == ["1", "1"]
    for folder in folders:
        answers = []
        for value in (url, f"sqlite:///{folder / 'own.db'}"):
            monkeypatch.setenv("EVALSTAB_HISTORY", value)
            chosen = Chosen(reports=folder / "reports")
            for rebuild in (False, True):
                found = history(chosen, rebuild=rebuild)
                answers.append((found, standing_table(found["tracks"])))
        assert answers[0][0]["tracks"]
        assert all(answer == answers[0] for answer in answers)
    for secret in (PASSWORD, ENCODED):
        assert secret not in told
        for path in (p for p in tmp_path.rglob("*") if p.is_file()):
            assert secret.encode() not in path.read_bytes(), path


@pytest.mark.system("initdb")
def test_many_bring_the_same_series_in_at_once(
    server: Server, scored: Path, tmp_path: Path
) -> None:
    for rig in ("one", "two"):
        for day in range(1, 8):
            night(scored, tmp_path / rig, day)
    for url in (server.database("many"), f"sqlite:///{tmp_path / 'many.db'}"):

        def rebuilt(rig: str, url: str = url) -> list[Row]:
            with open_store(tmp_path / rig, url) as store:
                store.sync()
                return store.rebuild()

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(rebuilt, ["one", "two"] * 4))
        for number, rig in enumerate(["one", "two"] * 4):
            assert found[number] == _synced(tmp_path / rig, url)
            assert [row.id for row in found[number]] == [f"night-{day}" for day in range(1, 8)]


@pytest.mark.system("initdb")
def test_rows_are_equal_whatever_servers_call_themselves(
    server: Server, scored: Path, tmp_path: Path
) -> None:
    hostile = "a\0b'; DROP TABLE evalstab_series_v1; --\u202e漢字\U0001f600"
    night(scored, tmp_path, 1, engine=hostile, model="%s %(x)s :y", context=[5 * 10**9])
    night(scored, tmp_path, 2, context=[2**70], concurrency=4)
    night(scored, tmp_path, 3, tau=0.1 + 0.2)
    rows = _synced(tmp_path)
    assert _synced(tmp_path, server.database("odd")) == rows
    assert [row.id for row in rows] == ["night-1", "night-3"]
    assert rows[0].engine == hostile.replace("\0", "\ufffd")
    assert rows[0].context == 5 * 10**9


@pytest.mark.system("initdb")
def test_what_is_wrong_is_said_with_its_mend_and_without_the_password(
    server: Server, tmp_path: Path
) -> None:
    secret = "Wr0ng-Sesame"
    server.sql("postgres", "CREATE DATABASE closed", "CREATE DATABASE shut OWNER rig")
    cases = {
        server.url("postgres", f"rig:{secret}"): "set the right user and password",
        f"{server.url('postgres', 'rig')}?password={secret}": "set the right user and password",
        server.url("nowhere"): "createdb",
        server.url("closed"): 'GRANT USAGE, CREATE ON SCHEMA public TO "rig"',
        f"postgresql://rig:{secret}@127.0.0.1:{free_port()}/x": "Start the server",
        f"postgres://rig:{secret}@nowhere.invalid/x": "correct the address",
        f"postgresql://rig:{secret}@127.0.0.1:port/x": "its port is no number",
        f"postgresql://rig:p@{secret}@127.0.0.1/x": "as %40",
        f"postgresql+none://rig:{secret}@127.0.0.1/x": "postgresql+psycopg://USER@HOST/NAME",
        f"rig:{secret}": "postgresql+psycopg://USER@HOST/NAME",
    }
    for url, mend in cases.items():
        with pytest.raises((ConfigError, FolderError), match=f"(?i){re.escape(mend)}") as told:
            _synced(tmp_path, url)
        for hidden in (secret, PASSWORD, ENCODED):
            assert hidden not in str(told.value)
            assert hidden not in repr(told.value)


def test_a_night_without_its_store_loses_nothing(tmp_path: Path) -> None:
    write_config(tmp_path, (ENTRY,))
    url = f"postgresql://rig:{ENCODED}@127.0.0.1:{free_port()}/x"
    (tmp_path / "stub").mkdir()
    missing = "raise ModuleNotFoundError(\"No module named 'psycopg'\", name='psycopg')\n"
    (tmp_path / "stub" / "psycopg.py").write_text(missing)
    env = {"EVALSTAB_HISTORY": url, "PYTHONPATH": str(tmp_path / "stub")}
    done = evalstab("nightly", "--json", "--quiet", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "No module named 'psycopg'" in line
    assert "pip install 'evalstab[postgres]'" in line
    assert line.endswith("the series folders are read")
    (result,) = json.loads(done.stdout)["items"][0]["results"]
    assert result["judged"] == 3
    assert "evalstab_kendall_tau" in (tmp_path / "reports/nightly/evalstab.prom").read_text()
    asked = evalstab("history", cwd=tmp_path, env=env)
    assert asked.returncode == 3
    assert "pip install 'evalstab[postgres]'" in asked.stderr
    assert len(json.loads(evalstab("history", "--json", cwd=tmp_path).stdout)["tracks"]) == 1
    for secret in (PASSWORD, ENCODED):
        assert secret not in done.stderr + asked.stderr


def test_rows_come_from_the_folders_where_no_server_answers(scored: Path, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    night(scored, tmp_path, 1)
    told: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVALSTAB_HISTORY", f"postgresql://rig:{ENCODED}@127.0.0.1:{free_port()}/x")
        assert [row.id for row in rows_of(tmp_path, told.append)] == ["night-1"]
    (line,) = told
    assert "Connection refused" in line
    assert "start the server or correct the address" in line.lower()
    assert ENCODED not in line


@pytest.mark.system("initdb")
def test_the_query_of_the_docs_answers(server: Server, scored: Path, tmp_path: Path) -> None:
    query = re.findall(r"```sql\n(.*?)```", DOCS.read_text(), re.DOTALL)
    url = server.database("asked")
    night(scored, tmp_path, 1, launch="aaa")
    night(scored, tmp_path, 2, launch="bbb")
    _synced(tmp_path, url)
    (rows,) = [server.sql("asked", one) for one in query]
    assert [row[0][:10] for row in rows] == ["2026-11-01", "2026-11-02"]
