"""The help names everything that can be chosen, and so do messages about what is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalstab.errors import ConfigError
from evalstab.settings import ConfigFile, endpoint_settings
from evalstab.sim.dialect import dialects
from evalstab.sim.persona import load, names
from evalstab.workflow.reporting import NAMES
from tests.cli.program import evalstab


def test_the_help_of_sim_names_personas_and_dialects(tmp_path: Path) -> None:
    told = evalstab("sim", "--help", cwd=tmp_path).stdout
    assert not [name for name in (*names(), *dialects()) if name not in told]


def test_the_help_of_report_names_all_forms(tmp_path: Path) -> None:
    told = evalstab("report", "--help", cwd=tmp_path).stdout
    assert not [name for name in NAMES if name not in told]


def test_unknown_personas_and_endpoints_name_the_same_ones() -> None:
    with pytest.raises(ConfigError) as persona:
        load("zzzz")
    with pytest.raises(ConfigError) as endpoint:
        endpoint_settings("zzzz", {}, {}, ConfigFile())
    assert not [name for name in names() if name not in str(persona.value)]
    assert not [name for name in names() if f"sim:{name}" not in str(endpoint.value)]
