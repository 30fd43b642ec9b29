"""What many series say over time: a store derived from their folders, trends, baselines."""
