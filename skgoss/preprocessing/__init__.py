"""Transformers of the columns of ``X``."""

from skgoss.preprocessing.pair_transformer import PairFeatures

__all__ = ["PairFeatures"]
