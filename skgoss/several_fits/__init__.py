"""Fits by several others: folds, blends of their models, presets and races."""
