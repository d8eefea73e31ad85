"""Fuzzing of what reads files and states, and the bytes it begins with."""
