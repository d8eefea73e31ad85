"""Data sets that are binned once for any number of fits."""
