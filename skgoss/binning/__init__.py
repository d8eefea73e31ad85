"""Bins: how they are found, how rows are put into them, and how they lie in memory."""
