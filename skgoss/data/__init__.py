"""Data in: columns of any container, categories, bins and how they are stored."""
