"""Sources of rows: files, frames, sequences and batches."""
