"""Helpers that any room may use."""
