"""Programs on a path of their own that answer like docker, systemctl and ssh; and a fake /proc."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "launch"
CONTAINER_ID = "3f9c1b7a2d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789abcd"

_DOCKER = """#!/bin/sh
case "$*" in
  "inspect gone") echo "Error: No such object: gone" >&2; exit 1 ;;
  "inspect "*) cat "{folder}/container.json" ;;
  "image inspect "*) cat "{folder}/image.json" ;;
  "logs "*) cat "{folder}/boot.log" ;;
  "ps "*) echo {identity} ;;
  *) exit 2 ;;
esac
"""

_SYSTEMCTL = """#!/bin/sh
cat "{folder}/unit.txt"
"""

_SSH = """#!/bin/sh
while [ "$1" != "--" ]; do last="$1"; shift; done
shift
[ "$last" = "rig1" ] || {{ echo "ssh: Could not resolve hostname $last" >&2; exit 255; }}
exec sh -c "$*"
"""


def put_on_path(folder: Path, *names: str) -> str:
    """Make the named programs in ``folder``; returns a PATH with them in front."""
    texts = {"docker": _DOCKER, "podman": _DOCKER, "systemctl": _SYSTEMCTL, "ssh": _SSH}
    for name in names:
        program = folder / name
        program.write_text(texts[name].format(folder=folder, identity=CONTAINER_ID))
        program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def put_container(folder: Path, container: str, image: str, boot_log: str = "") -> None:
    """What the fake docker will say."""
    shutil.copy(FIXTURES / container, folder / "container.json")
    shutil.copy(FIXTURES / image, folder / "image.json")
    (folder / "boot.log").write_text(boot_log)


def fake_proc(folder: Path) -> Path:
    """A copy of the sample tree; process 41822 holds the socket that listens on port 8080."""
    place = folder / "proc"
    shutil.copytree(FIXTURES / "proc_fake", place)
    sockets = place / "41822" / "fd"
    sockets.mkdir()
    (sockets / "7").symlink_to("socket:[778899]")
    return place
