"""A real llama.cpp server with a small real model on loopback (``evalstab[local]``)."""
