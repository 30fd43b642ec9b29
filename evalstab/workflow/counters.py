"""The server's own counters before and after the trials, kept beside the series."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.metrics import metrics_page, read_counters
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.measures.speed_series import METRICS_FILE
from evalstab.series.files import write_json
from evalstab.trial.loop import now


@asynccontextmanager
async def counted(client: OpenAIChat, root: Path) -> AsyncIterator[None]:
    """Read ``/metrics`` before and after; a server without that page leaves no file."""
    page = await metrics_page(client)
    before, since = read_counters(page or ""), now()
    yield
    if not before:
        return
    page = await metrics_page(client)
    after = read_counters(page or "")
    span = {"from": since, "to": now(), "before": before, "after": after}
    write_json(root / METRICS_FILE, {"schema_version": 1, "spans": [*_earlier(root), span]})


def _earlier(root: Path) -> list[Json]:
    try:
        stored = msgspec.json.decode((root / METRICS_FILE).read_bytes(), type=dict)
        return list(stored["spans"])
    except (OSError, msgspec.MsgspecError, RecursionError, KeyError, TypeError):
        return []
