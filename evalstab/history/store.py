"""The store of all series: derived from their folders, rebuilt from them whenever asked.

SQLite beside the reports, or whatever address of SQLAlchemy ``EVALSTAB_HISTORY`` names (a team's
PostgreSQL needs ``pip install evalstab[postgres]``). Nothing in it is the only copy of anything.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from evalstab.errors import ConfigError, FolderError
from evalstab.history.rows import Row, row_of, series_below, stamp_of
from evalstab.redact import remember
from evalstab.series.files import make_folder

SCHEMA_VERSION = 1
FILE = "history.sqlite"
VARIABLE = "EVALSTAB_HISTORY"

_KINDS: dict[str, Any] = {
    "str": sa.Text,
    "str | None": sa.Text,
    "int": sa.Integer,
    "int | None": sa.Integer,
    "bool": sa.Boolean,
    "float | None": sa.Float,
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
        """Bring the store in line with the folders; returns the lines of this reports folder."""
        present = {str(root.relative_to(self.reports)): root for root in series_below(self.reports)}
        with _told(self._engine), self._engine.begin() as connection:
            known = {row.folder: row for row in self._rows(connection)}
            gone = [row.id for place, row in known.items() if place not in present]
            fresh = [
                row
                for place, root in present.items()
                if place not in known or known[place].stamp != stamp_of(root)
                if (row := row_of(root, self.reports)) is not None
            ]
            for ids in (gone, [row.id for row in fresh]):
                self._remove(connection, ids)
            unique = {row.id: row for row in fresh}
            if unique:
                values = [{"origin": self._origin} | _plain(row) for row in unique.values()]
                connection.execute(sa.insert(_SERIES), values)
            return sorted(self._rows(connection), key=lambda row: (row.created, row.folder))

    def rebuild(self) -> list[Row]:
        """Forget all lines of this reports folder and read every series again."""
        with _told(self._engine), self._engine.begin() as connection:
            connection.execute(sa.delete(_SERIES).where(_SERIES.c.origin == self._origin))
        return self.sync()

    def close(self) -> None:
        """Let go of the connections."""
        self._engine.dispose()

    def _rows(self, connection: sa.Connection) -> list[Row]:
        chosen = sa.select(_SERIES).where(_SERIES.c.origin == self._origin)
        return [
            Row(**{name: value for name, value in found._mapping.items() if name != "origin"})
            for found in connection.execute(chosen)
        ]

    def _remove(self, connection: sa.Connection, ids: list[str]) -> None:
        for one in ids:
            own = (_SERIES.c.origin == self._origin) & (_SERIES.c.id == one)
            connection.execute(sa.delete(_SERIES).where(own))


@contextmanager
def open_store(reports: Path, url: str | None = None) -> Iterator[Store]:
    """The store of a reports folder. ConfigError for an address that cannot be used."""
    address = url or os.environ.get(VARIABLE) or None
    if address is None:
        make_folder(reports)
        place = reports / FILE
        os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))
        address = f"sqlite:///{place.resolve()}"
    try:
        made = sa.make_url(address)
        remember(str(made.password) if made.password else None)
        engine = sa.create_engine(made)
    except (SQLAlchemyError, ImportError) as error:
        raise ConfigError(
            f"{VARIABLE}: {error}: write for example sqlite:////srv/history.sqlite, or "
            "postgresql+psycopg://USER@HOST/NAME with pip install evalstab[postgres]"
        ) from error
    try:
        with _told(engine):
            _METADATA.create_all(engine)
        yield Store(reports, engine)
    finally:
        engine.dispose()


def _plain(row: Row) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


@contextmanager
def _told(engine: sa.Engine) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error)[:300]
        shown = engine.url.render_as_string(hide_password=True)
        raise FolderError(
            f"the history at {shown} cannot be used: {reason}. A file of SQLite can be removed: "
            "it is made again from the series folders"
        ) from error
