"""What a report says of sessions that another program recorded."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.report import labels
from evalstab.series.folder import SeriesFile

SHOWN = 8


def imported(file: SeriesFile) -> Json | None:
    """How a series was imported, None where its trials are our own."""
    found = file.endpoint.get("imported")
    return found if isinstance(found, dict) else None


def by_what(how: Json) -> str:
    """Format and versions of the program that recorded the sessions."""
    versions = [labels.name(v, 40) for v in how.get("versions") or ()]
    return " ".join([labels.name(how.get("source"), 40), ", ".join(versions[:3])]).strip()


def notice(file: SeriesFile) -> str | None:
    """The line of the first screen: imported, by what, and what cannot be known therefore."""
    how = imported(file)
    if how is None:
        return None
    unknown = how.get("unknown")
    names = [labels.name(n, 40) for n in unknown] if isinstance(unknown, dict) else []
    missing = f" Not known from there: {', '.join(names[:SHOWN])}." if names else ""
    return f"Imported sessions of another agent ({by_what(how)}), not trials of our loop.{missing}"
