"""Models in LightGBM's text format."""
