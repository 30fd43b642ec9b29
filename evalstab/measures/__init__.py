"""From records to scores: one measure per file; ``catalogue.py`` lists them.

Everything here is pure and works offline: it reads a series folder and nothing else.
"""
