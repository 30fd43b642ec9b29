"""The parts of ``evalstab check``: what is asked of an endpoint, and what its answers mean."""
