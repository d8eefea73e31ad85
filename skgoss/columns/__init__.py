"""Columns: the form of all input data, with names, categories, targets and queries."""
