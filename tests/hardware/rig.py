"""A rig out of files: the fake NVML library, the nvidia-smi stub, a fake PCI tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "hardware"


def fake_nvml(folder: Path, scenario: str) -> dict[str, str]:
    """Compile the fake library; returns the environment that makes NVML find it and the scenario.

    The scenario is a file that may be replaced at any time (``play``).
    """
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc to compile the fake NVML library")
    library = folder / "libnvidia-ml.so.1"
    source = FIXTURES / "fake_nvml.c"
    words = ["gcc", "-w", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(words, check=True, capture_output=True)
    play(folder, scenario)
    return {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML": str(folder / "scenario.txt")}


def play(folder: Path, scenario: str) -> None:
    """Put another scenario into place in one step, as a card that dies does."""
    fresh = folder / "scenario.next"
    shutil.copy(FIXTURES / f"nvml_{scenario}.txt", fresh)
    fresh.replace(folder / "scenario.txt")


def fake_smi(folder: Path) -> str:
    """A folder with the stub in it, for the front of PATH."""
    place = folder / "bin"
    place.mkdir()
    program = place / "nvidia-smi"
    program.write_text(f"#!{sys.executable}\n{(FIXTURES / 'nvidia-smi').read_text()}")
    program.chmod(0o755)
    return str(place)


def fake_sysfs(folder: Path, scenario: str) -> Path:
    """A PCI tree of eight cards behind root ports."""
    place = folder / "sys"
    shutil.rmtree(place, ignore_errors=True)
    words = [sys.executable, str(FIXTURES / "make_fake_sysfs.py"), str(place)]
    subprocess.run([*words, "--scenario", scenario], check=True)
    return place
