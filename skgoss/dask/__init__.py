"""Fits of data that lies on the workers of a Dask cluster."""
