"""The options: their names, values and meaning."""
