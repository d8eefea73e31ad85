"""Limits of the engine's integers."""

INT32_MAX = 2**31 - 1
