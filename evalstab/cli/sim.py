"""``evalstab sim``: the simulated endpoint as a server of its own, and its truth."""

from __future__ import annotations
