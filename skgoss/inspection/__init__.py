"""Plots and explanations of models."""
