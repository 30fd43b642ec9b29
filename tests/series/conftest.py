"""One process that has all of evalstab loaded, and one paced server, for whoever needs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.series.kills import Victims, paced, victims


@pytest.fixture(scope="session")
def some() -> Iterator[Victims]:
    """Commands of evalstab, killed or not."""
    with victims() as made:
        yield made


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A paced server that outlives what asks it; its own disk is another one."""
    with paced(tmp_path_factory.mktemp("persona")) as address:
        yield address
