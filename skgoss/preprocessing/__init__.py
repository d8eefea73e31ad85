"""Transformers of the columns of ``X``."""

from skgoss.preprocessing.date_transformer import DateFeatures
from skgoss.preprocessing.pair_transformer import PairFeatures

__all__ = ["DateFeatures", "PairFeatures"]


def __dir__() -> list[str]:
    return __all__
