"""Helpers that any subpackage may use."""
