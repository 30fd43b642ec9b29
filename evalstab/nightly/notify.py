"""One notification a night, only where something changed since the last one that arrived.

A POST of ``{"text": …}`` to a webhook (the form that Slack, Mattermost, Rocket.Chat and ntfy's
bridges take). The address may be a secret: it comes from the environment and goes nowhere else.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import Any

import msgspec

from evalstab.nightly.night import FOLDER, Night
from evalstab.nightly.summary import headline
from evalstab.redact import redactor, remember
from evalstab.series.files import write_json
from evalstab.workflow.request import Announce

STATE_FILE = "state.json"
ATTEMPTS = 4
PAUSE = 1.0
SECONDS = 10.0
MOST_LINES = 20


def notify(night: Night, address: str | None, complain: Announce) -> None:
    """Tell what changed, where an address is known; what could not be told is told next time."""
    before = _told()
    now = {item.name: _state(item) for item in night.items if item.status != "left_out"}
    changed = {name: state for name, state in now.items() if before.get(name) != state}
    if not changed:
        return
    if address:
        remember(address)
        text = redactor().text(message(night, before, changed))
        problem = _send(address, text)
        if problem is not None:
            complain(f"the notification was not delivered: {problem}")
            return
    write_json(FOLDER / STATE_FILE, {"schema_version": 1, "states": before | now})


def message(night: Night, before: dict[str, str], changed: dict[str, str]) -> str:
    """The text: the verdict in the first line, then a line for each series that changed."""
    lines = [
        f"{name}: {before[name]} → {state}" if name in before else f"{name}: {state}"
        for name, state in changed.items()
    ]
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join([headline(night), *lines[:MOST_LINES], *more])


def _state(item: Any) -> str:
    if not item.results:
        return f"{item.status}: {item.problem}" if item.problem else str(item.status)
    states = [result.state for result in item.results]
    drifts = [drift for result in item.results for drift in result.drift.values() if drift]
    worse = ", worse than before" if any(drift.get("worse") for drift in drifts) else ""
    return f"{', '.join(dict.fromkeys(states))}{worse}"


def _told() -> dict[str, str]:
    try:
        stored = msgspec.json.decode((FOLDER / STATE_FILE).read_bytes(), type=dict)
        return {str(name): str(state) for name, state in stored["states"].items()}
    except (OSError, msgspec.MsgspecError, KeyError, AttributeError):
        return {}


def _send(address: str, text: str) -> str | None:
    """Why it did not arrive, None where it did. The address is in no message."""
    if not address.startswith(("https://", "http://")):
        return "the webhook's address does not begin with http:// or https://"
    request = urllib.request.Request(
        address,
        data=json.dumps({"text": text}).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "evalstab"},
    )
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                answer.read(1000)
            return None
        except urllib.error.HTTPError as error:
            problem = f"HTTP {error.code}"
            if error.code < 500 and error.code not in (408, 425, 429):
                break
        except (OSError, ValueError) as error:
            problem = str(getattr(error, "reason", None) or error)[:200]
    return problem
