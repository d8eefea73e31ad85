"""Boosting: the binned data set, objectives, metrics and the round loop."""
