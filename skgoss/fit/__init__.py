"""One fit: from the user's data and settings to a fitted model."""
