"""``python -m evalstab``."""

from evalstab.cli import main

main()
