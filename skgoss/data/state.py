"""Entries of a restored state, checked before they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# Whole numbers of more bits may be no floats.
LARGEST_BITS = 1023


def entries(
    state: Any, types: Mapping[str, type | tuple[type, ...]], owner: str
) -> list[Any]:
    """The named entries of a state.

    Parameters
    ----------
    state : object
        The loaded state, which should be a dict.
    types : mapping from str to type or tuple of types
        The names of the entries, and their types.
    owner : str
        The owner of the state, for messages.

    Returns
    -------
    list
        In the order of `types`.

    Raises
    ------
    ValueError
        If an entry is missing or has another type.
    """
    if not isinstance(state, dict):
        raise ValueError(f"{owner} must be a dict, got {type(state).__name__}")
    for name, allowed in types.items():
        if name not in state:
            raise ValueError(f"{owner} has no {name!r}")
        if not isinstance(state[name], allowed):
            raise ValueError(
                f"{name!r} of {owner} must not be of type {type(state[name]).__name__}"
            )
    return [state[name] for name in types]


def check_scores(
    scores: dict[Any, Any], name: str, is_score: Callable[[Any], bool]
) -> None:
    """Check metrics by evaluation set and name.

    Raises
    ------
    ValueError
        If ``scores`` holds anything but dicts of what ``is_score`` accepts.
    """
    for metrics in scores.values():
        if not isinstance(metrics, dict) or not all(map(is_score, metrics.values())):
            raise ValueError(f"{name} must hold metrics by evaluation set and name")


def is_number(value: Any) -> bool:
    """Whether a value is a score: a number that is a float, or can be."""
    is_large = isinstance(value, int) and value.bit_length() > LARGEST_BITS
    return isinstance(value, Real) and not is_large


def are_numbers(values: Any) -> bool:
    """Whether values are the scores of all rounds."""
    return isinstance(values, list) and all(map(is_number, values))


def vector(values: Any, dtype: DTypeLike, name: str) -> NDArray[Any]:
    """A one-dimensional array of a dtype, in the layout that kernels read.

    An array is copied only if it is not contiguous, not aligned, or in another byte
    order.

    Raises
    ------
    ValueError
        If `values` is not an array, or has another shape or dtype.
    """
    if not (
        isinstance(values, np.ndarray)
        and values.ndim == 1
        and values.dtype.newbyteorder("=") == dtype
    ):
        raise ValueError(
            f"{name} must be a one-dimensional array of {np.dtype(dtype)}, got"
            f" {_described(values)}"
        )
    return np.require(values, dtype, ["C", "A", "E"])


def vectors(
    state: Any, dtypes: Mapping[str, DTypeLike], owner: str
) -> dict[str, NDArray[Any]]:
    """The entries of a state, all of them `vector`."""
    arrays = entries(state, dict.fromkeys(dtypes, object), owner)
    return {
        name: vector(values, dtypes[name], f"{name} of {owner}")
        for name, values in zip(dtypes, arrays, strict=True)
    }


def check_lengths(arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> None:
    """Check the lengths of named arrays.

    Raises
    ------
    ValueError
        If one has another length.
    """
    for name, size in sizes.items():
        if len(arrays[name]) != size:
            raise ValueError(
                f"{name} must have the length {size}, got {len(arrays[name])}"
            )


def check_start(start: NDArray[np.int64], stop: int, name: str) -> None:
    """Check that offsets never fall, begin with 0 and end with ``stop``.

    Raises
    ------
    ValueError
        If they do not.
    """
    # Neighbours are compared, because their differences may overflow.
    rises = len(start) > 0 and not (start[1:] < start[:-1]).any()
    if not rises or start[0] != 0 or start[-1] != stop:
        raise ValueError(f"{name} must rise from 0 to {stop}")


def _described(values: Any) -> str:
    if isinstance(values, np.ndarray):
        return f"one of {values.dtype} and shape {values.shape}"
    return type(values).__name__
