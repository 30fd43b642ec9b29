"""The store of all series: derived from their folders, rebuilt from them whenever asked.

SQLite beside the reports, or whatever address of SQLAlchemy ``EVALSTAB_HISTORY`` names (a team's
PostgreSQL needs ``pip install 'evalstab[postgres]'``). Nothing in it is the only copy of anything.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from evalstab.errors import ConfigError, FolderError
from evalstab.history.address import ANSWER, VARIABLE, engine_at, is_clash, unusable
from evalstab.history.rows import Row, row_of, series_below, stamp_of
from evalstab.series.files import disk_error, make_folder

SCHEMA_VERSION = 1
FILE = "history.sqlite"
TRIES = 8
"""Times a transaction is tried where other processes bring the same series into the store."""

_Answer = TypeVar("_Answer")
_KINDS: dict[str, Any] = {
    "str": sa.Text,
    "str | None": sa.Text,
    "int": sa.BigInteger,
    "int | None": sa.BigInteger,
    "bool": sa.Boolean,
    "float | None": sa.Double,
}
_METADATA = sa.MetaData()
_SERIES = sa.Table(
    f"evalstab_series_v{SCHEMA_VERSION}",
    _METADATA,
    sa.Column("origin", sa.Text, primary_key=True),
    *(
        sa.Column(
            field.name,
            _KINDS[str(field.type)],
            primary_key=field.name == "id",
            nullable="None" in str(field.type),
        )
        for field in fields(Row)
    ),
)
"""``origin`` is the machine and folder that a series lies in: many may share one store."""


class Store:
    """Lines of all series of one reports folder (and, in a shared store, of others)."""

    def __init__(self, reports: Path, engine: sa.Engine) -> None:
        self.reports = reports
        self._engine = engine
        self._origin = f"{socket.gethostname()}:{reports.resolve()}"

    def sync(self) -> list[Row]:
        """Bring the store in line with the folders; returns the lines of this reports folder.

        Of copies of one series the first by name is taken. Others may do the same at once.
        """
        return _settled(self._engine, self._synced)

    def rebuild(self) -> list[Row]:
        """Forget all lines of this reports folder and read every series again."""

        def again(connection: sa.Connection) -> list[Row]:
            connection.execute(sa.delete(_SERIES).where(_SERIES.c.origin == self._origin))
            return self._synced(connection)

        return _settled(self._engine, again)

    def _synced(self, connection: sa.Connection) -> list[Row]:
        there = {row.id: row for row in self._rows(connection)}
        wanted = _lines(self.reports, {row.folder: row for row in there.values()})
        stale = [one for one, row in there.items() if wanted.get(one) != row]
        fresh = [row for one, row in wanted.items() if there.get(one) != row]
        for one in stale:
            own = (_SERIES.c.origin == self._origin) & (_SERIES.c.id == one)
            connection.execute(sa.delete(_SERIES).where(own))
        if fresh:
            values = [{"origin": self._origin} | _plain(row) for row in fresh]
            connection.execute(sa.insert(_SERIES), values)
        return _ordered(wanted.values())

    def _rows(self, connection: sa.Connection) -> list[Row]:
        chosen = sa.select(_SERIES).where(_SERIES.c.origin == self._origin)
        return [
            Row(**{name: value for name, value in found._mapping.items() if name != "origin"})
            for found in connection.execute(chosen)
        ]


@contextmanager
def open_store(reports: Path, url: str | None = None) -> Iterator[Store]:
    """The store of a reports folder.

    ConfigError for an address that is none, FolderError for one that cannot be used now.
    """
    engine = engine_at(url or os.environ.get(VARIABLE) or _beside(reports))
    try:
        _settled(engine, _METADATA.create_all)
        yield Store(reports, engine)
    finally:
        engine.dispose()


def rows_of(reports: Path, complain: Callable[[str], None]) -> list[Row]:
    """The lines of a reports folder, whatever has become of the store.

    Where it cannot be used that is said, and the series folders are read instead.
    """
    try:
        with open_store(reports) as store:
            return store.sync()
    except (ConfigError, FolderError) as error:
        complain(f"{error}. Until then the series folders are read")
        return _ordered(_lines(reports, {}).values())


def _beside(reports: Path) -> sa.URL:
    """The address of the SQLite file of a reports folder, made with the rights of its owner."""
    make_folder(reports)
    place = reports / FILE
    try:
        os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise disk_error(place, error) from error
    return sa.URL.create("sqlite", database=str(place.resolve()))


def _lines(reports: Path, known: dict[str, Row]) -> dict[str, Row]:
    """A line for each series by its id; what is known of a folder is kept until it can be read."""
    found: dict[str, Row] = {}
    for root in series_below(reports):
        row = known.get(str(root.relative_to(reports)))
        try:
            same = row is not None and row.stamp == stamp_of(root)
        except OSError:  # taken away in this moment
            continue
        row = row if same else row_of(root, reports) or row
        if row is not None:
            found.setdefault(row.id, row)
    return found


def _ordered(rows: Any) -> list[Row]:
    return sorted(rows, key=lambda row: (row.created, row.folder))


def _plain(row: Row) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _settled(engine: sa.Engine, work: Callable[[sa.Connection], _Answer]) -> _Answer:
    """Do it in one transaction; again where another process did the same at the same moment."""
    for attempt in range(TRIES):
        try:
            with engine.begin() as connection:
                if engine.dialect.name == "postgresql":
                    connection.execute(sa.text(f"SET LOCAL statement_timeout = '{ANSWER}s'"))
                return work(connection)
        except SQLAlchemyError as error:
            if attempt == TRIES - 1 or not is_clash(error):
                raise unusable(engine.url, error) from error
            time.sleep(0.02 * 2**attempt)
    raise AssertionError("the last try answers or raises")
