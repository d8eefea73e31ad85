"""Lazy frames of polars, read in batches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from skgoss.sources.source import Batch, Source, batch_rows
from skgoss.utils.locks import cached_property
from skgoss.utils.messages import errors_at


def is_lazy(X: Any) -> bool:
    """Whether data are a lazy frame of polars that can be collected in batches."""
    lazy = getattr(sys.modules.get("polars"), "LazyFrame", None)
    return lazy is not None and isinstance(X, lazy) and hasattr(X, "collect_batches")


class LazySource(Source):
    """A lazy frame of polars."""

    def __init__(self, lazy: Any) -> None:
        self.lazy = lazy
        self.names = list(lazy.collect_schema().names())

    @cached_property
    def _n_rows(self) -> int:
        import polars

        return self.lazy.select(polars.len()).collect(engine="streaming").item()

    @property
    def shape(self) -> tuple[int, int]:
        return self._n_rows, len(self.names)

    def select(self, names: list[str]) -> LazySource:
        self.check_names(names)
        chosen = LazySource(self.lazy.select(names))
        vars(chosen)["_n_rows"] = self._n_rows
        return chosen

    def batches(self) -> Iterator[Batch]:
        found = self.lazy.collect_batches(
            chunk_size=batch_rows(len(self.names)), maintain_order=True
        )
        n_read = 0
        while True:
            place = f"the LazyFrame, from row {n_read} on"
            with errors_at(place):
                rows = next(found, None)
            if rows is None:
                return
            n_read += len(rows)
            yield Batch(rows, place)

    def loaded(self) -> Any:
        return self.lazy.collect()
