"""The library's verbs: the only place that joins the rooms.

Every verb is synchronous and returns plain values; what it cannot do it says with an error of
``errors.py``. Verbs print nothing.
"""
