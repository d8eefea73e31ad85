"""Bins: how they are found, how rows are put into them, and how they lie in memory.

Where a function has the argument ``rows``, these are the numbers of the rows to use,
ascending; None: all. All results are the same for any ``n_threads``.
"""
