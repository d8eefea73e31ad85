"""The columns that models compute from pairs of columns, in plain NumPy."""

import numpy as np


def appended(X, pairs):
    """The columns, and pairs of them: column, operation, factor and column."""
    made = []
    for left, symbol, factor, right in pairs:
        a, b = X[:, left], factor * X[:, right]
        divisor = np.where(b == 0, np.nan, b)
        made.append({"-": a - b, "+": a + b, "*": a * b, "/": a / divisor}[symbol])
    return np.column_stack([X, *made])


def with_pairs(model, X):
    """The columns, and the pairs of a model."""
    return appended(X, model._model.schema.computed.state())
