"""Bins: how they are found, how rows are put into them, and how they lie in memory.

The argument ``rows`` of a function has the ascending numbers of the rows to use; None:
all rows. Results do not depend on ``n_threads``.
"""
