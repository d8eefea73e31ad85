"""The columns that models compute from pairs of columns, in plain NumPy."""

import numpy as np


def with_pairs(model, X):
    """The columns, and the pairs of a model."""
    made = []
    for left, symbol, factor, right in model._model.schema.pairs.state():
        a, b = X[:, left], factor * X[:, right]
        divisor = np.where(b == 0, np.nan, b)
        made.append({"-": a - b, "+": a + b, "*": a * b, "/": a / divisor}[symbol])
    return np.column_stack([X, *made])
