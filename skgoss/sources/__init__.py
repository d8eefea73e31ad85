"""Rows as they come: files, frames, sequences and batches."""
