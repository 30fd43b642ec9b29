"""A PostgreSQL server of its own for a test: real, on loopback, gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "S3same:open/d@r"
ENCODED = "S3same%3Aopen%2Fd%40r"


@dataclass(frozen=True)
class Server:
    """A running server; ``rig`` may log in with PASSWORD and owns the databases made here."""

    port: int
    programs: Path

    def url(self, database: str, login: str = f"rig:{ENCODED}") -> str:
        """The address of a database, as a user writes it."""
        return f"postgresql+psycopg://{login}@127.0.0.1:{self.port}/{database}"

    def sql(self, database: str, *statements: str) -> list[list[str]]:
        """The rows that psql answers, as the server's owner."""
        command = [self.programs / "psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "owner"]
        command += ["-qAtX", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d", database]
        wanted = [part for statement in statements for part in ("-c", statement)]
        told = subprocess.run(
            [*map(str, command), *wanted],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PGPASSWORD": PASSWORD},
        )
        return [line.split("\t") for line in told.stdout.splitlines()]

    def database(self, name: str) -> str:
        """A new database that ``rig`` owns; its address."""
        self.sql("postgres", f"CREATE DATABASE {name} OWNER rig")
        return self.url(name)


def programs() -> Path | None:
    """The folder of PostgreSQL's programs: on the PATH, or where Debian keeps them."""
    there = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    return Path(there).resolve().parent if there else found[0].parent if found else None


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server for as long as the context lasts; under root it is that of ``postgres``."""
    with tempfile.TemporaryDirectory(prefix="evalstab-pg-") as name, socket.socket() as probe:
        place = Path(name)
        root = os.getuid() == 0
        if root:
            shutil.chown(place, "postgres", "postgres")
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        secret = place / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)

        def run(program: str, *arguments: str) -> None:
            subprocess.run(
                [str(folder / program), "-D", str(place / "data"), *arguments],
                check=True,
                stdout=subprocess.DEVNULL,
                cwd=place,
                user="postgres" if root else None,
                extra_groups=[] if root else None,
            )

        made = (
            "-U",
            "owner",
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
        )
        run("initdb", *made)
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {place} -c fsync=off"
        run("pg_ctl", "-w", "-l", str(place / "log"), "-o", options, "start")
        try:
            server = Server(port, folder)
            server.sql("postgres", f"CREATE ROLE rig LOGIN PASSWORD '{PASSWORD}'")
            yield server
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
