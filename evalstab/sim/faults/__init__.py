"""Faults that a persona puts into its answers on purpose, with the truth of each."""
