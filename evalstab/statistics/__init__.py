"""Pure statistics on numpy arrays: agreement, intervals, stopping rules, comparison.

Nothing in this room knows of models, tasks or series. Import the module you need, for example
`from evalstab.statistics.kendall import mean_tau`; this file imports nothing, so that importing
the package stays cheap.

Inputs, everywhere in this room:

* ``places``: float array (N trials, M candidates), mid-rank places, 1 = best, NaN = the candidate
  is missing in that trial; a row of NaN only is a trial without a ranking.
* ``scores``: float array (N, M), higher = better, NaN = missing.

The orientation stands in the parameter's name and is never guessed. Every public statistic answers
with a `Value` (or an `Interval`), which holds a finite number or the reason why there is none.
Wrong input (shape, orientation, duplicate ids) raises ValueError; small or degenerate data do not.
"""
