"""Where the history is kept: an address of SQLAlchemy, made ready, never shown with a secret."""

from __future__ import annotations

import os
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from evalstab.errors import ConfigError, FolderError
from evalstab.redact import is_secret_name, remember

VARIABLE = "EVALSTAB_HISTORY"
PSYCOPG = "postgresql+psycopg"
CONNECT = 5
"""Seconds to wait for a PostgreSQL server: a night goes on without one."""

ANSWER = 30
"""Seconds to wait for an answer of it, such as behind another's lock."""

_EXAMPLE = (
    "write for example sqlite:////srv/history.sqlite, or postgresql+psycopg://USER@HOST/NAME with "
    "pip install 'evalstab[postgres]'"
)
_HARMLESS = ("host", "port", "user", "sslmode")
_CLASHES = frozenset({"40001", "40P01", "42P07", "23505"})
"""What PostgreSQL calls it where two did the same at once: not serialisable, deadlock, table there,
row there."""

_KEPT = "Nothing is lost, the series folders hold everything: evalstab history brings it up to date"
_MENDS = (
    (
        ("password authentication failed", "no password supplied", "fe_sendauth"),
        f"set the right user and password in {VARIABLE}, or a password in PGPASSWORD or ~/.pgpass",
    ),
    (("permission denied for schema",), "its owner says: GRANT USAGE, CREATE ON SCHEMA public TO "),
    (("permission denied",), "its owner grants it with GRANT ALL ON evalstab_series_v1 TO "),
    (("does not exist",), "create it, such as with createdb, or correct the address"),
    (
        ("statement timeout", "lock timeout"),
        "another program holds a lock on the table: look into pg_stat_activity",
    ),
    (
        ("connection failed", "connection refused", "failed to resolve", "timeout"),
        "start the server or correct the address",
    ),
)


def engine_at(address: str | sa.URL) -> sa.Engine:
    """The engine of an address; ``postgres://`` and ``postgresql://`` mean psycopg.

    The password, wherever it stands in the address, is a secret from here on. ConfigError, without
    the address in it, where it is none or its driver is not installed.
    """
    try:
        url = sa.make_url(address)
        remember(url.password and str(url.password), os.environ.get("PGPASSWORD"))
        remember(*(str(value) for name, value in url.query.items() if is_secret_name(name)))
        if url.drivername in ("postgres", "postgresql"):
            url = url.set(drivername=PSYCOPG)
        server = url.get_backend_name() != "sqlite"
        if server and "@" in f"{url.host or ''}{url.database or ''}":
            raise ConfigError(
                f"{VARIABLE}: write @ in a user name or password as %40, / as %2F, : as %3A"
            )
        return sa.create_engine(url, connect_args=_arguments(url), pool_pre_ping=server)
    except (SQLAlchemyError, ImportError) as error:
        raise ConfigError(f"{VARIABLE}: {error}: {_EXAMPLE}") from error
    except ValueError:
        raise ConfigError(f"{VARIABLE}: its port is no number: {_EXAMPLE}") from None


def shown(url: sa.URL) -> str:
    """The address for people: no password, and of its options only those that are no secret."""
    options = {name: value for name, value in url.query.items() if name in _HARMLESS}
    return url.set(query=options).render_as_string(hide_password=True)


def unusable(url: sa.URL, error: SQLAlchemyError) -> FolderError:
    """The error a user can act on, for what a database said."""
    reason = " ".join(str(getattr(error, "orig", None) or error).split())[:300].rstrip(".?")
    return FolderError(
        f"the history at {shown(url)} cannot be used: {reason}. {_mend(url, reason)}"
    )


def is_clash(error: SQLAlchemyError) -> bool:
    """Whether another process did the same at the same moment, so that a second try helps."""
    origin: Any = getattr(error, "orig", None)
    if isinstance(error, IntegrityError) or getattr(origin, "sqlstate", None) in _CLASHES:
        return True
    told = str(origin).lower()
    return "database is locked" in told or "already exists" in told


def _arguments(url: sa.URL) -> dict[str, Any]:
    if url.drivername != PSYCOPG:
        return {}
    wanted = {
        "connect_timeout": CONNECT,
        "tcp_user_timeout": ANSWER * 1000,
        "application_name": "evalstab",
        "client_encoding": "utf8",
    }
    given = {name: value for name, value in wanted.items() if name not in url.query}
    # A pooler between us and the server may hand each transaction to another connection.
    return given | {"prepare_threshold": None}


def _mend(url: sa.URL, reason: str) -> str:
    if url.get_backend_name() == "sqlite":
        return _mend_of_file(reason)
    told = reason.lower()
    found = next((mend for words, mend in _MENDS if any(word in told for word in words)), None)
    if found is None:
        return _KEPT
    user = f'"{url.username or url.query.get("user") or "USER"}"' if found.endswith(" TO ") else ""
    return f"{found[0].upper()}{found[1:]}{user}. {_KEPT}"


def _mend_of_file(reason: str) -> str:
    """The mend of a file of SQLite."""
    if "not a database" in reason or "malformed" in reason:
        return "The file can be removed: it is made again from the series folders"
    if "locked" in reason:
        return f"Another program holds the file: try again later. {_KEPT}"
    if "full" in reason:
        return f"Free some space. {_KEPT}"
    return f"Make its folder writable, or name another place in {VARIABLE}. {_KEPT}"
