"""How the peers of a fit ask each other on the workers of a Dask cluster."""

from __future__ import annotations

from typing import Any

from skgoss.data.shares import Exchange


class DaskExchange(Exchange):
    """The exchange of a peer that runs in a task of a Dask worker.

    Attributes
    ----------
    n_exchanges : int
        How often the peers have swapped values.
    n_bytes : int
        How many bytes this peer has sent to others.
    """

    n_exchanges: int
    n_bytes: int

    def tell(self, event: Any) -> None:
        """Send a small event to the client: numbers, strings, lists and dicts."""
        raise NotImplementedError
