"""Fitted trees: their arrays, checks, predictions and importances."""
