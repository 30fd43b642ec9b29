"""One notification a night, only where something changed since the last one that arrived.

A POST of ``{"text": …}`` to a webhook (the form that Slack, Mattermost, Rocket.Chat and ntfy's
bridges take). The address may be a secret: it comes from the environment and goes nowhere else, and
so nothing that a library says about it is passed on.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import msgspec

from evalstab.history.drift import BASELINE, LAST
from evalstab.nightly.night import FOLDER, Item, Night, Result
from evalstab.nightly.summary import headline
from evalstab.redact import redactor, remember
from evalstab.report import labels
from evalstab.series.files import write_json
from evalstab.workflow.request import Announce

STATE_FILE = "state.json"
ATTEMPTS = 4
PAUSE = 1.0
SECONDS = 10.0
LONGEST = 60.0
"""Seconds that all attempts may take together, however slowly an answer comes."""

MOST_LINES = 20
_OVERNIGHT = ", worse than last night"


def notify(night: Night, address: str | None, complain: Announce) -> None:
    """Tell what changed, where an address is known; what could not be told is told next time."""
    before = _told()
    now = {item.name: _state(item) for item in night.items if item.status != "left_out"}
    changed = {
        name: state
        for name, state in now.items()
        if before.get(name, "").removesuffix(_OVERNIGHT) != state
    }
    if changed and address:
        address = address.strip()
        remember(address)
        problem = _send(address, redactor().text(message(night, before, changed)))
        if problem is not None:
            complain(f"the notification was not delivered: {problem}")
            return
    if before | now != before:
        write_json(FOLDER / STATE_FILE, {"schema_version": 1, "states": before | now})


def message(night: Night, before: dict[str, str], changed: dict[str, str]) -> str:
    """The text: the verdict in the first line, then a line for each series that changed."""
    why = {item.name: labels.sentence(item.problem, 300) for item in night.items if item.problem}
    lines = [
        (f"{name}: {before[name]} → {state}" if name in before else f"{name}: {state}")
        + (f" ({why[name]})" if name in why else "")
        for name, state in changed.items()
    ]
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join([headline(night), *lines[:MOST_LINES], *more])


def _state(item: Item) -> str:
    """How a series stands, without numbers that differ from night to night where it stays so."""
    if not item.results:
        return item.status.replace("_", " ")
    states = [_word(result) for result in item.results]
    worse = {
        which
        for result in item.results
        for which, drift in result.drift.items()
        if drift and drift.get("worse")
    }
    drift = ", worse than the baseline" if BASELINE in worse else _OVERNIGHT
    return f"{', '.join(dict.fromkeys(states))}{drift if worse & {BASELINE, LAST} else ''}"


def _word(result: Result) -> str:
    if result.partial:
        return "no verdict"
    return "pass (provisional)" if result.soft else result.state


def _told() -> dict[str, str]:
    try:
        stored = msgspec.json.decode((FOLDER / STATE_FILE).read_bytes(), type=dict)
        return {str(name): str(state) for name, state in stored["states"].items()}
    except (OSError, msgspec.MsgspecError, RecursionError, KeyError, AttributeError):
        return {}


def _send(address: str, text: str) -> str | None:
    """Why it did not arrive, None where it did; given up when the time for all attempts is over."""
    if not address.startswith(("https://", "http://")):
        return "the webhook's address does not begin with http:// or https://"
    answers: list[str | None] = []
    sender = threading.Thread(
        target=lambda: answers.append(_tried(address, text)), name="notification", daemon=True
    )
    sender.start()
    sender.join(LONGEST)
    return answers[0] if answers else f"no answer in {LONGEST:.0f} seconds"


def _tried(address: str, text: str) -> str | None:
    opener = urllib.request.build_opener(_StayHere)
    data = json.dumps({"text": text}).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "evalstab"}
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            request = urllib.request.Request(address, data=data, headers=headers)
            opener.open(request, timeout=SECONDS).close()
            return None
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"HTTP {error.code}"
            if 300 <= error.code < 400:
                return (
                    f"{problem}: it redirects, a POST is not sent on; name the address it leads to"
                )
            if error.code < 500 and error.code not in (408, 425, 429):
                break
        except (http.client.InvalidURL, ValueError):
            return "the webhook's address is no URL"
        except http.client.HTTPException:
            problem = "what answered does not speak HTTP"
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            problem = str(getattr(reason, "strerror", None) or reason)[:200]
    return problem


class _StayHere(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without the message, and count as delivered."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: the answer is an error then."""
