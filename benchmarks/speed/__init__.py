"""Speed and truth of time, as ratios: own code, floors and peers in one run (see ../README.md)."""
