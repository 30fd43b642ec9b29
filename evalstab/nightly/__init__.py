"""Many series in one night: planned into a budget, resumable, told to people and machines."""
