"""The simulated endpoint: a real HTTP server whose behaviour, faults and truth are known.

Nothing imports this room; commands are handed an opener for ``sim:`` endpoints.
"""
